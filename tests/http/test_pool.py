"""Connections kept, counted and waited for."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import anyio
import pytest

from hocket.errors import ConnectionFailed, ConnectTimeout, RequestTimeout
from hocket.http.clients import ClientSettings, close_client
from hocket.http.exchange import open_stream, send
from hocket.http.pool import KEPT
from hocket.testing.clock import VirtualClock
from hocket.timeouts import connect_limit


async def test_connection_is_kept(serve: Any, settings: ClientSettings) -> None:
    """One after the other, requests share a connection."""
    server = serve.answering(serve.reply())

    for _ in range(5):
        await send(server.request(), settings)

    assert (len(server.requests), server.accepted) == (5, 1)


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n",
    ],
    ids=["the server will close", "HTTP/1.0", "more than was asked for"],
)
async def test_connection_is_not_kept(serve: Any, settings: ClientSettings, reply: bytes) -> None:
    """A connection that has no second reply in it, or somebody else's, is closed."""
    server = serve.answering(reply)

    for _ in range(3):
        assert (await send(server.request(), settings)).content == b"ok"

    assert server.accepted == 3
    await server.until(lambda it: it.open == 0)


async def test_kept_connection_that_the_server_closed(serve: Any, settings: ClientSettings) -> None:
    """It is noticed before anything is sent, and the request goes over a new one."""
    server = serve.closing(serve.reply())

    for _ in range(3):
        await send(server.request(), settings)
        await server.until(lambda it: it.open == 0)

    assert (len(server.requests), server.accepted) == (3, 3)


async def test_kept_connection_closed_while_the_loop_stood_still(serve: Any, settings: ClientSettings) -> None:
    """The loop has not heard of it; the socket has."""
    server = serve.closing(serve.reply())

    for _ in range(2):
        await send(server.request(), settings)
        until = time.monotonic() + 30
        while server.open and time.monotonic() < until:
            pass
        busy_until = time.monotonic() + 0.02  # what the server sent last is on its way
        while time.monotonic() < busy_until:
            pass

    assert server.accepted == 2


async def test_idle_connection_is_not_kept_for_ever(
    serve: Any, settings: ClientSettings, virtual_clock: VirtualClock
) -> None:
    """After half a minute a new one is opened, and the old ones closed."""
    server = serve.answering(serve.reply())
    streams = [await open_stream(server.request(), settings) for _ in range(3)]
    for stream in streams:
        await stream.read()

    await virtual_clock.sleep(KEPT - 1)
    await send(server.request(), settings)
    assert server.accepted == 3

    await virtual_clock.sleep(2)
    await send(server.request(), settings)
    await server.until(lambda it: it.open == 1)
    assert server.accepted == 3

    await virtual_clock.sleep(KEPT + 1)
    await send(server.request(), settings)
    await server.until(lambda it: it.open == 1)
    assert server.accepted == 4


async def test_no_more_connections_than_allowed(serve: Any, settings: ClientSettings) -> None:
    """A hundred requests at once share three connections."""
    server = serve.answering(serve.reply())
    three = replace(settings, max_connections=3)

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(send, server.request(), three)

    assert (len(server.requests), server.accepted, server.most_open) == (100, 3, 3)


async def test_idle_connections_count(serve: Any, settings: ClientSettings) -> None:
    """A connection to somewhere else makes room."""
    first, second = serve.answering(serve.reply()), serve.answering(serve.reply())
    two = replace(settings, max_connections=2)
    for stream in [await open_stream(first.request(), two) for _ in range(2)]:
        await stream.read()
    assert first.open == 2

    await send(second.request(), two)
    await first.until(lambda it: it.open == 1)
    held = await open_stream(second.request(), two)
    await send(second.request(), two)
    await first.until(lambda it: it.open == 0)
    await held.aclose()

    assert (first.accepted, second.accepted) == (2, 2)


async def test_requests_wait_in_line(serve: Any, settings: ClientSettings) -> None:
    """First come, first served; who is cancelled while waiting leaves the line, and no place is lost."""
    server = serve.answering(serve.reply())
    one = replace(settings, max_connections=1)
    held = await open_stream(serve.waiting(serve.CHUNKED).request(), one)
    leavers = []

    async def leave(number: int) -> None:
        with anyio.CancelScope() as scope:
            leavers.append(scope)
            await send(server.request(body=number), one)

    async with anyio.create_task_group() as group:
        for number in range(10):
            if number % 3 == 1:
                group.start_soon(leave, number)
            else:
                group.start_soon(send, server.request(body=number), one)
            await anyio.wait_all_tasks_blocked()
        assert not server.requests
        for scope in leavers:
            scope.cancel()
        await held.aclose()

    assert [int(request.body) for request in server.requests] == [0, 2, 3, 5, 6, 8, 9]


async def test_failed_connections_give_their_permits_back(serve: Any, settings: ClientSettings) -> None:
    """Ten refusals with one permit, then a server that listens."""
    dead, alive = serve.answering(b""), serve.answering(serve.reply())
    dead.stop()
    one = replace(settings, max_connections=1)

    for _ in range(10):
        with pytest.raises(ConnectionFailed):
            await send(dead.request(), one)

    with anyio.fail_after(30):
        assert (await send(alive.request(), one)).content == b"ok"


@pytest.fixture
def deaf() -> Iterator[str]:
    """The URL of a server that takes no more connections, and does not say so."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # the line of those who wait to be accepted is full then
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


async def test_connection_takes_too_long(serve: Any, settings: ClientSettings, deaf: str) -> None:
    """The error names the limit and where it is set; the permit is back."""
    server = serve.answering(serve.reply())
    one = replace(settings, max_connections=1)
    connect_limit.set(0.05)

    with pytest.raises(ConnectTimeout, match=r"within 0\.05 s; Timeout") as caught:
        await send(replace(server.request(), url=deaf), one)

    assert isinstance(caught.value, RequestTimeout)
    assert caught.value.retryable
    connect_limit.set(5)  # to a server that listens, on a busy machine
    with anyio.fail_after(30):
        assert (await send(server.request(), one)).status == 200


async def test_cancelled_while_connecting(serve: Any, settings: ClientSettings, deaf: str) -> None:
    """The permit is back."""
    server = serve.answering(serve.reply())
    one = replace(settings, max_connections=1)

    with anyio.move_on_after(0.05) as scope:
        await send(replace(server.request(), url=deaf), one)

    assert scope.cancelled_caught
    with anyio.fail_after(30):
        assert (await send(server.request(), one)).status == 200


async def test_closing_an_idle_client(serve: Any, settings: ClientSettings) -> None:
    """Its connections are closed at once; the next request opens a new client."""
    server = serve.answering(serve.reply())
    await send(server.request(), settings)

    await close_client(settings)
    await close_client(settings)
    await server.until(lambda it: it.open == 0)

    await send(server.request(), settings)
    assert server.accepted == 2


async def test_closing_a_client_that_is_busy(serve: Any, settings: ClientSettings) -> None:
    """Its requests go on to their end, whether they read or wait in line; only then is it closed."""
    server = serve.answering(serve.CHUNKED + serve.chunk(b"hello") + serve.chunk(b""))
    one = replace(settings, max_connections=1)
    busy = await open_stream(server.request(), one)

    async with anyio.create_task_group() as group:
        group.start_soon(send, server.request(), one)
        await anyio.wait_all_tasks_blocked()
        await close_client(one)
        assert (await send(server.request(), one)).status == 200  # a new client, and so a place of its own
        assert await busy.read() == b"hello"

    assert len(server.requests) == 3
    await server.until(lambda it: it.open == 1)
