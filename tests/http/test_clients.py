"""One client for each event loop and settings: shared, closed with its loop, and never left behind."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio

from hocket.http.clients import ClientSettings, close_client, get_client
from hocket.http.exchange import open_stream, send
from hocket.http.pool import Pool

SETTINGS = ClientSettings(max_connections=7)


def run_on(backend: str, main: Callable[[], Awaitable[Any]]) -> Any:
    """Run ``main`` on a loop of its own."""
    return asyncio.run(main()) if backend == "asyncio" else trio.run(main)  # type: ignore[arg-type]


def pools() -> int:
    """Count the pools that are alive."""
    gc.collect()
    return sum(type(thing) is Pool for thing in gc.get_objects())


async def test_equal_settings_share_a_client() -> None:
    """Whoever asks on this loop gets the same."""
    assert get_client(SETTINGS) is get_client(ClientSettings(max_connections=7))
    assert get_client(SETTINGS) is not get_client(ClientSettings(max_connections=8))


def test_settings_hide_the_proxy() -> None:
    """Its URL may hold a password."""
    assert "secret" not in repr(ClientSettings(proxy="http://me:secret@proxy"))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_clients_end_with_their_loops(serve: Any, backend: str) -> None:
    """After twenty loops no client, connection, warning or noise is left; each loop had a client of its own."""
    server = serve.answering(serve.reply())
    before = pools()

    async def main() -> None:
        await send(server.request(), SETTINGS)
        await send(server.request(), SETTINGS)

    for _ in range(20):
        run_on(backend, main)

    assert (len(server.requests), server.accepted) == (40, 20)
    assert pools() == before
    asyncio.run(server.until(lambda it: it.open == 0))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("retired", [False, True])
def test_loop_that_ends_amid_a_reply(serve: Any, backend: str, retired: bool) -> None:
    """What is still open is closed with the loop, its client closed before or not, and nothing is said about it."""
    server = serve.waiting(serve.CHUNKED + serve.chunk(b"hello"))
    before = pools()
    streams = []

    async def main() -> None:
        streams.append(await open_stream(server.request(), SETTINGS))
        await anext(streams[-1])
        if retired:
            await close_client(SETTINGS)

    for _ in range(3):
        run_on(backend, main)

    asyncio.run(server.until(lambda it: it.open == 0))
    streams.clear()
    assert pools() == before


def test_loop_closed_without_ceremony(serve: Any) -> None:
    """``loop.close()`` alone tells nobody; what is left is forgotten when the next loop asks."""
    server = serve.answering(serve.reply())
    before = pools()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # asyncio's, of the transports that the loop left open
        for _ in range(20):
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(send(server.request(), SETTINGS)).status == 200
            loop.close()
        del loop
        asyncio.run(send(server.request(), SETTINGS))  # type: ignore[arg-type]
        assert pools() == before


def test_threads_have_clients_of_their_own(serve: Any) -> None:
    """Eight loops in eight threads at once: no connection is shared, no request lost or sent twice."""
    server = serve.answering(serve.reply())
    failures: list[BaseException] = []
    together = threading.Barrier(8)

    def work(backend: str) -> None:
        async def main() -> None:
            together.wait(10)
            for _ in range(20):
                assert (await send(server.request(), SETTINGS)).content == b"ok"

        try:
            run_on(backend, main)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(backend,)) for backend in ["asyncio", "trio"] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert (len(server.requests), server.accepted) == (160, 8)


def run_script(script: str, *arguments: str) -> str:
    """Run a script in an interpreter that warns of everything; return its output. It must be silent on stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


LOOPS = """
    import asyncio, sys, trio
    from hocket.http.clients import ClientSettings
    from hocket.http.exchange import open_stream, send
    from hocket.http.request import HTTPRequest

    async def main():
        request = HTTPRequest("GET", sys.argv[1], {})
        await send(request, ClientSettings())
        stream = await open_stream(request, ClientSettings())
        await anext(stream)

    for _ in range(10):
        asyncio.run(main())
        trio.run(main)
    asyncio.run(main())
    print(sorted({"httpx", "httpx2", "httpcore"} & set(sys.modules)))
"""


def test_nothing_is_said_and_nothing_imported(serve: Any) -> None:
    """Many loops, each left amid a reply: silence. And httpx was not needed."""
    server = serve.answering(serve.reply(b"x"), serve.CHUNKED + serve.chunk(b"x"))

    assert run_script(LOOPS, server.url) == "[]"


CLOSED_BY_HAND = """
    import asyncio, os, sys, warnings
    from hocket.http.clients import ClientSettings
    from hocket.http.exchange import open_stream
    from hocket.http.request import HTTPRequest

    warnings.simplefilter("ignore", ResourceWarning)  # Python's own, for what such a loop leaves open
    kept = []

    async def main():
        stream = await open_stream(HTTPRequest("GET", sys.argv[1], {}), ClientSettings())
        await anext(stream)
        kept.append(asyncio.ensure_future(anext(stream)))
        await asyncio.sleep(0)

    for _ in range(30):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
    print("fine", flush=True)
    os._exit(0)  # without a word on the tasks that no loop has ended
"""


def test_loops_that_are_closed_by_hand_leave_no_connections(serve: Any) -> None:
    """With a reply under way in a task that is kept: the next loop's first call closes the connection."""
    server = serve.waiting(serve.CHUNKED + serve.chunk(b"x"))

    assert run_script(CLOSED_BY_HAND, server.url) == "fine"
    assert (server.accepted, server.most_open < 10) == (30, True)


FORK = """
    import asyncio, os, sys
    from hocket.http.clients import ClientSettings
    from hocket.http.exchange import send
    from hocket.http.request import HTTPRequest

    async def call():
        return (await send(HTTPRequest("GET", sys.argv[1], {}), ClientSettings())).content

    async def main():
        assert await call() == b"1"
        child = os.fork()
        if child == 0:
            os._exit(0 if in_child() == b"1" else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert await call() == b"2"

    def in_child():
        import threading
        got = []
        thread = threading.Thread(target=lambda: got.append(asyncio.run(call())))
        thread.start()
        thread.join()
        return got[0]

    asyncio.run(main())
    print("fine")
"""


@pytest.mark.skipif(not hasattr(sys, "getswitchinterval") or sys.platform == "win32", reason="Windows has no fork")
def test_child_process_has_connections_of_its_own(serve: Any) -> None:
    """A fork amid a loop: the child connects anew, and the parent's connection still works afterwards."""
    server = serve.answering(serve.reply(b"1"), serve.reply(b"2"))

    assert run_script(FORK, server.url) == "fine"
    assert (len(server.requests), server.accepted) == (3, 2)


async def test_first_calls_at_once_make_one_client(serve: Any, settings: ClientSettings) -> None:
    """A hundred calls that all come before the first has a connection."""
    server = serve.answering(serve.reply())
    before = pools()

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(send, server.request(), settings)

    assert pools() == before + 1
