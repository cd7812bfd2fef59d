"""Streams of models, left in every way: the run ends once, and says so; the hook has cleaned up; nothing is left."""

import asyncio
import gc
import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import Field

from hocket._runtime.cancellation import hidden_tasks
from hocket.caches import InMemoryCache
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk


class Noted(BaseChatModel):
    """Notes how often its hook has begun, and how often it has cleaned up."""

    began: Any = Field(default_factory=list, exclude=True)
    ended: Any = Field(default_factory=list, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "noted"


def chunk(text: str) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(text))


class Eager(Noted):
    """Always has another chunk, so that it is the consumer who is waited for. Its clean-up waits."""

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.began.append(1)
        try:
            for number in itertools.count():
                yield chunk(str(number))
                await anyio.lowlevel.checkpoint()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)
            self.ended.append(1)


class Silent(Noted):
    """Says four things, and then nothing for ever: it is cancelled where it waits."""

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.began.append(1)
        async with anyio.create_task_group() as group:  # a hook may hold what it likes across its yields
            group.start_soon(anyio.sleep_forever)
            try:
                for number in range(4):
                    yield chunk(str(number))
                await anyio.sleep_forever()
            finally:
                self.ended.append(1)


class Threaded(Noted):
    """Streams in sync code, so in a worker thread."""

    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.began.append(1)
        try:
            for number in itertools.count():
                yield chunk(str(number))
        finally:
            self.ended.append(1)


MODELS: dict[str, Callable[..., Noted]] = {
    "eager": Eager,
    "silent": Silent,
    "threaded": Threaded,
    "silent with a cache": lambda **fields: Silent(cache=InMemoryCache(), **fields),
}


async def by_break(stream: Any) -> None:
    async for one in stream:
        if one.text == "3":
            break


async def by_break_in_a_generator(stream: Any) -> None:
    async def mine(stream: Any) -> AsyncIterator[Any]:
        async for one in stream:
            yield one

    generator = mine(stream)
    del stream
    async for one in generator:
        if one.text == "3":
            break
    del generator
    gc.collect()


