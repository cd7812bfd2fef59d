"""A request and its reply, whole or as a stream.

Bodies are asked for as they are (``accept-encoding: identity``): a compressed stream comes late, since the server that
compresses it waits for more, and a model's answer is short. A body that comes compressed all the same is decompressed.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Self

import anyio
import anyio.lowlevel

from hocket._metering.listeners import reply_listener
from hocket._runtime.cancellation import is_cancelled
from hocket._version import __version__
from hocket.errors import InvalidReply, LLMError
from hocket.http.clients import ClientSettings, OpenReply, Transport, get_client
from hocket.http.decompression import SLICE, find_decompressor
from hocket.http.interception import has_layers, wrap_transport
from hocket.http.json_size import MAX_REPLY, UNCHECKED, check_json_size
from hocket.http.request import HTTPReply, HTTPRequest

__all__ = ["HTTPStream", "open_stream", "send"]

DRAIN = 0.1
"""Seconds that the rest of a stream may take, so that its connection can be used again."""

DEFAULTS = {"user-agent": f"hocket/{__version__}", "accept-encoding": "identity"}


async def send(
    request: HTTPRequest, settings: ClientSettings, *, client: object = None, max_bytes: int | None = MAX_REPLY
) -> HTTPReply:
    """Send a request and read its reply to the end. Whatever its status, it is a reply, redirects included.

    Args:
        request: sent once, never again.
        settings: which of the running loop's clients sends it.
        client: an ``httpx.AsyncClient`` or ``httpx2.AsyncClient`` that sends it instead, and stays open.
        max_bytes: the limit on the size of the body, as it comes and decompressed; None: no limit.

    Raises:
        InvalidInput: this cannot be sent.
        ConnectTimeout: no connection in time.
        ConnectionFailed: no connection, or it broke.
        RequestTimeout: a time-out of ``client``'s own.
        InvalidReply: the reply is not HTTP, is longer than ``max_bytes``, or would take far more memory parsed.
    """
    stream = await open_stream(request, settings, client=client, max_bytes=max_bytes)
    try:
        return HTTPReply(stream.status, stream.headers, await stream.read())
    finally:
        await stream.aclose()


async def open_stream(
    request: HTTPRequest, settings: ClientSettings, *, client: object = None, max_bytes: int | None = None
) -> "HTTPStream":
    """Send a request and return its reply as soon as the head of it is there. Arguments and errors as for `send`."""
    request = HTTPRequest(request.method, request.url, {**DEFAULTS, **request.headers}, request.content)
    reply = await _choose_sender(settings, client).open(request)
    listener = reply_listener.get()
    if listener is not None:
        listener(reply.status, reply.headers)
    try:
        return HTTPStream(reply, max_bytes)
    except LLMError:
        await reply.aclose()
        raise


def _choose_sender(settings: ClientSettings, client: object) -> Transport:
    if client is None:
        transport: Transport = get_client(settings)
    else:
        from hocket.http.httpx_client import InjectedClient

        transport = InjectedClient(client)
    return wrap_transport(transport, settings, client) if has_layers() else transport


class HTTPStream:
    """A reply whose body is still coming: an async iterator of its bytes, as they come. Its owner closes it.

    Attributes:
        status: its code.
        headers: names in lower case.
    """

    __slots__ = (
        "_decompressor",
        "_is_over",
        "_is_waiting",
        "_limit",
        "_reply",
        "_room",
        "_room_compressed",
        "_slices",
        "headers",
        "status",
    )

    def __init__(self, reply: OpenReply, max_bytes: int | None) -> None:
        self.status: int = reply.status
        self.headers: Mapping[str, str] = reply.headers
        self._reply = reply
        self._decompressor = find_decompressor(reply.headers) if "content-encoding" in reply.headers else None
        self._slices: Iterator[bytes] = iter(())  # of compressed bytes that have come
        self._limit = max_bytes
        self._room = self._room_compressed = sys.maxsize - 1 if max_bytes is None else max_bytes
        self._is_waiting = False  # whether a task waits for the next piece
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes, never none.

        Raises:
            ConnectionFailed: the connection broke.
            InvalidReply: the reply is not HTTP, is not what its ``content-encoding`` says, or is too long.
        """
        if piece := await self._read_piece():
            return piece
        raise StopAsyncIteration

    async def read(self) -> bytes:
        """Return the rest of the body.

        Raises:
            LLMError: as `__anext__`.
            InvalidReply: it is JSON that would take far more memory than its text, see `check_json_size`.
        """
        pieces: list[bytes] = []
        while piece := await self._read_piece():
            pieces.append(piece)
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if len(body) > UNCHECKED:
            check_json_size(body, self._limit)
        return body

    async def aclose(self) -> None:
        """Give up what has not been read. Safe to call twice, and from another task than the one that reads.

        A body that ends within 100 ms is read to its end, and the connection used again. Otherwise it is closed: at once
        while the caller is being cancelled, or fails.
        """
        if self._is_over:
            return
        is_hurried = self._is_waiting or sys.exc_info()[0] is not None or is_cancelled()
        try:
            if self._reply.is_worth_draining and not is_hurried:
                with anyio.move_on_after(DRAIN, shield=True):
                    while await self._reply.receive():
                        pass
        except LLMError:
            pass  # no task waits for it any more
        finally:
            await self._finish()

    async def _read_piece(self) -> bytes:
        """Return the next bytes; none: the body has ended, or was given up."""
        while not self._is_over:
            self._is_waiting = True
            try:
                data = await self._receive()
                piece = self._decode(data)
            except BaseException as error:
                if self._is_over and isinstance(error, LLMError):  # closed by another task, meanwhile
                    return b""
                await self._finish()
                raise
            finally:
                self._is_waiting = False
            if not data:
                await self._finish()
            elif piece:
                return piece
        return b""

    async def _receive(self) -> bytes:
        """Return the next bytes as they came; none: the body has ended. Compressed ones, of which each may stand for a
        thousand, come few at a time, and other tasks have their turn in between.
        """
        if data := next(self._slices, b""):
            await anyio.lowlevel.checkpoint()
            return data
        data = await self._reply.receive()
        if self._decompressor is None:
            return data
        self._slices = (data[at : at + SLICE] for at in range(0, len(data), SLICE))
        return next(self._slices, b"")

    def _decode(self, data: bytes) -> bytes:
        """Return a piece of the body decompressed, and count it. No data: the body has ended."""
        if self._decompressor is not None:
            if not data:
                self._decompressor.close()
            self._room_compressed -= len(data)
            data = self._decompressor.feed(data, self._room)
        self._room -= len(data)
        if self._room < 0 or self._room_compressed < 0:
            raise InvalidReply(f"the reply is longer than the limit of {self._limit:,} bytes", status=self.status)
        return data

    async def _finish(self) -> None:
        self._is_over = True
        await self._reply.aclose()
