"""SQLite databases, one connection for each file and use of it in a process, which threads use by turns.

A file that cannot be written, as on a mount that is read-only, can be read all the same.

Had each store its own connection, fifty writers would spend their time in SQLite's way of waiting, which is to sleep and
look again, and take four times as long. A database is in WAL mode, so that the readers and the writer of several processes
do not wait for one another, and every commit is flushed to the disk, unless a store can do without.
"""

import functools
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from urllib.parse import quote

from hocket._databases.own_files import open_private
from hocket._runtime.fork import after_fork, before_fork, fork_barrier, leave_to_parent
from hocket.errors import HocketError

__all__ = [
    "LazyDatabase",
    "SQLiteDatabase",
    "is_foreign",
    "shared_database",
    "snapshot",
    "switch_to_wal",
    "transaction",
]

PATIENCE = 30.0
"""Seconds to wait for other writers."""

LAST_WAIT = 5.0
"""Seconds for which the end of the process waits until a thread has done with a connection."""


class _Connection(sqlite3.Connection):
    """A connection that a fork closes.

    Attributes:
        lock: of those that use it; set when it is open.
        is_open: whether it is.
    """

    lock: threading.Lock
    is_open = True

    def close(self) -> None:
        super().close()
        self.is_open = False


class SQLiteDatabase:
    """One connection, opened when it is first needed. Threads use it by turns.

    Args:
        path: of the file, made if absent, for its owner alone, as are those that SQLite puts beside it; its directory must
            be there. SQLite's WAL mode does not work over a network.
        patience: seconds to wait for other writers, and for other threads; None: 30, and for threads as long as it takes.
        is_durable: whether every commit is flushed to the disk. Else the last ones may be lost where the power fails, and
            only there.
    """

    def __init__(self, path: str, patience: float | None = None, *, is_durable: bool = True) -> None:
        self.path = path
        self._patience = patience
        self._is_durable = is_durable
        self.reset()

    def reset(self) -> None:
        """Begin again, without a connection."""
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._closing: weakref.finalize[Any, Any] | None = None
        self._schemas: set[str] = set()
        self._is_immutable = False

    @contextmanager
    def open(self, schema: str, error_type: type[HocketError]) -> Generator[sqlite3.Connection]:
        """Borrow the connection.

        Args:
            schema: statements that make a store's tables, if absent; executed once on each connection.
            error_type: what a failure of the database becomes.

        Raises:
            HocketError: of that type: the database cannot be used.
        """
        if not self._lock.acquire(timeout=-1 if self._patience is None else self._patience):
            raise error_type(f"{self.path}: other threads have used its connection for {self._patience:g} s")
        try:
            with fork_barrier():
                connection = self._connection
                if connection is None or not connection.is_open:
                    self._close()
                    connection = self._connect()
                if schema not in self._schemas:
                    _make_tables(connection, schema)
                    self._schemas.add(schema)
                try:
                    yield connection
                finally:
                    if self._is_immutable:  # SQLite would not look again at what another machine has written since
                        self._close()
        except sqlite3.Error as error:
            if "no such table" in str(error):  # somebody has dropped it: the next use makes it again
                self._schemas.discard(schema)
            raise error_type(f"{self.path}: {error}{_find_way_out(self.path, error)}") from error
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._lock, fork_barrier():
            self._close()

    def _close(self) -> None:
        if self._closing is not None and self._connection is not None:
            self._closing.detach()
            self._connection.close()
            self._connection = self._closing = None
            self._schemas.clear()

    def leave_connection_to_parent(self) -> None:
        """Forget the connection in a forked child, and keep it alive: to close it here might break it there."""
        if self._connection is not None and self._closing is not None:
            leave_to_parent(self._connection)
            self._closing.detach()
        self.reset()

    def _connect(self) -> _Connection:
        patience = PATIENCE if self._patience is None else self._patience
        self._is_immutable = False
        _make_file(self.path)
        connection = self._connect_to(self.path, patience)
        try:
            switch_to_wal(connection, patience)
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._is_durable else 'NORMAL'}")
        except BaseException as error:
            connection.close()
            if not (isinstance(error, sqlite3.OperationalError) and _is_read_only(self.path)):
                raise
            connection = self._connect_to_read(patience)
        self._connection = connection
        connection.lock = self._lock
        with _lock:
            _connections.add(connection)
        # No __del__: while one runs, the weak reference in `_databases` still finds its object.
        self._closing = weakref.finalize(self, _close_unused, self._lock, connection)
        return connection

    def _connect_to_read(self, patience: float) -> _Connection:
        """Open a file that cannot be written, in a directory where nothing can be made.

        Where another process has it open for writing, its files beside it are there, and are read, too. Where they are not,
        the file has everything, and SQLite is told that it will not change, or it would want to make them.
        """
        place = f"file:{quote(self.path)}?mode=ro"
        self._is_immutable = not os.path.exists(f"{self.path}-wal")
        return self._connect_to(f"{place}&immutable=1" if self._is_immutable else place, patience)

    def _connect_to(self, place: str, patience: float) -> _Connection:
        return sqlite3.connect(
            place,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
            uri=place != self.path,
        )


