"""The parser of server-sent events (``text/event-stream``). It does no I/O."""

from typing import NamedTuple

from hocket.http.block_splitter import BlockSplitter
from hocket.http.json_size import MAX_REPLY

__all__ = ["ServerSentEvent", "ServerSentEvents"]

SIMPLE = b"data: "  # all that most events have besides their data
NAMED = b"event: "  # the line before it, where an event has a name


class ServerSentEvent(NamedTuple):
    """One event.

    Attributes:
        event: its name, from its ``event`` line; "" where it has none.
        data: its ``data`` lines, joined with LF; never empty.
        id: the last id that was sent, with this event or before it; None: none so far.
    """

    event: str
    data: bytes
    id: str | None


class ServerSentEvents:
    """A parser of ``text/event-stream``, by the rules of the WHATWG HTML standard (9.2.6, interpreting an event stream).

    Two departures, as hocket never reconnects and has no use for empty events: ``retry`` is ignored, and so is an event
    whose data is empty. An event that the stream leaves unterminated is dropped, as the standard says.

    Args:
        max_event: the limit on the size of one event, field names and comments included, in bytes.
    """

    def __init__(self, max_event: int = MAX_REPLY) -> None:
        self._blocks = BlockSplitter(b"\n\n", max_event, "event of the stream", "max_event")
        self._after_cr = False
        self._id: str | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that end in ``data``, the next piece of the body.

        Raises:
            InvalidReply: an event is larger than ``max_event``. The stream cannot be read further.
        """
        if self._after_cr or b"\r" in data:
            data = self._normalize_line_ends(data)
        events: list[ServerSentEvent] = []
        for block in self._blocks.feed(data):
            # One line of data, with or without a name, and nothing else: half the time of the general way.
            if block[:7] == NAMED:
                name, _, line = block[7:].partition(b"\n")
            else:
                name, line = b"", block
            if line[:6] == SIMPLE and b"\n" not in line:
                event = ServerSentEvent(name.decode(errors="replace"), line[6:], self._id)
            else:
                event = self._parse(block)
            if event.data:
                events.append(event)
        return events

    def _normalize_line_ends(self, data: bytes) -> bytes:
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
