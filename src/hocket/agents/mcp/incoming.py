"""What comes from a server, before the SDK has it.

The SDK notices the end of a server in the next call, and not before. A connection has to know it earlier: a call that is
made when the server has gone was not sent, so that another connection may send it; one that was under way may have done
what it does.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage

__all__ = ["Incoming", "watch"]


class _Stream(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class Incoming:
    """The stream of a transport that the SDK reads from, watched.

    Args:
        stream: of the transport.
        on_end: called when it has ended.
    """

    def __init__(self, stream: _Stream, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
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


@asynccontextmanager
async def watch(transport: Transport, on_end: Callable[[], None]) -> AsyncGenerator[tuple[Incoming, object]]:
    """Enter a transport, and give its streams, of which the incoming one is watched."""
    async with transport as (incoming, outgoing):
        yield Incoming(incoming, on_end), outgoing
