"""Queries of a PostgreSQL database that can only be read, also where a model has written them.

What keeps a query from doing more than it may:

- Its transaction is read-only, and has a limit on time.
- It is the query of a cursor, which takes a SELECT and nothing else; and it is sent as one statement.
- It calls only functions that are known to be harmless (`sql_functions`).
- Before the first row is fetched, PostgreSQL is asked which relations the transaction has locked. A query locks each one
  that it names, in whatever way it does so, and those behind a view. All must be among the named ones. It is asked again
  before a row is shown: a function that runs a query of its own would have locked others by then.

Rows come as JSON, cut by the server, so that no answer is larger than the limit.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

from hocket._databases.clients import shared_client
from hocket._databases.postgres import Connection, ConnectionPool, PostgresError, QueryCanceled, is_postgres_unavailable
from hocket._databases.sql_functions import check_functions
from hocket._databases.sqlite_reader import check_limits
from hocket.errors import InvalidInput

__all__ = ["PostgresReader"]

_MAX_LENGTH = 20_000
_FIND = "SELECT coalesce(to_regclass(%s), to_regclass(quote_ident(%s)))::oid"
_RELATED = """
WITH RECURSIVE found(oid) AS (
    SELECT unnest(%s::oid[])
    UNION
    SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN found ON i.inhparent = found.oid
), whole(oid) AS (
    SELECT oid FROM found
    UNION SELECT c.reltoastrelid FROM pg_catalog.pg_class c JOIN found USING (oid) WHERE c.reltoastrelid <> 0
)
SELECT oid FROM whole UNION SELECT i.indexrelid FROM pg_catalog.pg_index i JOIN whole ON i.indrelid = whole.oid
"""
"""The relations that belong to some: parts, indexes, and where long values are kept."""

_LOCKED = """
SELECT relation, relation::regclass::text FROM pg_catalog.pg_lock_status()
WHERE locktype = 'relation' AND pid = pg_catalog.pg_backend_pid()
"""
_COLUMNS = """
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_catalog.pg_attribute a
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_CONSTRAINTS = """
SELECT pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint
WHERE conrelid = %s AND contype IN ('p', 'f', 'u') ORDER BY contype DESC, oid
"""


