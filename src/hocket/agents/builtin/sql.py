"""One query of an SQLite database, which can only be read (`hocket._databases.sqlite_reader`), as a tool."""

from hocket._databases.sqlite_reader import SQLiteReader
from hocket.errors import InvalidInput, ToolException
from hocket.errors.hints import excerpt
from hocket.tools import BaseTool, StructuredTool

__all__ = ["sql_tool"]


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
    rows. What SQLite refuses is an error text for the model. Each call opens the file again, in a worker thread under
    async verbs; no file is opened before the first call.

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
        InvalidInput: ``url`` names no file of SQLite, or a limit is not above 0; with ``include_schema`` also a file that
            SQLite cannot read.
    """
    reader = SQLiteReader(url, max_rows=max_rows, max_chars=max_chars, max_seconds=max_seconds)

    def answer(query: str) -> str:
        try:
            return reader.query(query)
        except InvalidInput as error:
            raise ToolException(str(error)) from error

    if description is None:
        description = (
            "Query an SQLite database that can only be read. Takes one SELECT statement. Answers with lines of JSON: the "
            f"names of the columns, then at most {max_rows} rows."
        )
        if not include_schema:
            description += " The tables are listed by: SELECT sql FROM sqlite_master"
    if include_schema:
        try:
            description += "\nThe tables:\n" + "\n".join(reader.read_schema())
        except InvalidInput as error:
            raise InvalidInput(f"the schema of {excerpt(url)} cannot be read: {error}") from error
    return StructuredTool.from_function(answer, name=name, description=description, handle_tool_error=True)
