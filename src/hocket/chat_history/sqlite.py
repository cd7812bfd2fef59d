"""A history in an SQLite database: a row a message, a turn one transaction, flushed to the disk."""

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager

from hocket._databases.file_lock import FileLock
from hocket._databases.sqlite import LazyDatabase, transaction
from hocket._databases.urls import check_path
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.exclusive import Exclusive
from hocket.chat_history.records import check_session_id, dumps_messages, loads_messages
from hocket.errors import HistoryError, InvalidInput
from hocket.errors.hints import explain_arguments
from hocket.messages import BaseMessage

__all__ = ["SQLiteChatMessageHistory"]

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
_SESSIONS = "SELECT DISTINCT session_id FROM message_store WHERE substr(session_id, 1, length(?)) = ?"
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

    @explain_arguments(connection="path", connection_string="path", database="path", url="path")
    def __init__(self, session_id: str, path: str | os.PathLike[str]) -> None:
        self.session_id: str = check_session_id(session_id)
        self.path: str = check_path(path, "path")
        if self.path == ":memory:":
            raise InvalidInput(f"path is {self.path!r}; it must be a file's (in memory: InMemoryChatMessageHistory)")
        self._database = LazyDatabase(self.path)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        with self._open() as connection:
            rows = connection.execute(_READ, (self.session_id,)).fetchall()
        return loads_messages((record for (record,) in rows), repr(self))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn, and return when it is on the disk."""
        rows = [(self.session_id, record) for record in dumps_messages(messages)]
        if rows:
            with self._open() as connection, transaction(connection):
                connection.executemany(_APPEND, rows)

    def clear(self) -> None:
        """Forget all messages of the session."""
        with self._open() as connection:
            connection.execute(_CLEAR, (self.session_id,))

    def list_sessions(self, prefix: str = "") -> list[str]:
        """Return the sessions of the database that have messages, sorted. See `hocket.chat_history.list_sessions`."""
        with self._open() as connection:
            return sorted(name for (name,) in connection.execute(_SESSIONS, (prefix, prefix)))

    @property
    def exclusive_key(self) -> tuple[str, str, str]:
        """The database's path as it was given, and the session; the lock itself knows the file by any name."""
        return "sqlite", self.path, self.session_id

    def exclusive(self, timeout: float | None = None) -> AbstractAsyncContextManager[None, None]:
        """Have the conversation alone, also among processes: see `BaseChatMessageHistory.exclusive`.

        The lock is the operating system's, on a file beside the database (``.lock``), one for each session, which is
        removed afterwards: a transaction would keep all other sessions from writing.
        """
        digest = hashlib.sha256(self.session_id.encode()).hexdigest()[:16]
        return Exclusive(self, self.exclusive_key, timeout, FileLock(self.path, f"-{digest}.lock", HistoryError))

    def close(self) -> None:
        """Close the connection; the next operation opens another."""
        self._database.close()

    def _open(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.open(_SCHEMA, HistoryError)

    def __repr__(self) -> str:
        return f"SQLiteChatMessageHistory(session_id={self.session_id!r}, path={self.path!r})"
