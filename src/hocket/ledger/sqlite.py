"""A ledger in an SQLite database: a row an entry, a batch one transaction."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from hocket._databases.sqlite import LazyDatabase, transaction
from hocket._databases.urls import check_path
from hocket.errors import InvalidInput, StoreError
from hocket.ledger.base import Ledger
from hocket.ledger.entry import COLUMNS, LedgerEntry, decode_entry, encode_entry

__all__ = ["SQLiteLedger"]

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS hocket_ledger (
        id TEXT PRIMARY KEY, at TEXT NOT NULL, run_id TEXT, parent_run_id TEXT, attempt INTEGER NOT NULL, provider TEXT,
        model TEXT, outcome TEXT NOT NULL, error TEXT, input_tokens INTEGER, output_tokens INTEGER,
        cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, reasoning INTEGER NOT NULL,
        served_tokens INTEGER NOT NULL, cost TEXT, price TEXT, estimated INTEGER NOT NULL, seconds REAL NOT NULL,
        first_token REAL, request_id TEXT, metadata TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS hocket_ledger_at ON hocket_ledger (at);
"""
_WRITE = f"""
    INSERT INTO hocket_ledger ({", ".join(COLUMNS)}) VALUES ({", ".join("?" * len(COLUMNS))})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")}
    WHERE hocket_ledger.outcome = 'open'
"""
_READ = f"SELECT {', '.join(COLUMNS)} FROM hocket_ledger WHERE (at, id) > (?, ?) ORDER BY at, id LIMIT ?"
_PAGE = 1000


class SQLiteLedger(Ledger):
    """Keeps entries in an SQLite database, in the table ``hocket_ledger``, which other programs may read.

    Any number of tasks, threads and processes of one machine may share it.

    Args:
        path: the database's file, made if absent; its directory must be there.
        metadata, spool: as for `Ledger`.

    Raises:
        InvalidInput: the path is empty or a database in memory.
        StoreError: by `entries` and `total`: the database cannot be read.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, metadata: Sequence[str] | None = None, spool: str | None = None
    ) -> None:
        self.path: str = check_path(path, "path")
        if self.path == ":memory:":
            raise InvalidInput(f"path is {self.path!r}; it must be a file's")
        self._database = LazyDatabase(self.path, "ledger")
        super().__init__(self.path, metadata, spool)

    def _find_address(self) -> str:
        return os.path.realpath(self.path)

    def _write(self, entries: Sequence[LedgerEntry]) -> None:
        rows = [_to_row(entry) for entry in entries]
        with self._open() as connection, transaction(connection):
            connection.executemany(_WRITE, rows)

    def _read(self, since: datetime | None) -> Iterator[LedgerEntry]:
        place = ("" if since is None else _write_time(since), "")
        while True:  # by pages: who reads slowly must not keep writers waiting
            with self._open() as connection:
                rows = connection.execute(_READ, (*place, _PAGE)).fetchall()
            for row in rows:
                yield _from_row(row)
            if len(rows) < _PAGE:
                return
            place = (rows[-1][1], rows[-1][0])

    def close(self) -> None:
        """Write what has come, and close the connection; the next operation opens another."""
        self.flush()
        self._database.close()

    def _open(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.open(_SCHEMA, StoreError)


def _to_row(entry: LedgerEntry) -> list[Any]:
    data = {**encode_entry(entry), "at": _write_time(entry.at)}
    data["metadata"] = json.dumps(data["metadata"], ensure_ascii=False)
    return [data[name] for name in COLUMNS]


def _from_row(row: Sequence[Any]) -> LedgerEntry:
    data = dict(zip(COLUMNS, row, strict=True))
    try:
        data["metadata"] = json.loads(data["metadata"])
    except (TypeError, ValueError) as error:
        raise StoreError(f"an entry of the ledger is damaged: {error!r}") from error
    return decode_entry({**data, "estimated": bool(data["estimated"])})


def _write_time(time: datetime) -> str:
    """Return a time as a text that sorts as the time does."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
