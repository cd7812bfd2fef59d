"""A cache in PostgreSQL, for the processes of a fleet that has a database and no Redis.

An answer is stored and its claim ended in one statement, so that nobody sees one without the other. Times are the server's.
"""

import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from hocket._databases.postgres import (
    AsyncConnection,
    AsyncPool,
    Connection,
    ConnectionPool,
    PostgresClient,
    SyncPool,
    execute_if_there,
    execute_or_create,
    postgres_server,
)
from hocket._databases.postgres_patience import ImpatientPool
from hocket._databases.server import DatabaseServer
from hocket._secrets import redact_url
from hocket.caches import fleet
from hocket.caches.fleet import SharedCache
from hocket.caches.server import ServerStore
from hocket.errors import InvalidInput, StoreError, StoreUnavailable

__all__ = ["PostgresCache"]

T = TypeVar("T")
_Rows: TypeAlias = Sequence[tuple[object, ...]]

_CREATE = """
    SELECT pg_advisory_xact_lock(hashtextextended('hocket create {table}', 0));
    CREATE TABLE IF NOT EXISTS "{table}" (key BYTEA PRIMARY KEY, value BYTEA NOT NULL, expires TIMESTAMPTZ);
    CREATE INDEX IF NOT EXISTS "{table}_expires" ON "{table}" (expires) WHERE expires IS NOT NULL;
    CREATE TABLE IF NOT EXISTS "{table}_claim" (key BYTEA PRIMARY KEY, owner TEXT NOT NULL, until TIMESTAMPTZ NOT NULL);
"""
_READ = 'SELECT value FROM "{table}" WHERE key = %s AND (expires IS NULL OR expires > clock_timestamp())'
_WRITE = """
    WITH ended AS (DELETE FROM "{table}_claim" WHERE key = %s),
    expired AS (
        DELETE FROM "{table}" WHERE key IN (
            SELECT key FROM "{table}" WHERE expires <= clock_timestamp() AND key <> %s LIMIT 100 FOR UPDATE SKIP LOCKED
        )
    )
    INSERT INTO "{table}" VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s::float8))
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires = excluded.expires
"""
_CLEAR = 'WITH claims AS (DELETE FROM "{table}_claim") DELETE FROM "{table}"'
_CLAIM = """
    INSERT INTO "{table}_claim" AS held VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s::float8))
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, until = excluded.until
    WHERE held.until <= clock_timestamp() OR held.owner = excluded.owner
    RETURNING TRUE
"""
_RENEW = """
    UPDATE "{table}_claim" SET until = clock_timestamp() + make_interval(secs => %s::float8)
    WHERE key = %s AND owner = %s RETURNING TRUE
"""
_RELEASE = 'DELETE FROM "{table}_claim" WHERE key = %s AND owner = %s'


class PostgresCache(SharedCache):
    """Keeps answers in a table of PostgreSQL, for all threads, event loops, processes and machines that reach it.

    A server that is down, or slower than 250 ms three times in a row, counts as empty: models are asked, and a line of the
    log says so, once a minute. Values are JSON: what somebody else has written there builds messages at most, and runs
    nothing.

    Args:
        url: ``postgresql://…``, with libpq's options as its query. The process has 10 connections to it at most, or as
            many as its query says (``?max_connections=20``). A pickle leaves the password out; libpq finds it in
            ``PGPASSWORD``, or in ``~/.pgpass``.
        table: letters, digits and underscores. It is made if absent, and a second one, for claims: ``…_claim``.
        ttl: seconds for which an answer counts; None: for ever.
        lease: seconds for which the others wait for a process that asks and has died; a living one renews its claim as
            long as the model takes. None: each process asks for itself.
        connection: a connection of psycopg's, or a pool of them, sync or async, instead of a URL; yours to close. An async
            one serves the async methods, on asyncio and its own loop.

    Raises:
        InvalidInput: an argument cannot be used.
        MissingDependency: psycopg is not installed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        table: str = "hocket_cache",
        ttl: float | None = None,
        lease: float | None = 30.0,
        connection: Connection | AsyncConnection | SyncPool | AsyncPool | None = None,
    ) -> None:
        if (url is None) == (connection is None):
            raise InvalidInput("pass either a URL or connection=...")
        if not re.fullmatch(r"\w+", table):
            raise InvalidInput(f"table is {table!r}; it must consist of letters, digits and underscores")
        self.table: str = table
        owner = f"PostgresCache({f'table={table!r}, connection=...' if url is None else repr(redact_url(url))})"
        clients = (None, connection) if _is_async(connection) else (connection, None)
        server = replace(postgres_server(owner, url, StoreError, StoreUnavailable, *clients), connect=_connect)
        patience = None if connection is None else fleet.PATIENCE  # the user's waits as long as he likes
        super().__init__(_PostgresStore(server, table), owner, ttl, lease, patience)


class _PostgresStore(ServerStore[PostgresClient]):
    """The tables of a cache."""

    def __init__(self, server: DatabaseServer[PostgresClient], table: str) -> None:
        super().__init__(server)
        self._table = table

    def close(self) -> None:
        if self._server.url is not None:
            cast(ConnectionPool, self._server.sync_client()).close_idle()

    async def _read(self, client: PostgresClient, key: bytes) -> bytes | None:
        rows = await self._run(client, _READ, key)
        return cast(bytes, rows[0][0]) if rows else None

    async def _write(self, client: PostgresClient, key: bytes, value: bytes, ttl: float | None) -> None:
        await self._run_in_table(client, _WRITE, key, key, key, value, ttl)

    async def _clear(self, client: PostgresClient) -> None:
        await self._run(client, _CLEAR)

    async def _claim(self, client: PostgresClient, key: bytes, owner: str, lease: float) -> bool:
        return bool(await self._run_in_table(client, _CLAIM, key, owner, lease))

    async def _renew(self, client: PostgresClient, key: bytes, owner: str, lease: float) -> bool:
        return bool(await self._run(client, _RENEW, lease, key, owner))

    async def _release(self, client: PostgresClient, key: bytes, owner: str) -> None:
        await self._run(client, _RELEASE, key, owner)

    async def _run(self, client: PostgresClient, statement: str, *parameters: object) -> _Rows:
        """Run a statement; without a table there is nothing to find or to change."""
        return await execute_if_there(client, statement.format(table=self._table), *parameters)

    async def _run_in_table(self, client: PostgresClient, statement: str, *parameters: object) -> _Rows:
        """Run a statement, and make the tables first if they are not there."""
        create, statement = (text.format(table=self._table) for text in (_CREATE, statement))
        return await execute_or_create(client, create, statement, *parameters)


def _connect(url: str) -> ImpatientPool:
    return ImpatientPool(url, fleet.PATIENCE)


def _is_async(connection: object) -> bool:
    """Whether it is an async connection of psycopg's, or a pool of them."""
    execute, borrow = getattr(connection, "execute", None), getattr(connection, "connection", None)
    if execute is not None:
        return inspect.iscoroutinefunction(execute)
    return borrow is not None and inspect.isasyncgenfunction(inspect.unwrap(borrow))
