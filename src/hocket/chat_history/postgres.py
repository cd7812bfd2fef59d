"""A history in PostgreSQL.

The table is that of langchain-postgres, a row a message. A turn is one statement: readers see all its rows or none, and it
takes a lock on its session before it takes its numbers, so that the rows of two turns cannot alternate, and the order of
the numbers is that of the commits.
"""

import re
import threading
import weakref
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

import anyio

from hocket._runtime.runtime import drive
from hocket.chat_history.clients import client_of
from hocket.chat_history.remote import RemoteHistory, settled
from hocket.errors import InvalidInput, MissingDependency
from hocket.http.secrets import redact_url

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import tuple_row

    from hocket.chat_history.postgres_connections import Connections
except ImportError as error:
    raise MissingDependency(
        "the history in PostgreSQL needs a package; run `pip install 'hocket[postgres]'`"
    ) from error

__all__ = ["PostgresChatMessageHistory"]

T = TypeVar("T")

_SCHEMES = ("postgresql://", "postgres://")

_CREATE = """
    SELECT pg_advisory_xact_lock(hashtextextended('hocket create {table}', 0));
    CREATE TABLE IF NOT EXISTS "{table}" (
        id BIGSERIAL PRIMARY KEY,
        session_id UUID NOT NULL,
        message JSONB NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW()
    );
    CREATE INDEX IF NOT EXISTS "idx_{table}_session_id" ON "{table}" (session_id);
"""
_DROP = 'DROP TABLE IF EXISTS "{table}"'
_READ = 'SELECT message::text FROM "{table}" WHERE session_id = %s ORDER BY id'
_APPEND = """
    WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('hocket append {table} ' || %s, 0)))
    INSERT INTO "{table}" (session_id, message)
    SELECT %s::uuid, record::jsonb FROM alone, unnest(%s::text[]) WITH ORDINALITY AS turn (record, place) ORDER BY place
"""
_CLEAR = 'DELETE FROM "{table}" WHERE session_id = %s'


class PostgresChatMessageHistory(RemoteHistory):
    """Keeps conversations in a table of PostgreSQL: ``id``, ``session_id``, ``message``, ``created_at``.

    The table of langchain-postgres serves as well, with what is in it. The first turn makes the table if it is absent;
    `create_tables` does so beforehand, for roles that may not. ``message`` is ``JSONB``, which does not keep the order of
    the keys of a mapping.

    Nothing is sent twice: where the answer to an append is lost, `HistoryError` is raised, and the turn may be stored.

    Args:
        table_name: letters, digits and underscores.
        session_id: the conversation, a UUID.
        url: ``postgresql://…``, with libpq's options as its query. The histories of a process share its connections, 10
            at most; `close` closes those that are idle.
        sync_connection: a ``psycopg.Connection``, or a pool of them, instead of a URL; yours to close.
        async_connection: a ``psycopg.AsyncConnection``, or a pool of them; yours to close. It serves the async methods, on
            asyncio and its own loop. A connection that has a transaction open takes the turn into it.

    Raises:
        InvalidInput: an argument cannot be used. By `add_messages`: a message cannot be stored; none of the turn is.
        HistoryError: by every operation: the server cannot be reached or refuses, or a message in it is damaged.
        MissingDependency: psycopg is not installed.
    """

    def __init__(
        self,
        table_name: str,
        session_id: str | UUID,
        /,
        *,
        url: str | None = None,
        sync_connection: Any = None,
        async_connection: Any = None,
    ) -> None:
        if (url is None) == (sync_connection is None and async_connection is None):
            raise InvalidInput("pass either url=..., or sync_connection=... and/or async_connection=...")
        self.table_name = _table(table_name)
        try:
            self.session_id = str(UUID(str(session_id)))
        except ValueError:
            raise InvalidInput(
                f"session_id is {session_id!r}; it must be a UUID: str(uuid.uuid4()) makes one"
            ) from None
        super().__init__(None if url is None else _checked(url), sync_connection, async_connection)

    @staticmethod
    def create_tables(connection: Any, table_name: str, /) -> None:
        """Make the table and its index, if absent, through a sync connection or pool of psycopg's."""
        drive(_execute(connection, _CREATE.format(table=_table(table_name))))

    @staticmethod
    async def acreate_tables(connection: Any, table_name: str, /) -> None:
        """Make the table and its index, if absent, through an async connection or pool of psycopg's."""
        await _execute(connection, _CREATE.format(table=_table(table_name)))

    @staticmethod
    def drop_table(connection: Any, table_name: str, /) -> None:
        """Drop the table with all conversations in it. See `create_tables`."""
        drive(_execute(connection, _DROP.format(table=_table(table_name))))

    @staticmethod
    async def adrop_table(connection: Any, table_name: str, /) -> None:
        """Drop the table with all conversations in it. See `acreate_tables`."""
        await _execute(connection, _DROP.format(table=_table(table_name)))

    def close(self) -> None:
        """Close the process's idle connections to the URL; the next operation opens another. Given ones stay open."""
        if self._url is not None:
            self._sync().close_idle()

    async def _read(self, client: Any) -> Sequence[str]:
        try:
            return [record for (record,) in await self._run(client, _READ, self.session_id)]
        except psycopg.errors.UndefinedTable:
            return []

    async def _append(self, client: Any, records: Sequence[str]) -> None:
        parameters = (self.session_id, self.session_id, list(records))
        try:
            await self._run(client, _APPEND, *parameters)
        except psycopg.errors.UndefinedTable:
            await self._run(client, _CREATE)
            await self._run(client, _APPEND, *parameters)

    async def _clear(self, client: Any) -> None:
        try:
            await self._run(client, _CLEAR, self.session_id)
        except psycopg.errors.UndefinedTable:
            return

    async def _run(self, client: Any, statement: str, *parameters: Any) -> list[Any]:
        return await _execute(client, statement.format(table=self.table_name), *parameters)

    def _opened(self, url: str) -> Any:
        return client_of(Connections, url)

    def _failures(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error,)

    def _name(self) -> str:
        return ", ".join(filter(None, (f"{self.table_name!r}, {self.session_id!r}", super()._name())))


