"""One query of an SQLite database, which can only be read.

Three locks, each of which would do: the file is opened read-only; SQLite asks, for each thing that a statement would do,
whether it may, and only reading is allowed; and a call takes one statement. What a query may cost is limited as well:
time, rows, characters, and the length of texts and patterns on the way.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from urllib.parse import quote

from hocket._databases.urls import check_path, parse_address
from hocket._secrets import redact_url
from hocket.errors import InvalidInput, ToolException
from hocket.errors.hints import excerpt
from hocket.tools import BaseTool, StructuredTool

__all__ = ["sql_tool"]

_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FORBIDDEN = ("load_extension", "fts3_tokenizer")  # they load, or run, code at an address
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 250_000,  # bytes of a text on the way: instr() takes its square, and cannot be stopped
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_STEPS = 50  # of SQLite's machine between two looks at the clock; each may be such a function
_SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"


def sql_tool(
    url: str,
    *,
    name: str = "sql",
    description: str | None = None,
    include_schema: bool = False,
    max_rows: int = 50,
    max_chars: int = 10_000,
    max_seconds: float = 5.0,
) -> BaseTool:
    """Return a tool that answers a query of an SQLite database, and cannot change it.

    It takes one ``SELECT`` statement, ``query``, and answers with lines of JSON: the names of the columns, then the
    rows. What SQLite refuses is an error text for the model. Each call opens the file anew, in a worker thread under
    async verbs; before, nothing is opened.

    Args:
        url: ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; the file is never made.
        name: of the tool.
        description: for the model; default: what the tool takes and answers.
        include_schema: whether the description goes on with the statements that made the tables. They are read now, in
            this thread.
        max_rows: rows of an answer at most; the model is told if there are more.
        max_chars: characters of an answer at most, but for that note.
        max_seconds: that a query may take.

    Raises:
        InvalidInput: ``url`` is none of a file, or a limit is not above 0; with ``include_schema`` also a file that
            SQLite cannot read.
    """
    for limit, value in (("max_rows", max_rows), ("max_chars", max_chars), ("max_seconds", max_seconds)):
        if not value > 0:
            raise InvalidInput(f"{limit} is {value!r}; it must be above 0")
    database = _Database(_make_uri(url), max_rows, max_chars, max_seconds)
    if description is None:
        description = (
            "Query an SQLite database that can only be read. Takes one SELECT statement. Answers with lines of JSON: the "
            f"names of the columns, then at most {max_rows} rows."
        )
        if not include_schema:
            description += " The tables are listed by: SELECT sql FROM sqlite_master"
    if include_schema:
        try:
            description += "\nThe tables:\n" + "\n".join(database.read_schema())
        except ToolException as error:
            raise InvalidInput(f"the schema of {excerpt(url)} cannot be read: {error}") from error
    return StructuredTool.from_function(database.query, name=name, description=description, handle_tool_error=True)


def _make_uri(url: str) -> str:
    kind, place = parse_address(url, "an SQLite database")
    if kind != "sqlite" or place == ":memory:":
        raise InvalidInput(
            f"{excerpt(redact_url(url))} is no file of SQLite; write sqlite:///path, or sqlite:////absolute/path"
        )
    return f"file:{quote(check_path(place, 'the path in url'))}?mode=ro"


class _Database:
    """A file, and what a query of it may cost."""

    def __init__(self, uri: str, max_rows: int, max_chars: int, max_seconds: float) -> None:
        self._uri = uri
        self._max_rows = max_rows
        self._max_chars = max_chars
        self._max_seconds = max_seconds

    def query(self, query: str) -> str:
        """Return the answer to one statement."""
        try:
            with closing(self._connect()) as connection:
                cursor = connection.execute(query)
                if cursor.description is None:
                    raise ToolException("The query reads nothing. Only one SELECT statement is taken.")
                columns = [name for name, *_ in cursor.description]
                return self._write(columns, iter(cursor))
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # ValueError: a NUL or half a character in it
            raise ToolException(self._explain(error)) from error

    def read_schema(self) -> Iterator[str]:
        """Yield the statements that made the tables."""
        try:
            with closing(self._connect()) as connection:
                for (statement,) in connection.execute(_SCHEMA):
                    yield statement
        except sqlite3.Error as error:
            raise ToolException(self._explain(error)) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._uri, uri=True, timeout=self._max_seconds, isolation_level=None)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.text_factory = _read_text
        connection.set_progress_handler(_make_alarm(self._max_seconds), _STEPS)
        connection.set_authorizer(_authorize)
        return connection

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
            return f"Not allowed: {text}. Only one SELECT statement is taken; the database can only be read."
        return f"The query failed: {text}"


def _authorize(action: int, _: str | None, function: str | None, *where: object) -> int:
    is_allowed = action in _READING and not (action == sqlite3.SQLITE_FUNCTION and function in _FORBIDDEN)
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _make_alarm(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _read_text(data: bytes) -> str:
    return data.decode(errors="replace")


def _write_row(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, default=lambda blob: f"<{len(blob)} bytes>")
