"""One connection of the server: requests in, answers out, to the byte.

It works on a bare socket, the same way on asyncio and trio, because a stream object closes in its own manner, while a
script may want a reset, or an end in the middle of a body. One task reads and one answers, so that the client's leaving
is seen at once, also in the middle of a silence. A client that closes its sending half counts as one that has left.
"""

import contextlib
import math
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectSendStream

from hocket.testing.server.wire import Bill, ReceivedRequest, RequestParser, Wait, WireAnswer, chunk, head

__all__ = ["ServedConnection"]

RECEIVE_SIZE = 2**16

# `struct linger`: on, 0 seconds. To close then is to reset.
NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class ServedConnection:
    """An accepted socket and the way to answer what comes.

    Args:
        sock: accepted; closed at the end of `serve`.
        number: told to each request.
        answer: returns the answer to a request; asked in order, when it is the request's turn.
        bill: told the tokens that are charged.
        sleep: waits between the steps of an answer.
    """

    def __init__(
        self,
        sock: socket.socket,
        number: int,
        *,
        answer: Callable[[ReceivedRequest], WireAnswer],
        bill: Callable[[int], None],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._number = number
        self._answer = answer
        self._bill = bill
        self._sleep = sleep

    async def serve(self) -> None:
        """Answer requests, one after the other, until either side closes the connection.

        Raises:
            ExceptionGroup: of what the steps of an answer raised, or of a `ValueError`, where no HTTP came.
        """
        put, take = anyio.create_memory_object_stream[ReceivedRequest](math.inf)
        try:
            with put, take:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._read, put, tasks.cancel_scope)
                    with contextlib.suppress(OSError):  # the client has left
                        await self._answer_all(take)
                    tasks.cancel_scope.cancel()
        finally:
            self._sock.close()

    async def _read(self, put: MemoryObjectSendStream[ReceivedRequest], everything: anyio.CancelScope) -> None:
        parser = RequestParser()
        while data := await self._receive():
            for request in parser.feed(data):
                put.send_nowait(replace(request, connection=self._number))
        everything.cancel()

    async def _receive(self) -> bytes:
        """Return some bytes; none: the client has left."""
        while True:
            await anyio.wait_readable(self._sock)
            with contextlib.suppress(BlockingIOError):
                try:
                    return self._sock.recv(RECEIVE_SIZE)
                except ConnectionError:
                    return b""

    async def _answer_all(self, take: ObjectReceiveStream[ReceivedRequest]) -> None:
        async for request in take:
            answer = self._answer(request)
            await self._play(answer)
            if answer.then == "stall":
                await anyio.sleep_forever()
            if answer.then == "reset":
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            if answer.then != "end" or _asks_to_close(request.headers) or _asks_to_close(answer.headers):
                return

    async def _play(self, answer: WireAnswer) -> None:
        await self._wait(answer.delay)
        if answer.status:
            await self._send(head(answer))
        for step in answer.steps:
            if isinstance(step, Wait):
                await self._wait(step.seconds)
            elif isinstance(step, Bill):
                self._bill(step.tokens)
            elif step:
                await self._send(step if answer.length is not None else chunk(step))
        if answer.length is None and answer.status and answer.then == "end":
            await self._send(chunk(b""))

    async def _wait(self, seconds: float) -> None:
        if seconds == math.inf:
            await anyio.sleep_forever()
        elif seconds > 0:
            await self._sleep(seconds)

    async def _send(self, data: bytes) -> None:
        await checkpoint()  # a socket with room would let an endless body keep the loop to itself
        view = memoryview(data)
        while view:
            try:
                view = view[self._sock.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._sock)


def _asks_to_close(headers: Mapping[str, str]) -> bool:
    return any((name.lower(), value.lower()) == ("connection", "close") for name, value in headers.items())
