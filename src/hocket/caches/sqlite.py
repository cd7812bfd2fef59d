"""A cache in an SQLite database, for the processes of one machine.

Reads never wait for writes (WAL), and a write is one transaction, which is not flushed to the disk: an answer that is lost
with the power is asked for again. The sum of the sizes is kept by triggers, so that each writer, bounded or not, keeps it
right.
"""

import os
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from hocket._databases.sqlite import LazyDatabase, transaction
from hocket._databases.urls import check_path
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket._runtime.worker import Worker
from hocket.caches import fleet
from hocket.caches.fleet import AnswerStore, SharedCache
from hocket.errors import InvalidInput, StoreError, StoreUnavailable

__all__ = ["SQLiteCache"]

T = TypeVar("T")

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS hocket_cache (key BLOB PRIMARY KEY, value BLOB NOT NULL, expires REAL, used REAL NOT NULL);
    CREATE INDEX IF NOT EXISTS hocket_cache_expires ON hocket_cache (expires) WHERE expires IS NOT NULL;
    CREATE INDEX IF NOT EXISTS hocket_cache_used ON hocket_cache (used);
    CREATE TABLE IF NOT EXISTS hocket_claim (key BLOB PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS hocket_cache_size (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL);
    CREATE TRIGGER IF NOT EXISTS hocket_cache_insert AFTER INSERT ON hocket_cache BEGIN
        INSERT INTO hocket_cache_size VALUES (1, length(new.value))
        ON CONFLICT (one) DO UPDATE SET bytes = bytes + excluded.bytes;
    END;
    CREATE TRIGGER IF NOT EXISTS hocket_cache_update AFTER UPDATE OF value ON hocket_cache BEGIN
        UPDATE hocket_cache_size SET bytes = bytes + length(new.value) - length(old.value);
    END;
    CREATE TRIGGER IF NOT EXISTS hocket_cache_delete AFTER DELETE ON hocket_cache BEGIN
        UPDATE hocket_cache_size SET bytes = bytes - length(old.value);
    END;
"""
_READ = "SELECT value FROM hocket_cache WHERE key = ? AND (expires IS NULL OR expires > ?)"
_WRITE = """
INSERT INTO hocket_cache VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires = excluded.expires, used = excluded.used
"""
_TOUCH = "UPDATE hocket_cache SET used = ? WHERE key = ? AND used < ?"
_END_CLAIMS = "DELETE FROM hocket_claim WHERE key = ? OR until <= ?"
_DROP_EXPIRED = "DELETE FROM hocket_cache WHERE key IN (SELECT key FROM hocket_cache WHERE expires <= ? LIMIT 100)"
_SIZE = "SELECT bytes FROM hocket_cache_size"
_OLDEST = "SELECT key, length(value) FROM hocket_cache ORDER BY used LIMIT 100"
_DROP = "DELETE FROM hocket_cache WHERE key = ?"
_CLAIM = """
INSERT INTO hocket_claim VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE until <= ? OR owner = excluded.owner
"""
_RENEW = "UPDATE hocket_claim SET until = ? WHERE key = ? AND owner = ?"
_RELEASE = "DELETE FROM hocket_claim WHERE key = ? AND owner = ?"

_MOST_TOUCHED = 10_000


class SQLiteCache(SharedCache):
    """Keeps answers in a file, for all threads, event loops and processes of one machine.

    A database that cannot be used, or is locked for more than 250 ms three times in a row, counts as empty: models are
    asked, and a line of the log says so, once a minute. Values are JSON: reading a file of somebody else's builds messages,
    and runs nothing.

    Args:
        path: of the database's file, made if absent; its directory must be there. It may hold other tables, too. SQLite's
            WAL mode does not work over a network.
        ttl: seconds for which an answer counts; None: for ever.
        max_bytes: the sum of the sizes of all answers; those used longest ago make room. None: there is no limit. A use
            is noted when this process next stores an answer.
        lease: seconds for which the others wait for a process that asks and has died; a living one renews its claim as
            long as the model takes. None: each process asks for itself.

    Raises:
        InvalidInput: the path is empty or a directory's; ``ttl``, ``max_bytes`` or ``lease`` is not above 0.

    Examples:
        >>> import os, tempfile
        >>> from hocket import FakeListChatModel
        >>> from hocket.caches import SQLiteCache
        >>> cache = SQLiteCache(os.path.join(tempfile.mkdtemp(), "answers.db"))
        >>> model = FakeListChatModel(responses=["One.", "Two."], cache=cache)
        >>> [model.invoke("Count").text for _ in range(2)]
        ['One.', 'One.']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl: float | None = None,
        max_bytes: int | None = None,
        lease: float | None = 30.0,
    ) -> None:
        self.path: str = check_path(path, "path")
        if self.path == ":memory:" or self.path.endswith(os.sep):  # more would be a look at the disk
            raise InvalidInput(f"path is {self.path!r}; it must be a file's (in memory: InMemoryCache)")
        if max_bytes is not None and max_bytes <= 0:
            raise InvalidInput(f"max_bytes is {max_bytes}; it must be above 0, or None for no limit")
        self.max_bytes: int | None = max_bytes
        super().__init__(_SQLiteStore(self.path, max_bytes), f"SQLiteCache({self.path!r})", ttl, lease)


