"""A file on this machine that keeps entries while their store is away. All processes that write to the store share it."""

import hashlib
import itertools
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from hocket._databases.file_lock import lock_file
from hocket._databases.lines import append_lines, is_half, parse_line
from hocket._databases.own_files import make_own_directory, open_private
from hocket.errors import StoreError
from hocket.ledger.entry import LedgerEntry, decode_entry, encode_line

__all__ = ["Spool", "append_locked", "has_foreign_lines", "read_entries"]

_BEGINNING = b'{"id":'  # of a line, as it is written here
_Write: TypeAlias = Callable[[Sequence[LedgerEntry]], None]

_log = logging.getLogger("hocket.ledger")


class Spool:
    """Lines of JSON, an entry a line.

    Args:
        find_address: returns the address of the store, without secrets: stores of the same address share a spool. Called
            in the writer's thread, since it may look at the disk.
        path: of the file; None: in a directory of the user's own, in that for temporary files.
    """

    def __init__(self, find_address: Callable[[], str], path: str | None = None) -> None:
        self._find_address = find_address
        self._path = path
        self._makes_directory = path is None

    @property
    def path(self) -> str:
        """Of the file."""
        if self._path is None:
            user = os.getuid() if hasattr(os, "getuid") else ""
            digest = hashlib.sha256(f"{user} {self._find_address()}".encode()).hexdigest()[:16]
            self._path = os.path.join(tempfile.gettempdir(), f"hocket-{user}", f"ledger-{digest}.jsonl")
        return self._path

    @property
    def has_entries(self) -> bool:
        """Whether there is anything in it."""
        try:
            return os.path.getsize(self.path) > 0
        except OSError:
            return False

    def add(self, entries: Sequence[LedgerEntry]) -> None:
        """Append entries.

        Raises:
            OSError: the file cannot be written.
        """
        self._append(self.path, b"".join(map(encode_line, entries)))

    def _append(self, path: str, lines: bytes) -> None:
        if self._makes_directory:
            make_own_directory(path)
        append_locked(path, lines, open_file=_open_own)

    def restore(self, write: _Write, batch_size: int) -> None:
        """Move the entries to the store, a batch at a time. What it has already it takes for the same, by its id.

        Raises:
            StoreError: it does not take a batch. That and what comes behind it stays, that last: it holds up no other.
        """
        with (
            suppress(FileNotFoundError),
            open(_open_own(self.path, os.O_RDWR), "r+b") as file,
            lock_file(file.fileno(), shared=False),
        ):
            left = [line.rstrip(b"\n") + b"\n" for line in file if not is_half(line, _BEGINNING)]
            try:
                while left:
                    self._move(left[:batch_size], write)
                    del left[:batch_size]
            except StoreError:
                file.write(b"".join(left[:batch_size]))  # before it is overwritten: a process may be killed here
                file.flush()
                left = left[batch_size:] + left[:batch_size]
                raise
            finally:
                file.seek(0)
                file.write(b"".join(left))
                file.truncate()
                file.flush()

    def _move(self, lines: Sequence[bytes], write: _Write) -> None:
        read = [(line, _read_line(line)) for line in lines]
        self.hand_over([entry for _, entry in read if entry is not None], write)
        for line, entry in read:
            if entry is None:
                self._set_aside(line, "it cannot be read")

    def hand_over(self, entries: Sequence[LedgerEntry], write: _Write) -> int:
        """Have the store write entries; one that it refuses for what it is is set aside, and holds up no other.

        Returns:
            how many were set aside.

        Raises:
            StoreError: the store takes none now.
            OSError: one cannot be set aside.
        """
        try:
            write(entries)
            return 0
        except Exception as error:
            if not _is_at_fault(error):
                raise
            if len(entries) == 1:
                self._set_aside(encode_line(entries[0]), error)
                return 1
        half = len(entries) // 2
        return self.hand_over(entries[:half], write) + self.hand_over(entries[half:], write)

    def _set_aside(self, line: bytes, why: object) -> None:
        path = f"{self.path}.refused"
        self._append(path, line)
        _log.warning("an entry of the ledger was set aside in %s, since its store can never take it: %s", path, why)


def _is_at_fault(error: Exception) -> bool:
    """Whether a store refuses an entry for what it is: Python's databases have two names for that (PEP 249)."""
    if not isinstance(error, StoreError):
        return not isinstance(error, OSError)
    return any(kind.__name__ in ("DataError", "IntegrityError") for kind in type(error.__cause__).__mro__)


def _open_own(path: str, flags: int) -> int:
    """Open a file of this user's own: in a directory that all may write to, another may have put a file or a link there.

    Raises:
        OSError: it is a link, or somebody else's.
    """
    file = open_private(path, flags | getattr(os, "O_NOFOLLOW", 0))
    if hasattr(os, "getuid") and os.fstat(file).st_uid != os.getuid():
        os.close(file)
        raise PermissionError(f"{path} belongs to another user")
    return file


def append_locked(path: str, data: bytes, open_file: Callable[[str, int], int] = open_private) -> None:
    """Append bytes to a file, made if absent, for its owner alone to read; those of several writers do not mix.

    Args:
        path: of the file.
        data: whole lines.
        open_file: opens it, by path and flags.

    Raises:
        OSError: they cannot all be written; what was is taken back.
    """
    file = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        with lock_file(file, shared=False):
            append_lines(file, data, _BEGINNING)
    finally:
        os.close(file)


def read_entries(path: str) -> Iterator[LedgerEntry | None]:
    """Yield the entries of a file, one by one; None for a line that cannot be read. Half a line at the end is none."""
    with open(path, "rb") as lines:
        for line in lines:
            if not is_half(line, _BEGINNING):
                yield _read_line(line)


def has_foreign_lines(path: str) -> bool:
    """Whether a file has lines, and none of the first ones is an entry: it is somebody else's.

    Raises:
        OSError: it cannot be read.
    """
    try:
        first = list(itertools.islice(read_entries(path), 20))
    except FileNotFoundError:
        return False
    return bool(first) and not any(first)


def _read_line(line: bytes) -> LedgerEntry | None:
    try:
        return decode_entry(parse_line(line))
    except (StoreError, ValueError):
        return None
