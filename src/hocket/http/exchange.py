"""A request and its reply, whole or as a stream.

Bodies are asked for as they are (``accept-encoding: identity``): a stream that is packed comes late, since whoever packs
it waits for more, and a model's answer is short. What comes packed all the same is unpacked.
"""

import sys
from collections.abc import Mapping
from typing import Any, Self

import anyio

from hocket._runtime.cancellation import is_cancelled
from hocket._version import __version__
from hocket.errors import InvalidReply, LLMError
from hocket.http.clients import ClientSettings, Reply, Sender, get_client
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.unpacking import unpacker

__all__ = ["MAX_BYTES", "HTTPStream", "open_stream", "send"]

MAX_BYTES = 64 * 2**20
"""Bytes that a reply may have unless told otherwise."""

DRAIN = 0.1
"""Seconds that the rest of a stream may take, so that its connection can be used again."""

DEFAULTS = {"user-agent": f"hocket/{__version__}", "accept-encoding": "identity"}


async def send(
    request: HTTPRequest, settings: ClientSettings, *, client: Any = None, max_bytes: int | None = MAX_BYTES
) -> HTTPReply:
    """Send a request and read its reply to the end. Whatever its status, it is a reply, redirects included.

    Args:
        request: sent once, never again.
        settings: which of the running loop's clients sends it.
        client: an ``httpx.AsyncClient`` or ``httpx2.AsyncClient`` that sends it instead, and stays open.
        max_bytes: of the body, unpacked; None: no limit.

    Raises:
        InvalidInput: this cannot be sent.
        ConnectTimeout: no connection in time.
        ConnectionFailed: no connection, or it broke.
        RequestTimeout: a time-out of ``client``'s own.
        InvalidReply: what came back is not HTTP, or is longer than ``max_bytes``.
    """
    stream = await open_stream(request, settings, client=client, max_bytes=max_bytes)
    try:
        return HTTPReply(stream.status, stream.headers, await stream.read())
    finally:
        await stream.aclose()


async def open_stream(
    request: HTTPRequest, settings: ClientSettings, *, client: Any = None, max_bytes: int | None = None
) -> "HTTPStream":
    """Send a request and return its reply as soon as the head of it is there. Arguments and errors as for `send`."""
    request = HTTPRequest(request.method, request.url, {**DEFAULTS, **request.headers}, request.content)
    reply = await _sender(settings, client).open(request)
    try:
        return HTTPStream(reply, max_bytes)
    except LLMError:
        await reply.aclose()
        raise


def _sender(settings: ClientSettings, client: Any) -> Sender:
    if client is None:
        return get_client(settings)
    from hocket.http.httpx_client import InjectedClient

    return InjectedClient(client)


class HTTPStream:
    """A reply whose body is still coming: an async iterator of its bytes, as they come. Whoever has it closes it.

    Attributes:
        status: its code.
        headers: names in lower case.
    """

    __slots__ = ("_limit", "_over", "_pulled", "_reply", "_room", "_unpacker", "headers", "status")

    def __init__(self, reply: Reply, max_bytes: int | None) -> None:
        self.status: int = reply.status
        self.headers: Mapping[str, str] = reply.headers
        self._reply = reply
        self._unpacker = unpacker(reply.headers)
        self._limit = max_bytes
        self._room = sys.maxsize - 1 if max_bytes is None else max_bytes
        self._pulled = False  # whether somebody waits for the next piece
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes, never none.

        Raises:
            ConnectionFailed: the connection broke.
            InvalidReply: what came is not HTTP, not what its ``content-encoding`` says, or too long.
        """
        if piece := await self._pull():
            return piece
        raise StopAsyncIteration

    async def read(self) -> bytes:
        """Return the rest of the body. Errors as for `__anext__`."""
        pieces = []
        while piece := await self._pull():
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def aclose(self) -> None:
        """Give up what has not been read. Safe to call twice, and from another task than the one that reads.

        A body that ends within 100 ms is read to its end, and the connection used again. Otherwise it is closed: at once
        while the caller is being cancelled, or fails.
        """
        if self._over:
            return
        hurried = self._pulled or sys.exc_info()[0] is not None or is_cancelled()
        try:
            if not hurried:
                with anyio.move_on_after(DRAIN, shield=True):
                    while await self._reply.receive():
                        pass
        except LLMError:
            pass  # nobody waits for it any more
        finally:
            await self._end()

    async def _pull(self) -> bytes:
        """Return the next bytes; none: the body has ended, or was given up."""
        while not self._over:
            self._pulled = True
            try:
                data = await self._reply.receive()
                piece = self._checked(data)
            except BaseException as error:
                if self._over and isinstance(error, LLMError):  # closed by another task, meanwhile
                    return b""
                await self._end()
                raise
            finally:
                self._pulled = False
            if not data:
                await self._end()
            elif piece:
                return piece
        return b""

    def _checked(self, data: bytes) -> bytes:
        """Unpack and count."""
        if self._unpacker is not None:
            if not data:
                self._unpacker.close()
            data = self._unpacker.feed(data, self._room)
        self._room -= len(data)
        if self._room < 0:
            raise InvalidReply(f"the reply is longer than the limit of {self._limit:,} bytes", status=self.status)
        return data

    async def _end(self) -> None:
        self._over = True
        await self._reply.aclose()
