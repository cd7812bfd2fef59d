"""Where one event of a stream ends and the next begins: parsers of bytes that do no I/O.

They work on bytes and not on text because text is cut in too many places: ``str.splitlines``, and with it the line
readers of HTTP clients, also splits at U+2028, U+2029, U+0085, VT and FF, which may stand inside a JSON string. Bytes
need no decoder that remembers half of a character either, and JSON is parsed from them directly.

However the body is cut into pieces, the same events come out, each with the piece that ends it, and the cost is linear
in the size of the body.
"""

from typing import NamedTuple

from hocket.errors import InvalidReply

__all__ = ["JSONLines", "ServerSentEvent", "ServerSentEvents"]

# An event may carry an image, so it may be large; it is held in memory, so there is an end to it.
MAX_EVENT = 64 * 2**20

BOM = b"\xef\xbb\xbf"
SIMPLE = b"data: "  # all that most events have besides their data
JSON_BLANK = b" \t\r"  # what JSON ignores, the line end excepted


class ServerSentEvent(NamedTuple):
    """One event.

    Attributes:
        event: its name; "" where it has none.
        data: its ``data`` lines, joined with LF; never empty.
        id: the last id that was sent, with this event or before it; None: none so far.
    """

    event: str
    data: bytes
    id: str | None


class ServerSentEvents:
    """A parser of ``text/event-stream``, by the rules of the WHATWG HTML standard (9.2.6, interpreting an event stream).

    Two departures, as there is nobody to reconnect or to read nothing: ``retry`` is ignored, and so is an event whose
    data is empty. An event that the stream leaves unterminated is dropped, as the standard says.

    Args:
        max_event: the limit on the size of one event, field names and comments included, in bytes.
    """

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._blocks = _Cutter(b"\n\n", max_event, "event of the stream", "max_event")
        self._after_cr = False
        self._id: str | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that end in ``data``, the next piece of the body.

        Raises:
            InvalidReply: an event is larger than ``max_event``. The stream cannot be read further.
        """
        if self._after_cr or b"\r" in data:
            data = self._with_lf(data)
        events: list[ServerSentEvent] = []
        for block in self._blocks.feed(data):
            # One line of data and nothing else: half the time of the general way.
            if block[:6] == SIMPLE and b"\n" not in block:
                event = ServerSentEvent("", block[6:], self._id)
            else:
                event = self._parse(block)
            if event.data:
                events.append(event)
        return events

    def _with_lf(self, data: bytes) -> bytes:
        """Return ``data`` with every line end as LF. A CR at its end is one already; the LF of a CRLF may yet follow."""
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _parse(self, block: bytes) -> ServerSentEvent:
        name = b""
        data: list[bytes] = []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")  # a comment is a field without a name
            if value[:1] == b" ":
                value = value[1:]
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value
            elif field == b"id" and b"\0" not in value:
                self._id = value.decode(errors="replace")
        return ServerSentEvent(name.decode(errors="replace"), b"\n".join(data), self._id)


class JSONLines:
    """A parser of JSON lines (``application/x-ndjson``): one document a line, ended by LF or CRLF; blank lines are ignored.

    Args:
        max_line: the limit on the size of one line, in bytes.
    """

    def __init__(self, max_line: int = MAX_EVENT) -> None:
        self._lines = _Cutter(b"\n", max_line, "line of the reply", "max_line")

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in ``data``, the next piece of the body, without the blanks around them.

        Raises:
            InvalidReply: a line is larger than ``max_line``. The stream cannot be read further.
        """
        return [line for raw in self._lines.feed(data) if (line := raw.strip(JSON_BLANK))]

    def close(self) -> list[bytes]:
        """Return the last line, where the body has ended without a line end."""
        return self.feed(b"\n")


class _Cutter:
    """Cuts a body at ``separator`` (LF, once or twice), and strips the byte order mark that it may begin with.

    What has no end yet is kept in one growing buffer, and only what is new is searched, so that an event in ten thousand
    pieces costs no more than in one.
    """

    def __init__(self, separator: bytes, limit: int, what: str, option: str) -> None:
        self._separator = separator
        self._begun = separator[:-1]
        self._limit = limit
        self._what, self._option = what, option
        self._rest = bytearray()
        self._fresh = True

    def feed(self, data: bytes) -> list[bytes]:
        rest = self._rest
        if self._separator not in (rest[-1:] + data if rest else data):
            rest += data
            if len(rest) > self._limit:
                self._check(rest.removesuffix(self._begun))
            return []

        whole = bytes(rest) + data if rest else data
        blocks = whole.split(self._separator)
        last = blocks.pop()
        if rest or last:
            self._rest = bytearray(last)
        if len(whole) > self._limit:
            for block in (*blocks, last.removesuffix(self._begun)):
                self._check(block)
        if self._fresh:
            self._fresh = False
            blocks[0] = blocks[0].removeprefix(BOM)
        return blocks

    def _check(self, block: bytes | bytearray) -> None:
        if len(block) > self._limit:
            raise InvalidReply(
                f"one {self._what} is larger than the limit of {self._limit} bytes; "
                f"raise `{self._option}` if events of this size are meant"
            )
