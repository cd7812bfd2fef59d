"""Queries of an SQLite database that can only be read, also where a model has written them.

Three locks, each of which would do: the file is opened read-only; SQLite asks, for each thing that a statement would do,
whether it may, and only reading is allowed; and a call takes one statement. What a query may cost is limited as well:
time, rows, characters, and the length of texts and patterns on the way.

Where tables are named, only these may be read. Of a view SQLite asks about the tables behind it, too; that it asks on
behalf of the view is no use, since a query may give any part of itself the name of a view. So they have to be named.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from urllib.parse import quote

from hocket._databases.urls import check_path, parse_address
from hocket._runtime.fork import fork_barrier
from hocket._secrets import redact_url
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["SQLiteReader", "check_limits"]

_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FORBIDDEN = ("load_extension", "fts3_tokenizer")  # they load, or run, code at an address
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 250_000,  # bytes of a text on the way: instr() takes its square, and cannot be stopped
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_STEPS = 50  # of SQLite's machine between two looks at the clock; each may be such a function
_SCHEMA = """
SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid
"""


class SQLiteReader:
    """A file, and what a query of it may cost. Each query opens it again; before, nothing is opened.

    Args:
        url: ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; the file is never made.
        tables: which may be read, in any case; None: all of them, and SQLite's own.
        max_rows: rows of an answer at most; the reader of the answer is told if there are more.
        max_chars: characters of an answer at most, but for that note.
        max_seconds: that a query may take.

    Raises:
        InvalidInput: ``url`` is none of a file, or a limit is not above 0.
    """

    dialect = "SQLite"

    def __init__(
        self,
        url: str,
        tables: Iterable[str] | None = None,
        *,
        max_rows: int = 50,
        max_chars: int = 10_000,
        max_seconds: float = 5.0,
    ) -> None:
        check_limits(max_rows=max_rows, max_chars=max_chars, max_seconds=max_seconds)
        self._uri = _make_uri(url)
        self._tables = None if tables is None else frozenset(table.casefold() for table in tables)
        self._max_rows = max_rows
        self._max_chars = max_chars
        self._max_seconds = max_seconds

    def query(self, query: str) -> str:
        """Return the answer to one statement: lines of JSON, the names of the columns and then the rows.

        Raises:
            InvalidInput: SQLite refuses it; the text says what may be done instead.
        """
        try:
            with fork_barrier(), closing(self._connect()) as connection:
                self._limit_tables(connection)
                cursor = connection.execute(query)
                if cursor.description is None:
                    raise InvalidInput("The query reads nothing. Only one SELECT statement is taken.")
                columns = [name for name, *_ in cursor.description]
                return self._write(columns, iter(cursor))
        except InvalidInput:
            raise
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # ValueError: a NUL or half a character in it
            raise InvalidInput(self._explain(error)) from error

    def read_schema(self) -> Iterator[str]:
        """Yield the statements that made the tables which may be read, and their indexes.

        Raises:
            InvalidInput: the file cannot be read.
        """
        try:
            with fork_barrier(), closing(self._connect()) as connection:
                for table, statement in connection.execute(_SCHEMA):
                    if self._tables is None or table.casefold() in self._tables:
                        yield statement
        except sqlite3.Error as error:
            raise InvalidInput(self._explain(error)) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._uri, uri=True, timeout=self._max_seconds, isolation_level=None)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.text_factory = _read_text
        connection.set_progress_handler(_make_alarm(self._max_seconds), _STEPS)
        connection.set_authorizer(_authorize)
        return connection

    def _limit_tables(self, connection: sqlite3.Connection) -> None:
        """Let queries of a connection read the named tables alone.

        A part of a query that has a name of its own (``WITH x AS``), and of which no column is read, looks like a table of
        which none is. So such a name is let pass if there is no table of that name, as of now and until the end.
        """
        if self._tables is None:
            return
        connection.set_authorizer(None)
        connection.execute("BEGIN")
        existing = {name.casefold() for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        tables = self._tables

        def authorize(action: int, table: str | None, column: str | None, *where: str | None) -> int:
            name = (table or "").casefold()
            if action == sqlite3.SQLITE_READ and name not in tables:
                is_part = not column and name not in existing and not name.startswith("sqlite_")
                return sqlite3.SQLITE_OK if is_part else sqlite3.SQLITE_DENY
            return _authorize(action, table, column, *where)

        connection.set_authorizer(authorize)

    def _write(self, columns: list[str], rows: Iterator[tuple[object, ...]]) -> str:
        lines = [_write_row(columns)]
        length = len(lines[0])
        for row in rows:
            line = _write_row(row)
            length += 1 + len(line)
            if len(lines) > self._max_rows or length > self._max_chars:
                shown = len(lines) - 1
                text = "\n".join(lines if shown else [*lines, line])[: self._max_chars]
                what = f"{shown} rows are shown, and there are more" if shown else "The first row is too long"
                return f"{text}\n({what}. Ask for less: LIMIT, WHERE, count(*), substr(), fewer columns.)"
            lines.append(line)
        return "\n".join(lines)[: self._max_chars]

    def _explain(self, error: Exception) -> str:
        text = str(error).rstrip(".")
        if text == "interrupted":
            return f"The query took longer than {self._max_seconds:g} s. Ask for less, or use an index."
        if "authoriz" in text or "prohibited" in text or "one statement" in text:
            return f"Not allowed: {text}. Only one SELECT statement is taken; {self._describe_rights()}."
        return f"The query failed: {text}"

    def _describe_rights(self) -> str:
        if self._tables is None:
            return "the database can only be read"
        return f"only these tables can be read: {', '.join(sorted(self._tables))}"


def _authorize(action: int, _: str | None, function: str | None, *where: str | None) -> int:
    is_allowed = action in _READING and not (action == sqlite3.SQLITE_FUNCTION and function in _FORBIDDEN)
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _make_alarm(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _read_text(data: bytes) -> str:
    return data.decode(errors="replace")


def _write_row(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, default=lambda blob: f"<{len(blob)} bytes>")


def _make_uri(url: str) -> str:
    kind, place = parse_address(url, "an SQLite database")
    if kind != "sqlite" or place == ":memory:":
        raise InvalidInput(
            f"{excerpt(redact_url(url))} is no file of SQLite; write sqlite:///path, or sqlite:////absolute/path"
        )
    return f"file:{quote(check_path(place, 'the path in url'))}?mode=ro"


def check_limits(**limits: float) -> None:
    """Check that each limit is above 0.

    Raises:
        InvalidInput: one is not.
    """
    for limit, value in limits.items():
        if not value > 0:
            raise InvalidInput(f"{limit} is {value!r}; it must be above 0")