class _SQLiteStore(AnswerStore):
    """The tables of a cache. There is one connection to read and one to write, and for tasks a thread for each."""

    def __init__(self, path: str, max_bytes: int | None) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._reader = LazyDatabase(path, "to read answers", fleet.PATIENCE, is_durable=False)
        self._writer = LazyDatabase(path, "to write answers", fleet.PATIENCE, is_durable=False)
        self._reading = Worker("hocket cache")
        self._writing = Worker("hocket cache, writing")
        self._touched: dict[bytes, float] = {}

    def __reduce__(self) -> tuple[type["_SQLiteStore"], tuple[str, int | None]]:
        return _SQLiteStore, (self._path, self._max_bytes)

    @property
    def is_portable(self) -> bool:
        return True

    async def read(self, mode: Mode, key: bytes) -> bytes | None:
        job = partial(self._read, key)
        return await self._run(mode, self._reading, job)

    def _read(self, key: bytes) -> bytes | None:
        now = clock.current().time()
        with self._reader.open(_SCHEMA, StoreError) as connection:
            row: tuple[object] | None = connection.execute(_READ, (key, now)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            return None
        if self._max_bytes is not None and len(self._touched) < _MOST_TOUCHED:
            self._touched[key] = now
        return row[0]

    async def write(self, mode: Mode, key: bytes, value: bytes, ttl: float | None) -> None:
        now = clock.current().time()
        row = (key, value, None if ttl is None else now + ttl, now)

        def write(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.execute(_END_CLAIMS, (key, now))
                connection.execute(_DROP_EXPIRED, (now,))
                if self._max_bytes is None:
                    connection.execute(_WRITE, row)
                elif len(value) <= self._max_bytes:
                    connection.execute(_WRITE, row)
                    self._make_room(connection, self._max_bytes)

        await self._write(mode, write)

    def _make_room(self, connection: sqlite3.Connection, max_bytes: int) -> None:
        touched, self._touched = self._touched, {}
        connection.executemany(_TOUCH, ((used, key, used) for key, used in touched.items()))
        (size,) = connection.execute(_SIZE).fetchone()
        while size > max_bytes:
            for key, length in connection.execute(_OLDEST).fetchall():
                connection.execute(_DROP, (key,))
                size -= length
                if size <= max_bytes:
                    break

    async def clear(self, mode: Mode) -> None:
        def clear(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.execute("DELETE FROM hocket_cache")
                connection.execute("DELETE FROM hocket_claim")

        await self._write(mode, clear)

    async def claim(self, mode: Mode, key: bytes, owner: str, lease: float) -> bool:
        now = clock.current().time()
        return await self._change(mode, _CLAIM, key, owner, now + lease, now)

    async def renew(self, mode: Mode, key: bytes, owner: str, lease: float) -> bool:
        return await self._change(mode, _RENEW, clock.current().time() + lease, key, owner)

    async def release(self, mode: Mode, key: bytes, owner: str) -> None:
        await self._change(mode, _RELEASE, key, owner)

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    # -- inside

    async def _change(self, mode: Mode, statement: str, *parameters: object) -> bool:
        """Run a statement; whether it changed a row."""
        return await self._write(mode, lambda connection: connection.execute(statement, parameters).rowcount == 1)

    async def _write(self, mode: Mode, function: Callable[[sqlite3.Connection], T]) -> T:
        def write() -> T:
            with self._writer.open(_SCHEMA, StoreError) as connection:
                return function(connection)

        return await self._run(mode, self._writing, write)

    async def _run(self, mode: Mode, worker: Worker, job: Callable[[], T]) -> T:
        try:
            return await worker.run(job, fleet.PATIENCE) if mode.is_async else job()
        except TimeoutError:
            raise StoreUnavailable(f"{self._path}: no answer within {fleet.PATIENCE:g} s") from None
        except StoreError as error:
            if getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                raise
            raise StoreUnavailable(*error.args) from error.__cause__
