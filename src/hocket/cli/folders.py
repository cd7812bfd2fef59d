"""Where the command keeps what is the user's: in the folders of the XDG specification, for their owner's eyes alone."""

import contextlib
import os
from pathlib import Path
from typing import Literal

__all__ = ["find_folder", "write_own_file"]

_USUAL = {"CONFIG": "~/.config", "DATA": "~/.local/share", "STATE": "~/.local/state", "CACHE": "~/.cache"}


def find_folder(kind: Literal["CONFIG", "DATA", "STATE", "CACHE"]) -> Path:
    """Return hocket's folder for things of a kind, by ``XDG_CONFIG_HOME`` and its like; it need not be there."""
    return Path(os.environ.get(f"XDG_{kind}_HOME") or _USUAL[kind]).expanduser() / "hocket"


def write_own_file(path: Path, text: str) -> None:
    """Write a file, and make its folder. A reader meanwhile finds the old text or the new.

    Raises:
        OSError: it cannot be written.
    """
    from hocket._databases.own_files import open_private

    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # of a process of that number that was killed
            beside.unlink()
        with os.fdopen(open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
