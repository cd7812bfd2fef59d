"""Locks on open files, seen by other processes: those of the operating system, which end with the process that has them.

Each open file has its own lock, so that they keep threads apart as well.
"""

import os
import stat
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from hocket._databases.own_files import OWNER_ONLY, make_directory
from hocket._databases.writes import finish_write
from hocket._runtime.fork import after_fork
from hocket._runtime.mode import ASYNC
from hocket.errors import HocketError

__all__ = ["FileLock", "lock_file", "try_file_lock", "try_lock_file"]

if sys.platform == "win32":
    import msvcrt
    import time

    _BEYOND = 1 << 40  # a byte that no file has: on Windows what is locked cannot be read by others
    _PAUSE = 0.005

    def _lock(file: int, *, shared: bool) -> None:
        """Wait until nobody else holds a lock on the open ``file``."""
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

    def _unlock(file: int) -> None:
        """It is given back when the file is closed."""

    def try_lock_file(file: int) -> bool:
        """Take a lock on the open ``file`` alone, unless somebody else has one; whether it was taken."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _lock(file: int, *, shared: bool) -> None:
        """Wait for a lock on the open ``file``."""
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        """Give it back, also where a forked child has a copy of the open file, with which the lock would last."""
        fcntl.flock(file, fcntl.LOCK_UN)

    def try_lock_file(file: int) -> bool:
        """Take a lock on the open ``file`` alone, unless somebody else has one; whether it was taken."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def lock_file(file: int, *, shared: bool) -> Generator[None]:
    """Wait for a lock on the open ``file``, to read along with others or to be alone, and hold it for the block."""
    _lock(file, shared=shared)
    try:
        yield
    finally:
        _unlock(file)


class FileLock:
    """One hold of a lock that lasts: on a file of its own, which is there while somebody has the lock.

    A waiting task tries again and again. A task that takes the lock many times in a row must not shut out the others, so
    there is a second file, the gate: only the task that has the gate may try for the lock, and it is the next to have it.

    Args:
        path: of what the lock is on; the lock's file stands beside it, whichever link leads there.
        suffix: is put behind the path to name the lock's file.
        error_type: what a failure becomes.
        make_directory: whether to make the directory that both are in.
    """

    lease: float | None = None  # the system keeps it as long as the process lives
    interval = 0.0

    def __init__(self, path: str, suffix: str, error_type: type[HocketError], *, make_directory: bool = False) -> None:
        self._target = path
        self._suffix = suffix
        self._error_type = error_type
        self._makes_directory = make_directory
        self._changing = threading.Lock()  # an attempt that was left behind may still go on in its thread
        self._held: dict[str, int] = {}
        self._is_over = False

    async def attempt(self) -> bool:
        """Take it, unless somebody else has it; whether it was taken."""
        return await ASYNC.call_sync(self._attempt)

    async def renew(self) -> bool:
        """It needs no renewal."""
        return True

    async def release(self) -> None:
        """Give it back, or give up the attempts."""
        await finish_write(lambda: ASYNC.call_sync(self._give_all_back))

    def __del__(self) -> None:  # of a loop that ended without its tasks
        self._give_all_back()

    def _attempt(self) -> bool:
        path = os.path.realpath(self._target) + self._suffix
        gate = path + ".next"
        with self._changing:
            try:
                if self._makes_directory:
                    make_directory(path)
                won = self._take(gate) and self._take(path)
            except OSError as error:
                raise self._error_type(f"{path}: {error.strerror or error}") from error
            if won:
                self._give_back(gate)
        if self._is_over:
            self._give_all_back()
        return won

    def _take(self, path: str) -> bool:
        if path in self._held:
            return True
        file = os.open(path, os.O_RDWR | os.O_CREAT, self._mode())
        _open_files.add(file)
        if try_lock_file(file) and _is_at(file, path):
            self._held[path] = file
            return True
        _close(file)
        return False

    def _mode(self) -> int:
        """Return who may open the lock's file: the same as for its target."""
        try:
            return stat.S_IMODE(os.stat(self._target).st_mode)
        except FileNotFoundError:
            return OWNER_ONLY

    def _give_all_back(self) -> None:
        self._is_over = True
        if self._changing.acquire(blocking=False):  # else an attempt that was left behind does so at its end
            try:
                for path in list(self._held):
                    self._give_back(path)
            finally:
                self._changing.release()

    def _give_back(self, path: str) -> None:
        with suppress(OSError):  # Windows removes no file that is open
            os.unlink(path)
        _close(self._held.pop(path))


@contextmanager
def try_file_lock(path: str, suffix: str, error_type: type[HocketError]) -> Generator[bool]:
    """Hold such a lock for the length of a block, in a thread, unless somebody else has it; yield whether it is held.

    Args:
        path, suffix, error_type: as of `FileLock`.
    """
    lock = FileLock(path, suffix, error_type)
    try:
        yield lock._attempt()  # pyright: ignore[reportPrivateUsage]  # of this module
    finally:
        lock._give_all_back()  # pyright: ignore[reportPrivateUsage]


def _is_at(file: int, path: str) -> bool:
    """Whether an open file is the one at ``path``, and was not removed by who had it before."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


_open_files: set[int] = set()


def _close(file: int) -> None:
    _open_files.discard(file)
    os.close(file)


@after_fork
def _close_copies() -> None:
    """Close a forked child's copies, with which a lock would outlive the parent."""
    while _open_files:
        _close(_open_files.pop())
