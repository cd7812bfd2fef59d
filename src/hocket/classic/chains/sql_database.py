"""A database that a model may ask, and only read."""

from collections.abc import Iterable
from typing import Protocol, Self

from hocket._databases.sqlite_reader import SQLiteReader
from hocket._databases.urls import parse_address
from hocket._secrets import redact_url
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["SQLDatabase"]


class _Reader(Protocol):
    """What answers queries of one kind of database."""

    dialect: str

    def query(self, query: str) -> str: ...

    def read_schema(self) -> Iterable[str]: ...


class SQLDatabase:
    """Tables of an SQLite or PostgreSQL database, to be read by queries that somebody else has written.

    A query is one ``SELECT``. It cannot write, attach another file, read a table that was not named, or run for long:
    SQLite opens the file read-only and is asked for each thing that the query would do; PostgreSQL runs it in a
    transaction that is read-only and has a ``statement_timeout``, and takes only functions that are known to be harmless.
    A view may be read if the tables behind it are named, too.

    Args:
        url: ``sqlite:///relative/path``, ``sqlite:////absolute/path``, or ``postgresql://...``. A user of the database
            who may read these tables alone is a further lock.
        include_tables: names of the tables; in PostgreSQL with their schemas, unless these are in its search path.
        max_rows: rows of an answer at most.
        max_chars: characters of an answer at most.
        max_seconds: that a query may take.

    Raises:
        InvalidInput: ``url`` is none of these, no table is named, or a limit is not above 0.
        MissingDependency: PostgreSQL needs ``pip install 'hocket[postgres]'``.
    """

    def __init__(
        self,
        url: str,
        include_tables: Iterable[str],
        *,
        max_rows: int = 50,
        max_chars: int = 10_000,
        max_seconds: float = 5.0,
    ) -> None:
        tables = [include_tables] if isinstance(include_tables, str) else [*include_tables]
        if not tables:
            raise InvalidInput("no table is named; include_tables=[...] says which ones may be read")
        reader: _Reader
        kind, _ = parse_address(url, "a database")
        if kind == "sqlite":
            reader = SQLiteReader(url, tables, max_rows=max_rows, max_chars=max_chars, max_seconds=max_seconds)
        elif kind != "postgres":
            raise InvalidInput(
                f"{excerpt(redact_url(url))} is no database with tables; write sqlite:///... or postgresql://..."
            )
        else:
            from hocket._databases.postgres_reader import PostgresReader

            reader = PostgresReader(url, tables, max_rows=max_rows, max_chars=max_chars, max_seconds=max_seconds)
        self.tables: list[str] = tables
        self.max_rows: int = max_rows
        self._reader = reader

    @classmethod
    def from_uri(cls, database_uri: str, include_tables: Iterable[str]) -> Self:
        """Return a database with the usual limits: LangChain's way to make one."""
        return cls(database_uri, include_tables)

    @property
    def dialect(self) -> str:
        """Which SQL it speaks: ``SQLite`` or ``PostgreSQL``."""
        return self._reader.dialect

    def get_table_info(self) -> str:
        """Return the statements that made the tables, for a model. Waits for the database.

        Raises:
            InvalidInput: it cannot be read, or has none of the tables.
        """
        info = "\n".join(self._reader.read_schema())
        if not info:
            raise InvalidInput(f"the database has none of the tables {', '.join(self.tables)}")
        return info

    def run(self, query: str) -> str:
        """Return the answer to one query, as lines of JSON. Waits for the database.

        Raises:
            InvalidInput: it is refused, or wrong; the text says why.
        """
        return self._reader.query(query)
