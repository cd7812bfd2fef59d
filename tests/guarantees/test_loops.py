"""One model object works from many event loops and threads, one after another and at once, and leaves nothing behind."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from hocket import BaseChatModel
from hocket.http import clients
from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIFormat, Reply, serve
from tests.kit import Recorder, hook_model


@pytest.fixture
def server() -> Iterator[Any]:
    """Answers for ever, from a thread of its own."""
    with serve(OpenAIFormat(), repeat(Reply("yes"))) as server:
        yield server
        assert not server.problems


@pytest.fixture
def model(server: Any) -> Iterator[ChatOpenAI]:
    """A model that is asked once for each call: what is sent twice is seen."""
    yield ChatOpenAI(model="test-model", base_url=server.url, api_key="none", retry=None)
    left = [loop for loop in clients._loops if not hasattr(loop, "create_task")]
    left += [loop for loop in clients._loops if hasattr(loop, "create_task") and loop.is_closed()]
    assert not left, "a loop has ended and its clients are kept"


async def ask(model: ChatOpenAI) -> None:
    """Two calls, one of them a stream; with one client for this loop."""
    before = len(clients._loops)
    assert (await model.ainvoke("hi")).content == "yes"
    assert "".join([str(chunk.content) async for chunk in model.astream("hi")]) == "yes"
    (native,) = [loop for loop in clients._loops if loop is _here()]
    assert len(clients._loops[native].clients) == 1
    assert len(clients._loops) <= before + 1


def _here() -> Any:
    from anyio.lowlevel import current_token

    return current_token().native_token


def run_on(backend: str, main: Callable[[], Awaitable[Any]]) -> None:
    """Run on a loop of its own, as a program does."""
    if backend == "asyncio":
        asyncio.run(main())  # type: ignore[arg-type]
    else:
        trio.run(main)


def test_fifty_loops_one_after_another(model: ChatOpenAI, server: Any) -> None:
    """Of asyncio and trio, with sync verbs in between: each call is one request, each loop's connections end with it."""
    known = len(clients._loops)
    for number in range(50):
        run_on("trio" if number % 5 == 4 else "asyncio", lambda: ask(model))
        if number % 10 == 0:
            assert model.invoke("hi").content == "yes"
            assert "".join(str(chunk.content) for chunk in model.stream("hi")) == "yes"
    assert len(server.requests) == 50 * 2 + 5 * 2
    assert len(clients._loops) <= known + 1  # the kept loop's, under the sync verbs
    server.block_for(lambda it: it.open_connections <= 1)
    assert server.connections == 50 + 1


def test_eight_threads_at_once(model: ChatOpenAI, server: Any) -> None:
    """Each with loops of its own, asyncio's or trio's, or with sync verbs."""
    failures: list[BaseException] = []
    together = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            together.wait(20)
            for _ in range(5):
                if number % 4 == 3:
                    assert model.invoke("hi").content == "yes"
                    assert [item.content for item in model.batch(["hi"])] == ["yes"]
                else:
                    run_on("trio" if number % 4 == 2 else "asyncio", lambda: ask_at_once(model))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(server.requests) == 6 * 5 * 4 + 2 * 5 * 2
    server.block_for(lambda it: it.open_connections <= 2)


async def ask_at_once(model: ChatOpenAI) -> None:
    replies = await model.abatch(["hi"] * 4)
    assert [reply.content for reply in replies] == ["yes"] * 4


def test_loops_that_end_amid_a_stream(model: ChatOpenAI, server: Any) -> None:
    """A stream that is left open ends with its loop, and the next loop is not disturbed."""
    for backend in ("asyncio", "trio") * 3:

        async def main() -> None:
            stream = model.astream("hi")
            await anext(stream)

        run_on(backend, main)
        run_on(backend, lambda: ask(model))
    gc.collect()
    server.block_for(lambda it: it.open_connections == 0)
    assert len(server.requests) == 6 * 3


async def call_at_once(model: BaseChatModel, verb: str, count: int) -> float:
    """Make ``count`` calls; return the seconds of the processor that they took together."""

    async def one() -> None:
        if verb == "ainvoke":
            await model.ainvoke("hi")
        else:
            assert [chunk async for chunk in model.astream("hi")]

    began = time.process_time()
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return time.process_time() - began


each_verb = pytest.mark.parametrize("verb", ["ainvoke", "astream"])


@each_verb
async def test_two_hundred_sync_hooks_run_at_once(verb: str) -> None:
    """None of them in the threads of the loop's own, of which there are few, and which others need.

    So they take little longer than one: each waits for all the others, and all that they do besides is little.
    """
    others = anyio.to_thread.current_default_thread_limiter()
    together = threading.Barrier(200, lambda: borrowed.append(others.borrowed_tokens))
    borrowed: list[float] = []

    def meet(call: object) -> str:
        together.wait(30)
        return "yes"

    model = hook_model(meet, "generate", "stream")
    spent = [await call_at_once(model, verb, 200) for _ in range(3)]
    assert borrowed == [0] * 3
    assert min(spent) < 2


