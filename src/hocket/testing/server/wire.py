"""HTTP/1.1 as a test server needs it: requests read from bytes, and answers down to the single byte.

It is done by hand because a proper HTTP library would refuse to do what tests are for: to stop at byte 120 of a body
whose length was announced as 500. What a request says is trusted; who sends it is the code under test.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from pydantic_core import from_json

from hocket.errors import InvalidInput

__all__ = ["Bill", "End", "ReceivedRequest", "RequestParser", "Step", "Wait", "WireAnswer", "chunk", "head"]

End = Literal["end", "eof", "reset", "stall"]
"""How an answer ends: properly; the connection closed, in peace or by a reset; or never, with the connection open."""


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the server has read, whole.

    Attributes:
        method: ``POST``, ``GET``.
        path: without the query.
        query: what followed the question mark.
        headers: names in lower case.
        body: as it came, out of its chunks.
        connection: the number of the connection that it came on, from 1; requests that share one were kept alive.
        at: the time by hocket's clock, in seconds, when it was answered.
        serial: what no other request of the server has: ``1``, ``2``; of a row of the batch that came third, ``3-0``.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    connection: int = 0
    at: float = 0.0
    serial: str = ""

    @property
    def json(self) -> Any:
        """The body, read as JSON; None where there is none.

        Raises:
            ValueError: it is not JSON.
        """
        return from_json(self.body) if self.body else None


@dataclass(frozen=True)
class Wait:
    """A step of an answer: ``seconds`` in which nothing is sent; infinite: nothing more, ever."""

    seconds: float


@dataclass(frozen=True)
class Bill:
    """A step of an answer: these tokens are charged now."""

    tokens: int


Step = bytes | Wait | Bill
"""A step of an answer: bytes to send, a pause, or tokens that are charged."""


@dataclass(frozen=True)
class WireAnswer:
    """An answer, step by step.

    Attributes:
        status: of the reply; 0: the connection is closed without a reply.
        headers: besides those that frame the body, or over them.
        steps: the body, in the pieces in which it is to be written, and the pauses between them; perhaps without end.
        length: the ``content-length`` that is announced; None: the body is sent in chunks, one for each piece.
        delay: seconds of silence before the first byte.
        then: what follows the last step.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    steps: Iterable[Step] = ()
    length: int | None = None
    delay: float = 0
    then: End = "end"


class RequestParser:
    """A parser of the bytes of one connection: requests may come in any pieces, and several in one."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: ReceivedRequest | None = None
        self._body = bytearray()

    def feed(self, data: bytes) -> list[ReceivedRequest]:
        """Return the requests that are whole with ``data``.

        Raises:
            ValueError: this is not HTTP.
        """
        self._buffer += data
        requests: list[ReceivedRequest] = []
        while (request := self._next()) is not None:
            requests.append(request)
        return requests

    def _next(self) -> ReceivedRequest | None:
        if self._head is None:
            lines = self._take_to(b"\r\n\r\n")
            if lines is None:
                return None
            self._head = _parse_head(lines)

        headers = self._head.headers
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = self._chunked_body()
        else:
            body = self._take(int(headers.get("content-length", "0")))
        if body is None:
            return None
        request, self._head = self._head, None
        return ReceivedRequest(request.method, request.path, request.query, request.headers, body)

    def _chunked_body(self) -> bytes | None:
        while b"\r\n" in self._buffer:
            line, _, _ = self._buffer.partition(b"\r\n")
            size = int(line.split(b";")[0], 16)
            piece = self._take(len(line) + 2 + size + 2)
            if piece is None:
                return None
            self._body += piece[len(line) + 2 : -2]
            if size == 0:
                body, self._body = bytes(self._body), bytearray()
                return body
        return None

    def _take_to(self, end: bytes) -> bytes | None:
        place = self._buffer.find(end)
        return None if place < 0 else self._take(place + len(end))

    def _take(self, size: int) -> bytes | None:
        if len(self._buffer) < size:
            return None
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken


def _parse_head(lines: bytes) -> ReceivedRequest:
    first, *rest = lines.decode("latin-1").strip().split("\r\n")
    try:
        method, target, version = first.split(" ")
    except ValueError:
        method = target = version = ""
    if version != "HTTP/1.1":
        raise InvalidInput(f"a request of HTTP/1.1 was expected, not {first[:80]!r}")
    path, _, query = target.partition("?")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    return ReceivedRequest(method, path, query, headers, b"")


def head(answer: WireAnswer) -> bytes:
    """Return the status line and the headers. A header of the answer goes over the one that frames the body."""
    framing = {"transfer-encoding": "chunked"} if answer.length is None else {"content-length": str(answer.length)}
    try:
        reason = HTTPStatus(answer.status).phrase
    except ValueError:
        reason = "Unknown"
    headers = framing | {name.lower(): value for name, value in answer.headers.items()}
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    return f"HTTP/1.1 {answer.status} {reason}\r\n{''.join(lines)}\r\n".encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Return a piece of a chunked body; an empty one is its end."""
    return b"%x\r\n%b\r\n" % (len(data), data)
