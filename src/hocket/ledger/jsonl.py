"""A ledger in a file of JSON lines."""

import logging
import os
from collections.abc import Iterator, Sequence
from datetime import datetime

from hocket._databases.urls import check_path
from hocket.errors import StoreError
from hocket.ledger.base import Ledger
from hocket.ledger.entry import LedgerEntry, encode_line
from hocket.ledger.spool import append_locked, has_foreign_lines, read_entries

__all__ = ["JSONLLedger"]

_log = logging.getLogger("hocket.ledger")


class JSONLLedger(Ledger):
    """Appends entries to a file, a line of JSON each, with the columns as keys.

    Processes of one machine may share it. A line that is damaged stays, and is left out when the file is read, which the
    log (``hocket.ledger``) says. An attempt that is in flight for long has a line of its own, with the outcome "open"; the
    later line of an id counts.

    Args:
        path: of the file, made if absent; its directory must be there.
        metadata, spool: as for `Ledger`.

    Raises:
        InvalidInput: the path is empty.
        StoreError: by `entries` and `total`: the file cannot be read, or is no ledger. Then nothing is written to it.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, metadata: Sequence[str] | None = None, spool: str | None = None
    ) -> None:
        self.path: str = check_path(path, "path")
        self._is_ours = False  # as far as is known
        super().__init__(self.path, metadata, spool)

    def _find_address(self) -> str:
        return os.path.realpath(self.path)

    def _write(self, entries: Sequence[LedgerEntry]) -> None:
        try:
            self._check_file()
            append_locked(self.path, b"".join(map(encode_line, entries)))
        except OSError as error:
            raise StoreError(f"{self!r}: {error.strerror or error}") from error

    def _check_file(self) -> None:
        if not self._is_ours:
            if has_foreign_lines(self.path):
                raise StoreError(f"{self!r}: the file is there, and is no ledger: give the path of another one")
            self._is_ours = True

    def _read(self, since: datetime | None) -> Iterator[LedgerEntry]:
        seen: set[str] = set()
        unended: dict[str, LedgerEntry] = {}
        unreadable = 0
        try:
            self._check_file()
            for entry in read_entries(self.path):
                if entry is None:
                    unreadable += 1
                elif entry.id in seen:  # the spool may bring one twice
                    continue
                elif entry.outcome == "open":
                    unended[entry.id] = entry
                else:
                    seen.add(entry.id)
                    unended.pop(entry.id, None)
                    yield entry
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self!r}: {error.strerror or error}") from error
        if unreadable:
            _log.warning("%r: %d lines cannot be read, and are left out", self, unreadable)
        yield from unended.values()
