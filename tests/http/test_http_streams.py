"""A reply as it comes: undelayed, and left at any point with its connection closed, or kept for the next."""

import gzip
import threading
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.errors import ConnectionFailed
from hocket.http import exchange
from hocket.http.clients import ClientSettings
from hocket.http.exchange import HTTPStream, open_stream, send
from tests.kit.amount import RUNS_ALL


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the rest of a stream so long that a test in which anybody waits for it fails."""
    monkeypatch.setattr(exchange, "DRAIN", 1000.0)


def paced(serve: Any, heads: str = "", pack: Callable[[bytes], bytes] = bytes) -> Any:
    """Start a server that sends a piece, and the next when it is told that the last one has arrived."""
    steps: list[int] = []

    def script(peer: Any) -> None:
        peer.read()
        peer.send(serve.CHUNKED.replace(b"\r\n\r\n", f"{heads}\r\n\r\n".encode()))
        for number in range(5):
            peer.send(serve.chunk(pack(b"piece %d" % number)))
            until = time.monotonic() + 30
            while len(steps) <= number and time.monotonic() < until:
                time.sleep(0.001)
        peer.send(serve.chunk(b""))
        peer.wait_closed()

    server = serve(script)
    server.steps = steps
    return server


async def test_pieces_come_as_they_are_sent(serve: Any, settings: ClientSettings) -> None:
    """A piece is handed out before the next one is sent, and as it was sent."""
    server = paced(serve)

    stream = await open_stream(server.request(), settings)
    pieces = []
    async for piece in stream:
        pieces.append(piece)
        server.steps.append(1)

    assert (stream.status, stream.headers["transfer-encoding"]) == (200, "chunked")
    assert pieces == [b"piece %d" % number for number in range(5)]


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_packed_pieces_come_as_they_are_sent(serve: Any, settings: ClientSettings, encoding: str) -> None:
    """What a server packs and flushes is unpacked at once."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | (16 if encoding == "gzip" else 0))

    def pack(data: bytes) -> bytes:
        return packer.compress(data) + packer.flush(zlib.Z_FINISH if data.endswith(b"4") else zlib.Z_SYNC_FLUSH)

    server = paced(serve, f"\r\ncontent-encoding: {encoding}", pack)

    stream = await open_stream(server.request(), settings)
    pieces = []
    async for piece in stream:
        pieces.append(piece)
        server.steps.append(1)

    assert pieces == [b"piece %d" % number for number in range(5)]


async def test_read_returns_the_rest(serve: Any, settings: ClientSettings) -> None:
    """After some pieces, ``read`` returns what is left; after the end, nothing."""
    server = paced(serve)
    server.steps.extend([1] * 5)

    stream = await open_stream(server.request(), settings)
    first = await anext(stream)

    assert first + await stream.read() == b"".join(b"piece %d" % number for number in range(5))
    assert await stream.read() == b""
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_body_read_to_its_end_frees_the_connection(serve: Any, settings: ClientSettings) -> None:
    """The next request goes over the same connection, whether or not the stream was closed yet."""
    server = serve.answering(serve.CHUNKED + serve.chunk(b"hello") + serve.chunk(b""))

    streams = [await open_stream(server.request(), settings)]
    assert await streams[0].read() == b"hello"
    await send(server.request(), settings)
    await streams[0].aclose()
    await send(server.request(), settings)

    assert (len(server.requests), server.accepted) == (3, 1)


@pytest.mark.parametrize("delay", [0, 0.02])
async def test_end_that_comes_soon_frees_the_connection(serve: Any, settings: ClientSettings, delay: float) -> None:
    """After the terminal event nobody reads on; the end of the body comes a moment later and is taken."""

    def script(peer: Any) -> None:
        while peer.read() is not None:
            peer.send(serve.CHUNKED + serve.chunk(b"data: [DONE]\n\n"))
            time.sleep(delay)
            peer.send(serve.chunk(b""))

    server = serve(script)
    for _ in range(3):
        stream = await open_stream(server.request(), settings)
        assert await anext(stream) == b"data: [DONE]\n\n"
        await stream.aclose()
        await stream.aclose()

    assert server.accepted == 1


async def test_end_that_does_not_come_closes_the_connection(serve: Any, settings: ClientSettings) -> None:
    """A server that goes on, or says nothing, is left."""
    server = serve.waiting(serve.CHUNKED + serve.chunk(b"hello"))

    stream = await open_stream(server.request(), settings)
    await anext(stream)
    await stream.aclose()

    await server.until(lambda it: it.closed_at)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@pytest.mark.usefixtures("patient")
async def test_stream_closed_by_another_task(serve: Any, settings: ClientSettings) -> None:
    """Whoever waits for the next piece is told that there is none, and the server sees it, without a wait for the rest."""
    server = serve.waiting(serve.CHUNKED + serve.chunk(b"hello"))
    stream = await open_stream(server.request(), settings)
    pieces = []

    async def read() -> None:
        async for piece in stream:
            pieces.append(piece)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            while not pieces:  # noqa: ASYNC110
                await anyio.sleep(0.001)
            await stream.aclose()
    await server.until(lambda it: it.closed_at)
    assert pieces == [b"hello"]


async def test_stream_that_breaks_ends_once(serve: Any, settings: ClientSettings) -> None:
    """What came is handed out, then the failure is raised, then there is no more."""
    server = serve.closing(serve.CHUNKED + serve.chunk(b"hello"))
    stream = await open_stream(server.request(), settings)

    assert await anext(stream) == b"hello"
    with pytest.raises(ConnectionFailed):
        await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await stream.aclose()


