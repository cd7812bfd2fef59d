"""A history in an SQLite database.

A turn is one transaction. The database is in WAL mode, so that the readers and the writer of several processes do not
wait for one another, and every commit is flushed to the disk.

The histories of one process share a connection, which threads use by turns. Had each its own, fifty writers would spend
their time in SQLite's way of waiting, which is to sleep and look again, and take four times as long.
"""

import os
import sqlite3
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.records import messages_of, records_of, session_of
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import BaseMessage

__all__ = ["SQLiteChatMessageHistory"]

PATIENCE = 30.0
"""Seconds to wait for other writers."""

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS message_store (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        message TEXT NOT NULL,
        created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    );
    CREATE INDEX IF NOT EXISTS idx_message_store_session_id ON message_store (session_id);
"""
_READ = "SELECT message FROM message_store WHERE session_id = ? ORDER BY id"
_APPEND = "INSERT INTO message_store (session_id, message) VALUES (?, ?)"
_CLEAR = "DELETE FROM message_store WHERE session_id = ?"


class SQLiteChatMessageHistory(BaseChatMessageHistory):
    """Keeps conversations in an SQLite database, in the table ``message_store``.

    Any number of tasks, threads and processes of one machine may share the database (SQLite's WAL mode does not work over
    a network). A turn is on the disk when `add_messages` returns. The order is that of the commits. The table of
    LangChain's ``SQLChatMessageHistory`` serves as well, with what is in it.

    Args:
        session_id: the conversation.
        path: the database's file, made if absent; its directory must be there.

    Raises:
        InvalidInput: the session or the path is empty. By `add_messages`: a message cannot be stored; none of the turn is.
        HistoryError: by every operation: the database cannot be read or written, or a message in it is damaged.
    """

    def __init__(self, session_id: str, path: str | os.PathLike[str]) -> None:
        self.session_id = session_of(session_id)
        self.path = os.fspath(path)
        if self.path in ("", ":memory:"):
            raise InvalidInput(f"path is {self.path!r}; it must be a file's (in memory: InMemoryChatMessageHistory)")
        self._database: _Database | None = None

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        with self._connected() as connection:
            rows = connection.execute(_READ, (self.session_id,)).fetchall()
        return messages_of((record for (record,) in rows), repr(self))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn, and return when it is on the disk."""
        rows = [(self.session_id, record) for record in records_of(messages)]
        if rows:
            with self._connected() as connection, _transaction(connection):
                connection.executemany(_APPEND, rows)

    def clear(self) -> None:
        """Forget all messages of the session."""
        with self._connected() as connection:
            connection.execute(_CLEAR, (self.session_id,))

    def close(self) -> None:
        """Close the connection; the next operation opens another."""
        if self._database is not None:
            self._database.close()

    def _connected(self) -> AbstractContextManager[sqlite3.Connection]:
        if self._database is None:
            self._database = _database_of(self.path)
        return self._database.open()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_database": None}

    def __repr__(self) -> str:
        return f"SQLiteChatMessageHistory(session_id={self.session_id!r}, path={self.path!r})"


class _Database:
    """One connection, opened when it is first needed. Threads use it by turns."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.reset()

    def reset(self) -> None:
        """Begin anew, without a connection."""
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closing: weakref.finalize[Any, Any] | None = None

    @contextmanager
    def open(self) -> Generator[sqlite3.Connection]:
        """Borrow the connection.

        Raises:
            HistoryError: the database cannot be used.
        """
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _connect(self.path)
                    # No __del__: while one runs, the weak reference in `_databases` still finds its object.
                    self._closing = weakref.finalize(self, self._connection.close)
                yield self._connection
            except sqlite3.Error as error:
                raise HistoryError(f"{self.path}: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._closing is not None:
                self._connection = None
                self._closing()

    def leave_to_parent(self) -> None:
        """Forget the connection in a forked child, and keep it alive: to close it here might break it there."""
        if self._connection is not None and self._closing is not None:
            _inherited.append(self._connection)
            self._closing.detach()
        self.reset()


_databases: weakref.WeakValueDictionary[str, _Database] = weakref.WeakValueDictionary()
_lock = threading.Lock()
_inherited: list[sqlite3.Connection] = []


def _database_of(path: str) -> _Database:
    """Return the process's database at ``path``; it closes its connection when the last history is gone."""
    place = os.path.realpath(path)
    with _lock:
        database = _databases.get(place)
        if database is None:
            database = _databases[place] = _Database(place)
        return database


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for database in list(_databases.values()):
        database.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Do all that is done inside, or nothing. It begins as a writer: a reader cannot always become one later."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