async def test_an_event_says_that_a_hook_went_to_a_thread() -> None:
    """Once for each request, and of nothing that needs none."""
    recorder = Recorder("on_chat_model_start", "on_offload", "on_llm_end")
    model = hook_model("yes", "generate", "stream", callbacks=[recorder])
    await model.ainvoke("hi")
    async for _ in model.astream("hi"):
        pass
    assert recorder.names == ["on_chat_model_start", "on_offload", "on_llm_end"] * 2


def test_a_sync_verb_needs_no_thread() -> None:
    """The hook runs where it was asked for."""
    recorder = Recorder("on_chat_model_start", "on_offload", "on_llm_end")
    hook_model("yes", "generate", "stream", callbacks=[recorder]).invoke("hi")
    assert recorder.names == ["on_chat_model_start", "on_llm_end"]


# -- in a process of its own

HEAD = """
import asyncio, os, signal, sys, threading, warnings
from hocket.providers.openai import ChatOpenAI

model = ChatOpenAI(model="test-model", base_url=sys.argv[1], api_key="none", retry=None)
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it

def say(*words):
    print(*words, flush=True)
"""


def run(tmp_path: Path, server: Any, script: str, *, on_asked: Callable[[Any], None] | None = None) -> list[str]:
    """Run a script, and return what it said; its last line is what it wrote to standard error, if anything."""
    path = tmp_path / "script.py"
    path.write_text(HEAD + textwrap.dedent(script))
    with subprocess.Popen(
        [sys.executable, "-W", "error", str(path), server.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        if on_asked is not None:
            try:
                server.block_for(lambda it: len(it.requests) == 1, within=30)
                on_asked(process)
            except BaseException:
                process.kill()
                raise
        said = process.stdout.read().splitlines()
        said += process.stderr.read().splitlines()[-1:]
        process.wait(timeout=30)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_connections_of_its_own(tmp_path: Path, server: Any) -> None:
    """It neither uses nor closes the parent's, and its calls are requests of its own."""
    script = """
        say(model.invoke("hi").content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork beside a thread
            child = os.fork()
        if not child:
            say("child", model.invoke("hi").content, asyncio.run(model.ainvoke("hi")).content)
            os._exit(7)
        _, status = os.waitpid(child, 0)
        say("parent", os.waitstatus_to_exitcode(status), model.invoke("hi").content)
    """
    assert run(tmp_path, server, script) == ["yes", "child yes yes", "parent 7 yes"]
    first, kept, fresh, last = [request.connection for request in server.requests]
    assert first == last
    assert len({first, kept, fresh}) == 3


def test_a_sync_verb_works_inside_a_running_loop(tmp_path: Path, server: Any) -> None:
    """As in a notebook, whose cells run in one; outside of one a warning tells that the loop stands still."""
    script = """
        async def cell():
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                say(model.invoke("hi").content, *[one.category.__name__ for one in told])
            import builtins
            builtins.__IPYTHON__ = True
            text = ''.join(chunk.content for chunk in model.stream("hi"))
            say(model.invoke("hi").content, len(model.batch(["hi"] * 2)), text)
            say((await model.ainvoke("hi")).content)

        asyncio.run(cell())
    """
    first, second, third = run(tmp_path, server, script)
    assert first == "yes BlockingCallWarning"
    assert second.split() == ["yes", "2", "yes"]
    assert third == "yes"
    assert len(server.requests) == 6


@pytest.mark.skipif(os.name != "posix", reason="a console's Ctrl-C cannot be sent to a child on Windows")
@pytest.mark.parametrize("verb", ["invoke", "stream", "ainvoke"])
def test_ctrl_c_closes_the_connection(tmp_path: Path, verb: str) -> None:
    """The caller gets KeyboardInterrupt, the server sees that nobody listens, and the next call works."""
    asking = {
        "invoke": "model.invoke('hi')",
        "stream": "list(model.stream('hi'))",
        "ainvoke": "asyncio.run(model.ainvoke('hi'))",
    }
    script = f"""
        try:
            {asking[verb]}
        except KeyboardInterrupt:
            say("interrupted")
        say(model.invoke("hi").content)
    """
    silent_first = iter([Reply("never", delay=float("inf")), *[Reply("yes")] * 3])
    with serve(OpenAIFormat(), silent_first) as server:

        def interrupt(process: Any) -> None:
            process.send_signal(signal.SIGINT)
            server.block_for(lambda it: it.connections - it.open_connections == 1)

        assert run(tmp_path, server, script, on_asked=interrupt) == ["interrupted", "yes"]
        first, second = [request.connection for request in server.requests]
        assert first != second