async def _execute(client: Any, statement: str, *parameters: Any) -> list[Any]:
    """Run one statement through a connection or a pool, and return its rows."""
    async with _borrowed(client) as connection:
        cursor = connection.cursor(row_factory=tuple_row)
        await settled(cursor.execute(statement, parameters or None))
        return await settled(cursor.fetchall()) if cursor.description and parameters else []


@asynccontextmanager
async def _borrowed(client: Any) -> AsyncGenerator[Any]:
    """Borrow a connection of a pool; or take a connection, for a transaction of our own unless each statement is one."""
    if not hasattr(client, "transaction"):
        async with _either(client.connection()) as connection:
            yield connection
    elif client.autocommit:
        yield client
    else:
        async with _either(_lock_of(client)), _either(client.transaction()):
            yield client


@asynccontextmanager
async def _either(context: AbstractContextManager[T] | AbstractAsyncContextManager[T]) -> AsyncGenerator[T]:
    """Enter a context, whichever its kind."""
    if isinstance(context, AbstractAsyncContextManager):
        async with context as entered:
            yield entered
    else:
        with context as entered:
            yield entered


_locks: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _lock_of(connection: Any) -> Any:
    """Return the lock of a connection: transactions of several tasks or threads on it would get into one another."""
    return _locks.setdefault(
        connection, anyio.Lock() if isinstance(connection, psycopg.AsyncConnection) else threading.Lock()
    )


def _table(name: str) -> str:
    if not re.fullmatch(r"\w+", name):
        raise InvalidInput(f"table_name is {name!r}; it must consist of letters, digits and underscores")
    return name


def _checked(url: str) -> str:
    """Return ``url`` if libpq can read it."""
    if url.startswith(_SCHEMES):
        try:
            conninfo_to_dict(url)
            return url
        except psycopg.ProgrammingError:  # its text may show a part of the password
            pass
    raise InvalidInput(
        f"{redact_url(url)!r} is no URL of PostgreSQL: it is postgresql://user:password@host:port/database"
    )