def _is_read_only(path: str) -> bool:
    return os.path.isfile(path) and not (os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK))


def is_foreign(error: BaseException | None) -> bool:
    """Whether a file cannot be used since it is no database, or one whose tables are of another version or program."""
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    is_none = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB
    return is_none or any(words in str(error) for words in ("no such column", "has no column"))


def _find_way_out(path: str, error: sqlite3.Error) -> str:
    """Return what to do about a file that is none of ours."""
    if os.path.isdir(path):
        return "; it is a directory: give the path of a file"
    if not is_foreign(error):
        return ""
    if "column" in str(error):
        return (
            "; its tables are those of another version of hocket, or of another program: give the path of another file"
        )
    return "; it is none of SQLite's: give the path of another file"


def _close_unused(lock: threading.Lock, connection: sqlite3.Connection) -> None:
    """Close a connection, at the end of the process as well, once no thread is in the middle of a statement.

    SQLite crashes where a connection is closed under one. A thread that is still at it after a while keeps its connection.
    """
    with fork_barrier():  # before the lock: a fork closes it, too, if that is free
        if lock.acquire(timeout=LAST_WAIT):
            try:
                connection.close()
            finally:
                lock.release()


def _make_file(path: str) -> None:
    """Make an empty file, for its owner alone, where there is none: SQLite gives those beside it the same rights.

    One at a time: to close a file takes away the locks that another connection of this process may have on it.
    """
    with _lock, suppress(OSError):  # it is there; or SQLite is to say what is wrong
        os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def switch_to_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Have a database in WAL mode. Of processes that do so at once with a new file, SQLite turns away all but one."""
    ends_at = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > ends_at:
                raise
        time.sleep(0.005)


def _make_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Make a store's tables, all of them or none. Where they are, nothing is written, and no writer waited for."""
    try:
        connection.executescript(f"BEGIN; {schema} COMMIT;")
    except sqlite3.OperationalError:  # somebody wrote, and a reader does not become a writer then
        connection.rollback()
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {schema} COMMIT;")
        except BaseException:
            connection.rollback()
            raise


_databases: weakref.WeakValueDictionary[tuple[str, str], SQLiteDatabase] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def shared_database(
    path: str, use: str = "", patience: float | None = None, *, is_durable: bool = True
) -> SQLiteDatabase:
    """Return the process's database at ``path``; it closes its connection when the last store that uses it is gone.

    Args:
        path: of the file.
        use: what for: each use has a connection of its own, so that to read need not wait for who writes.
        patience, is_durable: as of `SQLiteDatabase`; the same for each use.
    """
    place = os.path.realpath(path)
    with _lock:
        database = _databases.get((place, use))
        if database is None:
            database = _databases[place, use] = SQLiteDatabase(place, patience, is_durable=is_durable)
        return database


class LazyDatabase:
    """`shared_database`, found at the first use: its place is looked up on the disk, which no event loop may wait for.

    A pickle of it is one that was not used.
    """

    def __init__(self, path: str, use: str = "", patience: float | None = None, *, is_durable: bool = True) -> None:
        self._find = functools.partial(shared_database, path, use, patience, is_durable=is_durable)
        self._database: SQLiteDatabase | None = None

    def open(self, schema: str, error_type: type[HocketError]) -> AbstractContextManager[sqlite3.Connection]:
        """Have the connection alone; see `SQLiteDatabase.open`."""
        if self._database is None:
            self._database = self._find()
        return self._database.open(schema, error_type)

    def close(self) -> None:
        """Close the connection; the next operation opens another."""
        if self._database is not None:
            self._database.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_database": None}


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Do all that is done inside, or nothing. It begins as a writer: a reader cannot always become one later."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Generator[None]:
    """Read several times, and see nothing of what others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


_connections: weakref.WeakSet[_Connection] = weakref.WeakSet()


@before_fork
def _close_idle() -> None:
    with _lock:
        connections = list(_connections)
    is_at_rest = fork_barrier().is_at_rest  # who has a lock waits for the fork, then, and is not in SQLite
    for connection in connections:
        has_lock = connection.lock.acquire(blocking=False)
        try:
            if has_lock or is_at_rest:
                connection.close()
        finally:
            if has_lock:
                connection.lock.release()


@after_fork
def _start_anew() -> None:
    global _lock
    _lock = threading.Lock()
    for database in list(_databases.values()):
        database.leave_connection_to_parent()