class PostgresReader:
    """Tables of a database, and what a query of them may cost. A few connections are kept.

    Args:
        url: ``postgresql://...``.
        tables: which may be read, and may be named in a query; with their schemas, unless these are in the search path.
        max_rows: rows of an answer at most; the reader of the answer is told if there are more.
        max_chars: characters of an answer at most, but for that note.
        max_seconds: that a query may take.

    Raises:
        InvalidInput: a limit is not above 0.
    """

    dialect = "PostgreSQL"

    def __init__(
        self,
        url: str,
        tables: Iterable[str],
        *,
        max_rows: int = 50,
        max_chars: int = 10_000,
        max_seconds: float = 5.0,
    ) -> None:
        check_limits(max_rows=max_rows, max_chars=max_chars, max_seconds=max_seconds)
        self._pool = shared_client(ConnectionPool, url)
        self._tables = [*tables]
        self._max_rows = max_rows
        self._max_chars = max_chars
        self._max_seconds = max_seconds

    def query(self, query: str) -> str:
        """Return the answer to one SELECT: its rows as lines of JSON.

        Raises:
            InvalidInput: it is refused, or wrong; the text says why. Or the server does not answer.
        """
        if "\0" in query:
            raise InvalidInput("The query failed: it has a NUL in it")
        if len(query) > _MAX_LENGTH:
            raise InvalidInput(f"Not allowed: a query of {len(query):,} characters; it may have {_MAX_LENGTH:,}")
        check_functions(query)
        with self._connect() as connection:
            allowed = self._find_relations(connection)
            try:
                return self._write(self._fetch(connection, query, allowed))
            except QueryCanceled as error:
                raise InvalidInput(
                    f"The query took longer than {self._max_seconds:g} s. Ask for less, or use an index."
                ) from error
            except (PostgresError, UnicodeEncodeError) as error:
                text = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
                raise InvalidInput(f"The query failed: {text}") from error

    def _fetch(self, connection: Connection, query: str, allowed: set[int]) -> list[str]:
        """Return the rows, one more than are shown."""
        milliseconds = max(1, round(self._max_seconds * 1000))
        # In this form a cursor sends one statement, whatever the text has in it.
        with connection.transaction(force_rollback=True), connection.cursor(binary=True) as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            for name in ("statement_timeout", "lock_timeout"):
                cursor.execute(f"SET LOCAL {name} = {milliseconds}".encode())
            cursor.execute("SET LOCAL standard_conforming_strings = on")
            cursor.execute("SET LOCAL client_encoding = 'UTF8'")  # in others a backslash may be half of a letter
            row = f"pg_catalog.left(pg_catalog.to_json(answer)::text, {self._max_chars + 1})"
            cut = f"SELECT {row} FROM (\n{query}\n) answer LIMIT {self._max_rows + 1}"
            cursor.execute(f"DECLARE answers NO SCROLL CURSOR FOR {cut}".encode())
            self._check_locks(cursor.execute(_LOCKED).fetchall(), allowed)
            rows = [row for (row,) in cursor.execute(f"FETCH {self._max_rows + 1} FROM answers".encode()).fetchall()]
            self._check_locks(cursor.execute(_LOCKED).fetchall(), allowed)
            return rows

    def _check_locks(self, locked: Sequence[tuple[int, str]], allowed: set[int]) -> None:
        if others := sorted(name for oid, name in locked if oid not in allowed):
            raise InvalidInput(
                f"Not allowed: reading {', '.join(others)}. Only these tables can be read: {', '.join(self._tables)}."
            )

    def read_schema(self) -> Iterator[str]:
        """Yield a statement that would make each table.

        Raises:
            InvalidInput: a table is not there, or the server does not answer.
        """
        with self._connect() as connection:
            for table in self._tables:
                oid = self._find(connection, table)
                lines = [
                    f"    {name} {kind}{' NOT NULL' if is_needed else ''}"
                    for name, kind, is_needed in connection.execute(_COLUMNS, (oid,))
                ]
                lines += [f"    {rule}" for (rule,) in connection.execute(_CONSTRAINTS, (oid,))]
                yield f"CREATE TABLE {table} (\n" + ",\n".join(lines) + "\n)"

    @contextmanager
    def _connect(self) -> Generator[Connection]:
        try:
            with self._pool.connection() as connection:
                yield connection
        except PostgresError as error:
            what = "cannot be reached" if is_postgres_unavailable(error) else "does not have these tables for us"
            raise InvalidInput(f"the database {what}: {error}") from error

    def _find(self, connection: Connection, table: str) -> int:
        row = connection.execute(_FIND, (table, table)).fetchone()
        if row is None or row[0] is None:
            raise InvalidInput(f"the database has no table {table!r}, or it is not in the search path")
        return int(row[0])

    def _find_relations(self, connection: Connection) -> set[int]:
        """Return what a query may lock; in a transaction of its own, whose locks are gone by then."""
        found = [self._find(connection, table) for table in self._tables]
        return {int(oid) for (oid,) in connection.execute(_RELATED, (found,))}

    def _write(self, rows: list[str]) -> str:
        lines: list[str] = []
        length = 0
        for row in rows:
            length += len(row) + 1
            if len(lines) == self._max_rows or length > self._max_chars + 1:
                shown = len(lines)
                text = "\n".join(lines or [row])[: self._max_chars]
                what = f"{shown} rows are shown, and there are more" if shown else "The first row is too long"
                return f"{text}\n({what}. Ask for less: LIMIT, WHERE, count(*), substr(), fewer columns.)"
            lines.append(row)
        return "\n".join(lines) or "(There are no rows.)"
