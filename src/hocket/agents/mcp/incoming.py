"""What comes from a server, before the SDK has it: bounded messages, and of them answers alone.

The SDK puts a message together piece by piece, however large it gets. A line without an end took all memory, and each piece
of it as long as all before. Of HTTP a limit can stand where a response begins. Of a process the one place is the encoding,
whose name the SDK takes: it gives whole lines, and in place of one that is too large the notification `_TOO_LARGE`.

The SDK takes whatever is sent, starts a task for each message, and notices the end of a server in the next call. Here only
answers go on to it. Notifications are dropped, for nothing listens to them. What a server asks is answered at once, one by
one: while a server does not read the answers, nothing more is read of it, so that what it asks cannot pile up. And the end
is told at once: a call that is made after that was not sent, and may be sent by another connection.
"""

import codecs
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Protocol, cast

import anyio
import httpx2
from anyio.abc import ObjectReceiveStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp.types import (
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from hocket.messages.content import Fields

__all__ = ["BOUNDED_UTF8", "BROKEN", "LARGEST_MESSAGE", "bound_response", "watch"]

BOUNDED_UTF8 = "hocket_bounded_utf8"
"""The name of the encoding."""

LARGEST_MESSAGE = 64 * 2**20
"""Bytes of a message, which holds a whole result, pictures and all."""

MOST_VALUES = 1_000_000
"""Texts, commas and opening brackets in a message: as Python's objects they take up to fifty times the room."""

_TOO_LARGE = "notifications/hocket/too_large"
_WHY_TOO_LARGE = f"a message of more than {LARGEST_MESSAGE // 2**20} MiB, or {MOST_VALUES:,} values"
_NOTICE = json.dumps({"jsonrpc": "2.0", "method": _TOO_LARGE}) + "\n"
_VALUE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class _MessageGate:
    """Holds bytes back until a message is whole. Without ``ends`` that is the last byte."""

    def __init__(self, *ends: bytes) -> None:
        self._ends = ends
        self._held = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """Take some bytes, and return the messages that are whole. Raises ValueError: one is too large."""
        start = max(0, len(self._held) - 3)
        self._held += chunk
        cut = max((place + len(end) for end in self._ends if (place := self._held.rfind(end, start)) >= 0), default=0)
        whole = self._take(cut)
        if len(self._held) > LARGEST_MESSAGE:
            raise ValueError(f"it sent {_WHY_TOO_LARGE}")
        return whole

    def finish(self) -> bytes:
        """Return what is left; it raises as `feed`."""
        return self._take(len(self._held))

    def _take(self, cut: int) -> bytes:
        whole = bytes(self._held[:cut])
        del self._held[:cut]
        if _has_many_values(whole):
            raise ValueError(f"it sent {_WHY_TOO_LARGE}")
        return whole


def _has_many_values(message: bytes) -> bool:
    """Whether a message has too many values; what is in its texts is none."""
    if len(message) <= MOST_VALUES or sum(map(message.count, (b",", b"[", b"{", b'"'))) <= MOST_VALUES:
        return False
    return sum(1 for _ in islice(_VALUE.finditer(message), MOST_VALUES + 1)) > MOST_VALUES


class _Decoder(codecs.IncrementalDecoder):
    """Gives what it has decoded at the end of each line."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._gate = _MessageGate(b"\n")

    def decode(self, input: object, final: bool = False) -> str:
        try:
            return self._gate.feed(cast(bytes, input)).decode("utf-8", "replace")
        except ValueError:
            self._gate = _MessageGate(b"\n")
            return _NOTICE


def _find(name: str) -> codecs.CodecInfo | None:
    if name != BOUNDED_UTF8:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, incrementaldecoder=_Decoder, name=BOUNDED_UTF8)


codecs.register(_find)


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of a response, message by message."""

    def __init__(self, stream: httpx2.AsyncByteStream, is_events: bool) -> None:
        self._stream = stream
        self._gate = _MessageGate(*(_EVENT_ENDS if is_events else ()))
        self._error = httpx2.SSEError if is_events else httpx2.StreamError

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield self._gate.feed(chunk)
            yield self._gate.finish()
        except ValueError as error:
            raise self._error(str(error)) from None

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound_response(response: httpx2.Response) -> None:
    """Have a response of HTTP give bounded messages; a hook of the client's. A compressed one, which was not
    asked for, is refused: nobody knows how large it is.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("it sent a compressed answer, which was not asked for")
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    response.stream = _BoundedStream(cast(httpx2.AsyncByteStream, response.stream), is_events)


BROKEN = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What a stream raises from which nothing more comes, or to which nothing goes."""


class _Readable(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Writable(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class _Incoming(ObjectReceiveStream[SessionMessage]):
    """The stream of a transport that the SDK reads answers from. See `watch`."""

    def __init__(
        self,
        readable: _Readable,
        writable: _Writable,
        on_end: Callable[[str], None],
        on_unreadable: Callable[[], None],
        on_tools: Callable[[Fields], None],
    ) -> None:
        self._readable, self._writable = readable, writable
        self._on_end, self._on_unreadable, self._on_tools = on_end, on_unreadable, on_tools

    async def receive(self) -> SessionMessage:
        """Return the next answer."""
        try:
            while True:
                received = await self._readable.receive()
                if isinstance(received, Exception):
                    self._on_unreadable()
                    continue
                match received.message:
                    case JSONRPCResponse(result={"tools": list()} as listed):
                        self._on_tools(listed)
                        return received
                    case JSONRPCResponse() | JSONRPCError():
                        return received
                    case JSONRPCRequest() as request:
                        await self._writable.send(SessionMessage(_answer(request)))
                    case JSONRPCNotification(method=method):
                        if method == _TOO_LARGE:
                            self._on_end(f"sent {_WHY_TOO_LARGE}, and was left")
                            raise anyio.EndOfStream
        except BROKEN:
            self._on_end("")
            raise

    async def aclose(self) -> None:
        await self._readable.aclose()


def _answer(request: JSONRPCRequest) -> JSONRPCResponse | JSONRPCError:
    if request.method == "ping":
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result={})
    error = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=error)


@asynccontextmanager
async def watch(
    transport: Transport,
    on_end: Callable[[str], None],
    on_unreadable: Callable[[], None],
    on_tools: Callable[[Fields], None],
) -> AsyncGenerator[tuple[_Incoming, object]]:
    """Enter a transport, and give its streams, of which the incoming one gives answers alone.

    ``on_end`` is called when nothing more comes, with the reason ("": the server has gone), ``on_unreadable`` for a
    message that cannot be read, and may have been an answer, ``on_tools`` with a list of tools, which it may change.
    """
    async with transport as (readable, writable):
        yield _Incoming(readable, writable, on_end, on_unreadable, on_tools), writable
