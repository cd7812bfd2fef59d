"""A store in PostgreSQL: a trip is a transaction, sent as one message.

So the server does all of it, or nothing, whatever becomes of the process that sent it: one that stops in the middle holds
no lock, for which others would wait.

An append locks the row of its lease until it is stored, and takes the place behind the last row. Who takes that lease next
waits for it, so that rows have their order, and none of an owner that has lost its lease comes after its successor's.
"""

import math
import re
from collections.abc import Sequence
from typing import cast

from hocket._databases.postgres import ClientCursor, PostgresClient, SyncPool, UndefinedTable, execute, postgres_server
from hocket._databases.store import PURGE_EVERY, AppendRows, Operation, StateStore
from hocket._databases.store_sql import (
    KEEP_LOG,
    MOST_PURGED,
    OLD_LOGS,
    SCHEMA,
    STATEMENTS,
    set_result,
    write_parameters,
)
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket._secrets import redact_url
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["PostgresStateStore"]

_NOW = "extract(epoch FROM clock_timestamp())::float8"
_CREATE = f"SELECT pg_advisory_xact_lock(hashtextextended('hocket create store', 0)); {SCHEMA.format(bytes='BYTEA')}"
_APPEND_TEXT = """
    WITH held AS (
        SELECT 1 FROM hocket_lease WHERE key = :lease AND owner = :owner AND ends_at > :now FOR UPDATE
    ), may AS (
        SELECT 1 WHERE (:lease = '' OR EXISTS (SELECT 1 FROM held))
        AND coalesce(:at, 0) <= coalesce((SELECT max(place) FROM hocket_log_row WHERE log = :log), 0)
    ), stored AS (
        INSERT INTO hocket_log_row (log, place, data)
        SELECT :log, coalesce(:at, (SELECT max(place) FROM hocket_log_row WHERE log = :log), 0) + nr, data
        FROM may, unnest(:rows::bytea[]) WITH ORDINALITY AS added (data, nr)
        ON CONFLICT (log, place) DO NOTHING
    )
    SELECT 1 FROM may
"""


def _translate(statement: str) -> bytes:
    """Return a statement in psycopg's form."""
    return re.sub(r"(?<!:):([a-z]+)", r"%(\1)s", re.sub(r"(?<!:):now\b", _NOW, statement)).encode()


_APPEND = _translate(_APPEND_TEXT)
_STATEMENTS = {kind: _translate(text) for kind, text in STATEMENTS.items()}
_KEEP_LOG = _translate(KEEP_LOG)
# Of rows that others purge, or claim, at once none is waited for: two who waited for one another would fail.
_PURGE = [
    _translate(statement).decode()
    for statement in (
        f"""
        WITH old AS ({OLD_LOGS} FOR UPDATE SKIP LOCKED),
        gone AS (DELETE FROM hocket_log_row WHERE log IN (SELECT log FROM old))
        DELETE FROM hocket_log WHERE log IN (SELECT log FROM old)
        """,
        *(
            f"""
            DELETE FROM {table} WHERE key IN (SELECT key FROM {table} WHERE ends_at <= :now FOR UPDATE SKIP LOCKED)
            """
            for table in ("hocket_value", "hocket_lease")
        ),
    )
]


class PostgresStateStore(StateStore):
    """Keeps everything in tables of a database, made if absent. The time is the server's."""

    def __init__(self, url: str) -> None:
        self._server = postgres_server(f"a store at {redact_url(url)!r}", url, StoreError, StoreUnavailable)
        self._purged_at = -math.inf

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        """Do operations, in a thread."""
        await self._server.run(mode, self._do_all, operations)

    async def _do_all(self, client: PostgresClient, operations: Sequence[Operation]) -> None:
        try:
            self._send(client, operations)
        except UndefinedTable:
            await execute(client, _CREATE)
            self._send(client, operations)

    def _send(self, client: PostgresClient, operations: Sequence[Operation]) -> None:
        now = clock.current().now()
        with cast("SyncPool", client).connection() as connection, ClientCursor(connection) as cursor:  # a URL's
            statements = [cursor.mogrify(*one) for operation in operations for one in _write(operation)]
            is_purging = now >= self._purged_at + PURGE_EVERY
            if is_purging:
                self._purged_at = now
                statements += _PURGE
            cursor.execute(";".join(statements).encode())
            for operation in operations:
                if isinstance(operation, AppendRows):
                    if operation.ttl is not None:
                        cursor.nextset()
                    operation.is_done = bool(cursor.fetchall())
                else:
                    set_result(operation, cursor.rowcount, cursor.fetchall() if cursor.description else [])
                cursor.nextset()
            if is_purging and cursor.rowcount == MOST_PURGED:  # there may be more
                self._purged_at = -math.inf


def _write(operation: Operation) -> list[tuple[bytes, dict[str, object]]]:
    """Return the statements of an operation, with their parameters."""
    parameters = write_parameters(operation)
    if isinstance(operation, AppendRows):
        # The first one locks the log: of appends at once each has its place. One that knows its place needs no lock.
        keeping = [] if operation.ttl is None else [(_KEEP_LOG, parameters)]
        return [*keeping, (_APPEND, {**parameters, "rows": [*operation.rows]})]
    return [(_STATEMENTS[type(operation)], parameters)]