async def opened(server: Any, settings: ClientSettings) -> None:
    await open_stream(server.request(), settings)


async def pulled(server: Any, settings: ClientSettings) -> None:
    stream = await open_stream(server.request(), settings)
    try:
        while True:
            await anext(stream)
    finally:
        await stream.aclose()


async def held(server: Any, settings: ClientSettings) -> None:
    stream = await open_stream(server.request(), settings)
    try:
        await anext(stream)
        await anyio.sleep_forever()
    finally:
        await stream.aclose()


async def sent(server: Any, settings: ClientSettings) -> None:
    await send(server.request(), settings)


async def sending(server: Any, settings: ClientSettings) -> None:
    await send(server.request(body="x" * 20_000_000), settings)


POINTS = {
    "waiting for the head": (opened, b""),
    "waiting for the rest of the head": (opened, b"HTTP/1.1 200 OK\r\nx:"),
    "waiting for a whole reply": (sent, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
    "waiting for a piece": (pulled, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
    "busy with a piece": (held, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
    "sending": (sending, None),
}


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("times", [1, 2], ids=["cancelled once", "cancelled twice"])
async def test_cancelled_request_closes_its_connection(
    serve: Any, settings: ClientSettings, anyio_backend_name: str, point: str, times: int
) -> None:
    """Wherever it is: the server sees it, without a wait for the rest, and the permit is back; also if cancelled twice."""
    main, data = POINTS[point]
    single = replace(settings, max_connections=1)
    at_work: list[int] = []
    is_left = threading.Event()

    def script(peer: Any) -> None:
        if peer.number > 1:
            peer.read()
            peer.send(serve.reply())
        elif data is None:  # reads nothing, so that the client cannot go on sending
            at_work.append(1)
            is_left.wait(30)
            peer.wait_closed()
        else:
            peer.read()
            peer.send(data)
            at_work.append(1)
            peer.wait_closed()

    server = serve(script)
    cancel, over = await started(anyio_backend_name, lambda: main(server, single))
    with anyio.fail_after(30):
        while not at_work:  # noqa: ASYNC110
            await anyio.sleep(0.001)
        await anyio.sleep(0.05)
        for _ in range(times):
            cancel()
            await anyio.lowlevel.checkpoint()
        await over.wait()
        is_left.set()
        await server.until(lambda it: it.closed_at)
        assert (await send(server.request(), single)).content == b"ok"


async def started(backend: str, main: Callable[[], Awaitable[None]]) -> tuple[Callable[[], object], anyio.Event]:
    """Start ``main`` in a task of its own; return what cancels it the loop's own way, and what is set at its end."""
    over = anyio.Event()

    async def run() -> None:
        try:
            await main()
        finally:
            over.set()

    if backend == "asyncio":
        import asyncio

        task = asyncio.create_task(run())
        return (lambda: task.cancel()), over
    import trio

    scope = trio.CancelScope()

    async def scoped() -> None:
        with scope:
            await run()

    trio.lowlevel.spawn_system_task(scoped)
    return scope.cancel, over


@pytest.mark.usefixtures("patient")
async def test_stream_closed_in_a_cancelled_scope_is_not_waited_for(serve: Any, settings: ClientSettings) -> None:
    """Nobody waits for an end that nobody wants."""
    server = serve.waiting(serve.CHUNKED + serve.chunk(b"hello"))
    stream = await open_stream(server.request(), settings)
    await anext(stream)
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        scope.cancel()
        await stream.aclose()
    await server.until(lambda it: it.closed_at)


async def test_server_that_is_faster_than_the_loop(serve: Any, settings: ClientSettings) -> None:
    """A task that always finds data waiting can be cancelled all the same."""

    def script(peer: Any) -> None:
        peer.read()
        peer.send(serve.CHUNKED)
        while True:
            peer.send(serve.chunk(b"x" * 10_000) * 100)

    server = serve(script)
    stream = await open_stream(server.request(), settings)
    with anyio.move_on_after(0.1) as scope:
        async for _ in stream:
            pass
    assert scope.cancelled_caught
    await server.until(lambda it: it.open == 0)


BATCHES = 20 if RUNS_ALL else 5


async def test_many_cancelled_streams(serve: Any, settings: ClientSettings) -> None:
    """A pool of ten goes through hundreds of streams that are left mid-way, and still serves the next request."""
    settings = replace(settings, max_connections=10)

    def script(peer: Any) -> None:
        while (request := peer.read()) is not None:
            if b"stream" in request.body:
                peer.send(serve.CHUNKED + serve.chunk(b"hello"))
            else:
                peer.send(serve.reply())

    server = serve(script)

    async def leave() -> None:
        with anyio.CancelScope() as scope:
            stream: HTTPStream = await open_stream(server.request(body="stream"), settings)
            await anext(stream)
            scope.cancel()
            await anext(stream)

    with anyio.fail_after(40):
        for _ in range(BATCHES):
            async with anyio.create_task_group() as group:
                for _ in range(50):
                    group.start_soon(leave)
        assert (await send(server.request(), settings)).content == b"ok"
        await server.until(lambda it: it.open == 1)

    assert len(server.requests) == BATCHES * 50 + 1


async def test_gzip_of_a_whole_stream(serve: Any, settings: ClientSettings) -> None:
    """A packed stream that is read at once is the same."""
    server = serve.answering(serve.reply(gzip.compress(b"data: 1\n\n" * 100), "content-encoding: gzip"))

    stream = await open_stream(server.request(), settings)

    assert await stream.read() == b"data: 1\n\n" * 100
