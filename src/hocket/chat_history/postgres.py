"""A history in PostgreSQL.

The table is that of langchain-postgres, a row a message. A turn is one statement: readers see all its rows or none, and it
takes a lock on its session before it takes its numbers, so that the rows of two turns cannot alternate, and the order of
the numbers is that of the commits.
"""

import re
from collections.abc import Sequence
from typing import cast
from uuid import UUID

from hocket._databases.postgres import (
    AsyncConnection,
    AsyncPool,
    Connection,
    ConnectionPool,
    PostgresClient,
    SyncPool,
    execute,
    execute_if_there,
    execute_or_create,
    postgres_server,
)
from hocket._databases.postgres_lock import AdvisoryLock
from hocket._runtime.mode import drive
from hocket._secrets import redact_url
from hocket.chat_history.server import ServerHistory
from hocket.errors import HistoryError, HistoryUnavailable, InvalidInput

__all__ = ["PostgresChatMessageHistory"]

_CREATE = """
    SELECT pg_advisory_xact_lock(hashtextextended('hocket create {table}', 0));
    CREATE TABLE IF NOT EXISTS "{table}" (
        id BIGSERIAL PRIMARY KEY,
        session_id UUID NOT NULL,
        message JSON NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW()
    );
    CREATE INDEX IF NOT EXISTS "idx_{table}_session_id" ON "{table}" (session_id);
"""
_DROP = 'DROP TABLE IF EXISTS "{table}"'
_READ = 'SELECT message::text FROM "{table}" WHERE session_id = %s ORDER BY id'
_APPEND = """
    WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('hocket append {table} ' || %s, 0)))
    INSERT INTO "{table}" (session_id, message)
    SELECT %s::uuid, record::json FROM alone, unnest(%s::text[]) WITH ORDINALITY AS turn (record, place) ORDER BY place
"""
_SESSIONS = 'SELECT DISTINCT session_id::text FROM "{table}"'
_CLEAR = 'DELETE FROM "{table}" WHERE session_id = %s'


class PostgresChatMessageHistory(ServerHistory[PostgresClient]):
    """Keeps conversations in a table of PostgreSQL: ``id``, ``session_id``, ``message``, ``created_at``.

    The first turn makes the table if it is absent; `create_tables` does so beforehand, for roles that may not. ``message``
    is ``JSON``, the exact text. The table of langchain-postgres serves as well, with what is in it; there ``message`` is
    ``JSONB``, which changes some numbers (``1e16`` to an integer, ``-0.0`` to ``0.0``), sorts the keys of mappings and
    refuses NULs: ``ALTER TABLE ... ALTER COLUMN message TYPE JSON`` ends that.

    Nothing is sent twice: where the answer to an append is lost, `HistoryError` is raised, and the turn may be stored.

    Args:
        table_name: letters, digits and underscores.
        session_id: the conversation, a UUID.
        url: ``postgresql://…``, with libpq's options as its query. The histories of a process share its connections, 10
            at most, or as many as its query says (``?max_connections=20``); `close` closes those that are idle.
        sync_connection: a ``psycopg.Connection``, or a pool of them, instead of a URL; yours to close.
        async_connection: a ``psycopg.AsyncConnection``, or a pool of them; yours to close. It serves the async methods, on
            asyncio and its own loop. A connection that has a transaction open takes the turn into it.

    Raises:
        InvalidInput: an argument cannot be used. By `add_messages`: a message cannot be stored; none of the turn is.
        HistoryUnavailable: by every operation: the server cannot be reached, broke off, or took too long.
        HistoryError: by every operation: it refuses, or a message in it is damaged.
        MissingDependency: psycopg is not installed.
    """

    def __init__(
        self,
        table_name: str,
        session_id: str | UUID,
        /,
        *,
        url: str | None = None,
        sync_connection: Connection | SyncPool | None = None,
        async_connection: AsyncConnection | AsyncPool | None = None,
    ) -> None:
        if (url is None) == (sync_connection is None and async_connection is None):
            raise InvalidInput("pass either url=..., or sync_connection=... and/or async_connection=...")
        self.table_name: str = _check_table(table_name)
        try:
            self.session_id: str = str(UUID(str(session_id)))
        except ValueError:
            raise InvalidInput(
                f"session_id is {session_id!r}; it must be a UUID: str(uuid.uuid4()) makes one"
            ) from None
        names = [repr(self.table_name), repr(self.session_id), *([] if url is None else [f"url={redact_url(url)!r}"])]
        super().__init__(
            postgres_server(
                f"{type(self).__name__}({', '.join(names)})",
                url,
                HistoryError,
                HistoryUnavailable,
                sync_connection,
                async_connection,
            )
        )

    @staticmethod
    def create_tables(connection: Connection | SyncPool, table_name: str, /) -> None:
        """Make the table and its index, if absent, through a sync connection or pool of psycopg's."""
        drive(execute(connection, _CREATE.format(table=_check_table(table_name))))

    @staticmethod
    async def acreate_tables(connection: AsyncConnection | AsyncPool, table_name: str, /) -> None:
        """Make the table and its index, if absent, through an async connection or pool of psycopg's."""
        await execute(connection, _CREATE.format(table=_check_table(table_name)))

    @staticmethod
    def drop_table(connection: Connection | SyncPool, table_name: str, /) -> None:
        """Drop the table with all conversations in it. See `create_tables`."""
        drive(execute(connection, _DROP.format(table=_check_table(table_name))))

    @staticmethod
    async def adrop_table(connection: AsyncConnection | AsyncPool, table_name: str, /) -> None:
        """Drop the table with all conversations in it. See `acreate_tables`."""
        await execute(connection, _DROP.format(table=_check_table(table_name)))

    def close(self) -> None:
        """Close the process's idle connections to the URL; the next operation opens another. Given ones stay open."""
        if self._server.url is not None:
            cast(ConnectionPool, self._server.sync_client()).close_idle()

    @property
    def _conversation(self) -> str:
        return f"{self.table_name} {self.session_id}"

    def _make_lock(self) -> AdvisoryLock:
        return AdvisoryLock(self._conversation)

    async def _read(self, client: PostgresClient) -> Sequence[str]:
        return await self._select(client, _READ, self.session_id)

    async def _append(self, client: PostgresClient, records: Sequence[str]) -> None:
        create, append = (statement.format(table=self.table_name) for statement in (_CREATE, _APPEND))
        await execute_or_create(client, create, append, self.session_id, self.session_id, list(records))

    async def _clear(self, client: PostgresClient) -> None:
        await self._select(client, _CLEAR, self.session_id)

    async def _list_sessions(self, client: PostgresClient, prefix: str) -> list[str]:
        if prefix:
            raise InvalidInput(
                f"prefix is {prefix!r}, and PostgreSQL keeps UUIDs and not the names that they were made of: have your "
                "program keep which sessions are whose"
            )
        return await self._select(client, _SESSIONS)

    async def _select(self, client: PostgresClient, statement: str, *parameters: str) -> list[str]:
        """Return the only column of what a statement selects; nothing where there is no table."""
        rows = await execute_if_there(client, statement.format(table=self.table_name), *parameters)
        return [value for (value,) in rows]


def _check_table(name: str) -> str:
    if not re.fullmatch(r"\w+", name):
        raise InvalidInput(f"table_name is {name!r}; it must consist of letters, digits and underscores")
    return name
