"""The body of a reply that comes in pieces: the items of a stream, written as server-sent events.

The server notices that a client has left, and all that arrives here is a cancellation, or that nobody asks for more.
Neither is a failure of the model. So the stream is closed, as if its consumer had left on his own account,
and handlers hear of an end (``on_llm_end`` with ``closed=True``) and of no error.

While nothing comes, a comment does (``: ping``), which clients pass over: what stands between, and takes a connection for
dead that says nothing, lets it live.
"""

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from types import MappingProxyType
from typing import Generic, Protocol, Self, TypeVar, cast

import anyio

from hocket._runtime.stream import Sink, Stream
from hocket._secrets import redact
from hocket.errors import InvalidInput
from hocket.errors.hints import make_line, shorten

__all__ = [
    "PING_SECONDS",
    "SSE_HEADERS",
    "EventBody",
    "Snapshot",
    "Source",
    "Writer",
    "add_piece",
    "as_stream",
    "check_ping",
    "log_failure",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

PING_SECONDS = 15.0
"""Seconds of silence after which a comment is sent, so that proxies keep the connection."""

SSE_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",  # or nginx would collect it
}
"""The headers of a reply whose body is server-sent events."""

PING = b": ping\n\n"
EMPTY: Mapping[str, object] = MappingProxyType({})

_log = logging.getLogger("hocket.serving")


class Snapshot(bytes):
    """An event that replaces the one of its kind before it."""


class Writer(Protocol[T_contra]):
    """Writes the items of one stream as bytes. Nothing that it is given is ever sent twice."""

    def write(self, item: T_contra) -> bytes:
        """Return an item; nothing, if it says nothing to a client."""
        ...

    def end(self) -> bytes:
        """Return what says that this was all."""
        ...

    def fail(self, error: Exception) -> bytes:
        """Return what says that the stream broke off."""
        ...


class Source(Protocol[T_co]):
    """Where the items of a body come from: a `Stream`, or what can be waited for and left as that."""

    @property
    def has_next(self) -> bool:
        """Whether an item can be taken at once."""
        ...

    @property
    def was_left(self) -> bool:
        """Whether it was closed before its end."""
        ...

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the next item, or the end, without taking it; whether it has come."""
        ...

    async def __anext__(self) -> T_co:
        """Return the next item."""
        ...

    async def aclose(self) -> None:
        """Leave it."""
        ...


class EventBody(Generic[T]):
    """An async iterator over pieces of a body, for a ``StreamingResponse``, for example. It can be left at any point.

    An error of the stream is written, as its last event, and not raised; the logger "hocket.serving" has it.

    Attributes:
        headers: of the reply.
    """

    def __init__(
        self,
        source: AsyncIterable[T] | Source[T],
        writer: Writer[T],
        ping: float | None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        check_ping(ping)
        self._facts = EMPTY
        self.headers: dict[str, str] = {**SSE_HEADERS, **(headers or {})}
        is_source = hasattr(source, "was_left")
        self._source: Source[T] = (
            cast("Source[T]", source) if is_source else as_stream(cast("AsyncIterable[T]", source))
        )
        self._writer = writer
        self._ping = ping
        self._is_over = False
        self._first = b""
        self._broken: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        piece, self._first = self._first, b""
        try:
            while not piece and not self._is_over:
                piece = await self._take() if await self._source.wait(self._ping) else PING
        except BaseException:
            await self.aclose()
            raise
        if not piece:
            raise StopAsyncIteration
        return piece

    async def start(self, facts: Mapping[str, object] = EMPTY) -> None:
        """Wait for the first item, or until it is time for a ping: so long a failure can be told by a status.

        Args:
            facts: say in the log which request it is that fails.

        Raises:
            Exception: the stream has failed before its first item.
        """
        self._facts = facts
        try:
            is_there = await self._source.wait(self._ping)
            self._first = await self._write_next() if is_there else PING
        except BaseException:
            await self.aclose()
            raise

    async def _take(self) -> bytes:
        """Return all that is there, in one piece: each that is sent costs more than what is in it."""
        pieces: list[bytes] = []
        try:
            pieces.append(await self._write_next())
            while self._source.has_next:
                add_piece(pieces, await self._write_next())
        except Exception as error:
            await self.aclose()
            log_failure(error, self._facts)
            pieces.append(self._writer.fail(error))
        return b"".join(pieces)

    async def _write_next(self) -> bytes:
        """Return the next item, or the end."""
        try:
            item = await anext(self._source)
        except StopAsyncIteration:  # and not one that the writer raises
            self._is_over = True
            # What was left is not all, and there is nobody to tell.
            if self._broken is not None:
                return self._writer.fail(self._broken)
            return b"" if self._source.was_left else self._writer.end()
        return self._writer.write(item)

    async def break_off(self, error: Exception) -> None:
        """Leave the stream, and say so as its last event. From any task, while another takes the pieces."""
        self._broken = error
        await self._source.aclose()

    async def aclose(self) -> None:
        """Leave the stream: everything behind it has ended when this returns. Safe to call twice, from any task."""
        self._is_over = True
        await self._source.aclose()


def add_piece(pieces: list[bytes], piece: bytes) -> None:
    """Add what was written to what waits to be sent: a snapshot takes the place of the one before it."""
    if isinstance(piece, Snapshot) and pieces and isinstance(pieces[-1], Snapshot):
        pieces[-1] = piece
    else:
        pieces.append(piece)


def check_ping(ping: float | None) -> None:
    """Refuse what is no number of seconds.

    Raises:
        InvalidInput: it is neither None nor a number above 0.
    """
    if ping is not None and not (type(ping) in (int, float) and 0 < ping < math.inf):
        raise InvalidInput(f"ping is {ping!r}; it is a number of seconds above 0, or None for no pings")


def log_failure(error: Exception, facts: Mapping[str, object] = EMPTY) -> None:
    """Log what went wrong, whatever the client is told of it, in one line, without what looks like a key.

    ``facts`` says which request it was; they are the record's ``hocket``, and in its text.
    """
    text = shorten(make_line(redact(f"{type(error).__name__}: {error}")))
    told = ", ".join(f"{name}={value}" for name, value in facts.items())
    _log.error(
        "a request failed: %s%s", text, told and f" ({make_line(told)})", extra={"hocket": facts} if facts else None
    )


def as_stream(source: AsyncIterable[T]) -> Stream[T]:
    """Return a stream over any async iterable, which is closed with it.

    Raises:
        InvalidInput: it is none; a sync stream would block the event loop.
    """
    if isinstance(source, Stream):
        return source
    if not isinstance(source, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(
            f"{type(source).__name__} is no async iterable: pass what astream returns, such as model.astream(...)"
        )

    async def produce(sink: Sink[T]) -> None:
        items = aiter(source)
        try:
            async for item in items:
                if (waiting := sink.put(item)) is not None:
                    await waiting
        finally:
            if isinstance(items, AsyncGenerator):
                with anyio.CancelScope(shield=True):
                    await items.aclose()

    return Stream(produce)
