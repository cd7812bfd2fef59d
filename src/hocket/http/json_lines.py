"""The parser of JSON lines (``application/x-ndjson``). It does no I/O."""

from hocket.http.block_splitter import BlockSplitter
from hocket.http.json_size import MAX_REPLY

__all__ = ["JSONLines"]

JSON_BLANK = b" \t\r"  # what JSON ignores, the line end excepted


class JSONLines:
    """A parser of JSON lines (``application/x-ndjson``): one document a line, ended by LF or CRLF; blank lines are ignored.

    Args:
        max_line: the limit on the size of one line, in bytes.
    """

    def __init__(self, max_line: int = MAX_REPLY) -> None:
        self._lines = BlockSplitter(b"\n", max_line, "line of the reply", "max_line")

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in ``data``, the next piece of the body, without the blanks around them.

        Raises:
            InvalidReply: a line is larger than ``max_line``. The stream cannot be read further.
        """
        return [line for raw in self._lines.feed(data) if (line := raw.strip(JSON_BLANK))]

    def close(self) -> list[bytes]:
        """Return the last line, where the body has ended without a line end."""
        return self.feed(b"\n")
