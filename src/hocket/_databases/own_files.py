"""Files that hocket makes for itself (stores, histories, ledgers, keys): for their owner alone, whatever the umask.

What is in them was said in confidence. A file that somebody asked for by its name to have it (an output, a cassette, an
export) is the user's document, and has the rights of any other of his.
"""

import os
import stat

__all__ = ["OWNER_ONLY", "make_directory", "make_own_directory", "open_private"]

OWNER_ONLY = 0o600


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file as ``os.open`` does; one that is made is for its owner alone, and one that is there stays as it is.

    Raises:
        OSError: as of ``os.open``.
    """
    return os.open(path, flags, OWNER_ONLY)


def make_directory(path: str) -> None:
    """Make the directory that ``path`` is in, for its owner alone, if it is not there."""
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)


def make_own_directory(path: str) -> None:
    """Make the directory that ``path`` is in where all may write: another may have put one, or a link, of that name there.

    Raises:
        OSError: it is not this user's, or others may write to it.
    """
    make_directory(path)
    folder = os.lstat(os.path.dirname(path))
    is_ours = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o022
    if hasattr(os, "getuid") and not (is_ours and folder.st_uid == os.getuid()):  # Windows has one for each user
        raise PermissionError(f"{os.path.dirname(path)} is not a directory of this user alone")
