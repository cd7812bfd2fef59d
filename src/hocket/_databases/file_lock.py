"""Locks on open files, seen by other processes: those of the operating system, which end with the process that has them.

Each open file has its own lock, so that they keep threads apart as well.
"""

import sys

__all__ = ["lock_file"]

if sys.platform == "win32":
    import msvcrt
    import os
    import time

    _BEYOND = 1 << 40  # a byte that no file has: on Windows what is locked cannot be read by others
    _PAUSE = 0.005

    def lock_file(file: int, *, shared: bool) -> None:
        """Wait until nobody else holds a lock on the open ``file``; it is given back when the file is closed."""
        position = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, _BEYOND, os.SEEK_SET)
        try:
            while True:
                try:
                    msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                    return
                except PermissionError:
                    time.sleep(_PAUSE)
        finally:
            os.lseek(file, position, os.SEEK_SET)

else:
    import fcntl

    def lock_file(file: int, *, shared: bool) -> None:
        """Wait for a lock on the open ``file``, to read along with others or to be alone.

        It is given back when the file is closed.
        """
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
