"""A ledger in PostgreSQL: a row an entry, a batch one statement."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from hocket._databases.postgres import (
    Connection,
    ConnectionPool,
    PostgresClient,
    SyncPool,
    execute_if_there,
    execute_or_create,
    postgres_server,
)
from hocket._databases.urls import drop_secrets
from hocket._secrets import redact_url
from hocket.errors import InvalidInput, StoreError, StoreUnavailable
from hocket.ledger.base import Ledger
from hocket.ledger.entry import COLUMNS, LedgerEntry, decode_entry, encode_entry

__all__ = ["PostgresLedger"]

_CREATE = """
    SELECT pg_advisory_xact_lock(hashtextextended('hocket create {table}', 0));
    CREATE TABLE IF NOT EXISTS "{table}" (
        id text PRIMARY KEY, at timestamptz NOT NULL, run_id text, parent_run_id text, attempt int NOT NULL,
        provider text, model text, outcome text NOT NULL, error text, input_tokens bigint, output_tokens bigint,
        cache_read bigint NOT NULL, cache_write bigint NOT NULL, reasoning bigint NOT NULL, served_tokens bigint NOT NULL,
        cost numeric, price text, estimated boolean NOT NULL, seconds float8 NOT NULL, first_token float8,
        request_id text, metadata jsonb NOT NULL, stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX IF NOT EXISTS "{table}_at" ON "{table}" (at, id);
"""
_WRITE = f"""
    INSERT INTO "{{table}}" ({", ".join(COLUMNS)})
    SELECT {", ".join(f"one.{name}" for name in COLUMNS)}
    FROM jsonb_populate_recordset(NULL::"{{table}}", %s::jsonb) AS one
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")},
        stored_at = clock_timestamp()
    WHERE "{{table}}".outcome = 'open'
"""
_SELECTED = ", ".join(
    {"at": "at", "cost": "cost::text", "metadata": "metadata::text"}.get(name, name) for name in COLUMNS
)
_READ = f'SELECT {_SELECTED} FROM "{{table}}" WHERE (at, id) > (%s, %s) ORDER BY at, id LIMIT %s'
_PAGE = 1000
_FIRST = datetime(1, 1, 2, tzinfo=UTC)


class PostgresLedger(Ledger):
    """Keeps entries in a table of PostgreSQL, for any number of machines. The first entry makes the table, if absent.

    The table has a column more than an entry, ``stored_at``, by the server's clock.

    Args:
        url: ``postgresql://…``, with libpq's options as its query.
        table: its name: letters, digits and underscores.
        connection: a ``psycopg.Connection`` or a pool of them, instead of the URL; yours to close.
        metadata, spool: as for `Ledger`.

    Raises:
        InvalidInput: an argument cannot be used.
        StoreError: by `entries` and `total`: the server cannot be reached, or refuses.
        MissingDependency: psycopg is not installed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        table: str = "hocket_ledger",
        connection: Connection | SyncPool | None = None,
        metadata: Sequence[str] | None = None,
        spool: str | None = None,
    ) -> None:
        if (url is None) == (connection is None):
            raise InvalidInput("give either the URL of a server, postgresql://…, or a connection")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,55}", table):
            raise InvalidInput(f"table is {table!r}; it must consist of at most 56 letters, digits and underscores")
        self.table: str = table
        self.is_portable: bool = connection is None
        place = "a connection" if url is None else redact_url(drop_secrets(url))
        owner = f"PostgresLedger({place!r}, table={table!r})"
        self._server = postgres_server(owner, url, StoreError, StoreUnavailable, connection)
        super().__init__(f"{place} {table}", metadata, spool)

    def __repr__(self) -> str:
        return self._server.owner

    def close(self) -> None:
        """Write what has come, and close the process's idle connections to the URL."""
        self.flush()
        if self._server.url is not None:
            cast(ConnectionPool, self._server.sync_client()).close_idle()

    def _write(self, entries: Sequence[LedgerEntry]) -> None:
        newest = {entry.id: entry for entry in entries}  # a statement changes no row twice
        records = json.dumps([encode_entry(entry) for entry in newest.values()])
        self._server.call(self._write_rows, records)

    async def _write_rows(self, client: PostgresClient, records: str) -> None:
        create, write = (statement.format(table=self.table) for statement in (_CREATE, _WRITE))
        await execute_or_create(client, create, write, records)

    def _read(self, since: datetime | None) -> Iterator[LedgerEntry]:
        place = (since or _FIRST, "")
        while True:
            rows = self._server.call(self._read_rows, place)
            for row in rows:
                yield _from_row(row)
            if len(rows) < _PAGE:
                return
            place = (rows[-1][1], rows[-1][0])

    async def _read_rows(self, client: PostgresClient, place: tuple[datetime, str]) -> list[tuple[Any, ...]]:
        return await execute_if_there(client, _READ.format(table=self.table), *place, _PAGE)


def _from_row(row: Sequence[Any]) -> LedgerEntry:
    data = dict(zip(COLUMNS, row, strict=True))
    return decode_entry(
        {**data, "at": data["at"].astimezone(UTC).isoformat(), "metadata": json.loads(data["metadata"])}
    )
