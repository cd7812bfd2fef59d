"""A connection on asyncio: a protocol that keeps the data that arrives until it is asked for."""

import asyncio
import select
import socket
from contextlib import suppress
from typing import cast

from hocket._runtime.cancellation import is_cancelled, refuse
from hocket.http.wire import READ

__all__ = ["AsyncioWire", "open_wire"]

LOOK = 16
"""Reads after which to look for a cancellation: anyio delivers it to a task that it finds waiting, and a server that is
faster than the loop never lets it be found so."""


async def open_wire(host: str, port: int) -> "AsyncioWire":
    """Open a connection, over the addresses of the host by turns (RFC 8305).

    Raises:
        OSError: there is none to be had.
    """
    loop = asyncio.get_running_loop()
    wire = AsyncioWire(loop)
    # uvloop, which is no BaseEventLoop, does not know how to try addresses side by side. Where there is but one it is not
    # asked to: CPython's race loses the socket, for the collector to close, if it is cancelled just when one is connected.
    has_several = isinstance(loop, asyncio.BaseEventLoop) and not (":" in host or host.replace(".", "").isdigit())
    try:
        if has_several:
            await loop.create_connection(lambda: wire, host, port, happy_eyeballs_delay=0.25)
        else:
            await loop.create_connection(lambda: wire, host, port)
    except BaseException:
        wire.abort()
        raise
    return wire


class AsyncioWire(asyncio.Protocol):
    """See `hocket.http.wire.Wire`. What is written in one go is sent at once, without a turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._data: list[bytes] = []
        self._size = 0
        self._is_paused = False  # whether reading is paused
        self._is_over = False
        self._error: BaseException | None = None
        self._is_full = False  # whether writing is paused
        self._waits = 0
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None

    # -- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # of a socket, it is one
        self._socket = transport.get_extra_info("socket")

    def data_received(self, data: bytes) -> None:
        self._data.append(data)
        self._size += len(data)
        if self._size > READ and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> None:
        self._is_over = True
        _wake(self._reader)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._is_over, self._error = True, exc
        self._transport = self._socket = None  # to abort it now fails, where the server had closed first (Python 3.11)
        _wake(self._reader)
        _wake(self._writer)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        _wake(self._writer)

    # -- called by the connection

    @property
    def is_stale(self) -> bool:
        return self._is_over or bool(self._data) or self._socket is None or _is_readable(self._socket)

    async def send(self, data: bytes | memoryview) -> None:
        if (
            self._transport is not None and not self._is_over
        ):  # neither aborted by another task, nor closed by the server
            self._transport.write(data)
        if self._is_full and not self._is_over:
            self._writer = self._loop.create_future()
            try:
                await self._writer
            finally:
                self._writer = None
        self._check()

    async def receive(self) -> bytes:
        if not self._data and not self._is_over:
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
            self._waits += 1
            if not self._waits % LOOK and is_cancelled():
                await refuse()
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"".join(self._data)
            self._data.clear()
            self._size = 0
            if self._is_paused and self._transport is not None and not self._is_over:
                self._is_paused = False
                self._transport.resume_reading()
            return data
        self._check()
        return b""

    def _check(self) -> None:
        if self._error is not None:
            error = self._error
            raise error if isinstance(error, OSError) else ConnectionError(str(error)) from error

    def abort(self) -> None:
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self._socket, self._is_over = None, True
        try:
            transport.abort()
            _wake(self._reader)
            _wake(self._writer)
        except RuntimeError:  # the loop was closed by hand: it closes nothing and wakes nobody any more
            with suppress(OSError):  # the collector closes it then, with Python's own warning
                transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def _wake(future: "asyncio.Future[None] | None") -> None:
    if future is not None and not future.done():
        future.set_result(None)


def _is_readable(sock: socket.socket) -> bool:
    """Whether a read would return at once."""
    if hasattr(select, "poll"):  # unlike select it knows no highest file number
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])
