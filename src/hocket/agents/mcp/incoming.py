"""What comes from a server, before the SDK has it.

The SDK takes whatever is sent, starts a task for each message, and notices the end of a server in the next call. Here only
answers go on to it. Notifications are dropped, for nothing listens to them. What a server asks is answered at once, one by
one: while a server does not read the answers, nothing more is read of it, so that what it asks cannot pile up. And the end
is told at once: a call that is made after that was not sent, and may be sent by another connection.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

import anyio
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

from hocket.agents.mcp.bounds import TOO_LARGE, WHY_TOO_LARGE

__all__ = ["Incoming", "watch"]

_BROKEN = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)


class _Readable(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Writable(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class Incoming:
    """The stream of a transport that the SDK reads answers from.

    Args:
        readable: of the transport.
        writable: of the transport.
        on_end: called when nothing more comes, with the reason; "": the server has gone.
        on_unreadable: called for a message that cannot be read: it may have been an answer.
    """

    def __init__(
        self, readable: _Readable, writable: _Writable, on_end: Callable[[str], None], on_unreadable: Callable[[], None]
    ) -> None:
        self._readable, self._writable = readable, writable
        self._on_end, self._on_unreadable = on_end, on_unreadable

    async def receive(self) -> SessionMessage:
        """Return the next answer."""
        try:
            while True:
                received = await self._readable.receive()
                if isinstance(received, Exception):
                    self._on_unreadable()
                    continue
                match received.message:
                    case JSONRPCResponse() | JSONRPCError():
                        return received
                    case JSONRPCRequest() as request:
                        await self._writable.send(SessionMessage(_answer(request)))
                    case JSONRPCNotification(method=method):
                        if method == TOO_LARGE:
                            self._on_end(f"sent {WHY_TOO_LARGE}, and was left")
                            raise anyio.EndOfStream
        except _BROKEN:
            self._on_end("")
            raise

    async def aclose(self) -> None:
        await self._readable.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _answer(request: JSONRPCRequest) -> JSONRPCResponse | JSONRPCError:
    if request.method == "ping":
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result={})
    error = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=error)


@asynccontextmanager
async def watch(
    transport: Transport, on_end: Callable[[str], None], on_unreadable: Callable[[], None]
) -> AsyncGenerator[tuple[Incoming, object]]:
    """Enter a transport, and give its streams, of which the incoming one is watched, as `Incoming` has it."""
    async with transport as (readable, writable):
        yield Incoming(readable, writable, on_end, on_unreadable), writable