async def by_an_error(stream: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async for one in stream:
            _ = 1 / (3 - int(one.text))


async def by_collection(stream: Any) -> None:
    await anext(stream)
    cycle = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()


async def by_collection_in_another_thread(stream: Any) -> None:
    await anext(stream)
    held = [stream]
    del stream
    thread = threading.Thread(target=held.clear)
    thread.start()
    while thread.is_alive():  # noqa: ASYNC110
        await anyio.sleep(0.001)


async def by_aclose(stream: Any) -> None:
    await anext(stream)
    await stream.aclose()
    await stream.aclose()


async def by_async_with(stream: Any) -> None:
    async with stream:
        await by_break(stream)


WAYS = [
    by_break,
    by_break_in_a_generator,
    by_an_error,
    by_collection,
    by_collection_in_another_thread,
    by_aclose,
    by_async_with,
]


def living_tasks() -> int:
    try:
        return len(asyncio.all_tasks() | hidden_tasks)
    except RuntimeError:
        import trio

        return trio.lowlevel.current_statistics().tasks_living


async def settle(tasks: int, model: Noted) -> None:
    """Wait until as many tasks are left as there were, and the hook has cleaned up."""
    with anyio.move_on_after(30):
        while living_tasks() > tasks or len(model.ended) < len(model.began):  # noqa: ASYNC110
            await anyio.sleep(0.001)
    assert living_tasks() == tasks
    assert (model.began, model.ended) == ([1], [1])
    for _ in range(100):  # the caller's own task is in order
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("leave", WAYS)
@pytest.mark.filterwarnings("ignore:Async generator .*mine:ResourceWarning")  # trio's, of the user's own generator
async def test_a_stream_that_is_left_ends_once_as_left(
    make: Callable[..., Noted],
    leave: Callable[[Any], Awaitable[None]],
    recorder: Any,
    logged: pytest.LogCaptureFixture,
) -> None:
    """On asyncio and trio, whatever the hook, however it is left: one end, `closed`, with what had come."""
    tasks = living_tasks()
    model = make(callbacks=[recorder])
    await leave(model.astream("hi"))
    await settle(tasks, model)
    assert recorder.end == "on_llm_end closed"
    (response,) = recorder.firsts("on_llm_end")
    assert response.generations[0][0].text.startswith("0")
    assert not logged.records


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
async def test_a_cancelled_pull_ends_the_run_as_cancelled(make: Callable[..., Noted], recorder: Any) -> None:
    """That is no leaving: the handlers hear of an error, and of what had come."""
    tasks = living_tasks()
    model = make(callbacks=[recorder])
    with anyio.CancelScope() as scope:
        async for one in model.astream("hi"):
            if one.content == "3":  # the last that the silent one says
                scope.deadline = anyio.current_time() + 0.02
    assert scope.cancelled_caught
    await settle(tasks, model)
    assert recorder.end == "on_llm_error"
    assert isinstance(recorder.firsts("on_llm_error")[0], anyio.get_cancelled_exc_class())


async def test_aclose_from_another_task_while_a_pull_waits(recorder: Any) -> None:
    """The reader sees the end of the stream, and goes on."""
    tasks = living_tasks()
    model = Silent(callbacks=[recorder])
    stream = model.astream("hi")
    read: list[str] = []

    async def reader() -> None:
        async for one in stream:
            read.append(one.text)
        await anyio.lowlevel.checkpoint()
        read.append("goes on")

    async with anyio.create_task_group() as group:
        group.start_soon(reader)
        while len(read) < 4:
            await anyio.lowlevel.checkpoint()
        await stream.aclose()
        assert recorder.end == "on_llm_end closed"
    assert read == ["0", "1", "2", "3", "goes on"]
    assert stream.message.content == "0123"
    await settle(tasks, model)


async def test_a_stream_that_is_closed_before_its_start_is_no_run(recorder: Any) -> None:
    """Nobody hears of it, and the hook is not asked."""
    model = Silent(callbacks=[recorder])
    await model.astream("hi").aclose()
    model.astream("hi")
    async with model.astream("hi") as stream:
        pass
    assert [one async for one in stream] == []
    assert (recorder.events, model.began) == ([], [])


class Careful(Noted):
    """Is always ahead of its consumer, and waits while it cleans up, with nothing to shield it."""

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.began.append(1)
        try:
            for number in itertools.count():
                yield chunk(str(number))
        finally:
            for _ in range(3):
                await anyio.sleep(0.002)
            self.ended.append(1)


@pytest.mark.parametrize("leave", WAYS)
@pytest.mark.filterwarnings("ignore:Async generator .*mine:ResourceWarning")
async def test_a_hook_that_is_left_at_its_yield_may_wait_while_it_cleans_up(leave: Any) -> None:
    """It is closed there, not cancelled. (One that is cancelled where it waits has to shield its clean-up.)"""
    tasks = living_tasks()
    model = Careful()
    await leave(model.astream("hi"))
    await settle(tasks, model)


class Stubborn(Noted):
    """Swallows its cancellation and goes on."""

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.began.append(1)
        try:
            for number in itertools.count():
                try:
                    await anyio.sleep(60 if number else 0)
                except anyio.get_cancelled_exc_class():
                    pass
                yield chunk(str(number))
        finally:
            self.ended.append(1)


@pytest.mark.parametrize("cache", [False, InMemoryCache()], ids=["no cache", "a cache"])
async def test_a_hook_that_swallows_its_cancellation_is_stopped_at_its_next_chunk(cache: Any, recorder: Any) -> None:
    """Nobody takes it."""
    tasks = living_tasks()
    model = Stubborn(cache=cache, callbacks=[recorder])
    stream = model.astream("hi")
    await anext(stream)
    with anyio.fail_after(30):
        await stream.aclose()
    await settle(tasks, model)
    assert recorder.end == "on_llm_end closed"
