"""Streams as objects: order, errors, the bound, the context; leaving them is in `test_stream_leaving`."""

import asyncio
import contextvars
import traceback
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from hocket._runtime.stream import BOUND, Producer, Sink, Stream, SyncStream

setting = contextvars.ContextVar("setting", default="unset")


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


def counting(count: int, error: BaseException | None = None, *, pause: bool = False) -> Producer[int]:
    """Return a producer of 0, 1, … that ends with ``error``."""

    async def produce(sink: Sink[int]) -> None:
        for number in range(count):
            waiting = sink.put(number)
            if waiting is not None:
                await waiting
            if pause:
                await anyio.lowlevel.checkpoint()
        if error is not None:
            raise error

    return produce


@pytest.mark.parametrize("pause", [False, True])
@pytest.mark.parametrize("count", [0, 1, BOUND - 1, BOUND, BOUND + 1, 10 * BOUND])
async def test_items_arrive_in_order_and_none_is_lost(count: int, pause: bool) -> None:
    """Whoever is faster, what goes in comes out."""
    assert [number async for number in Stream(counting(count, pause=pause))] == list(range(count))


@pytest.mark.parametrize("error", [ValueError("no"), Stop("no"), KeyboardInterrupt(), SystemExit(3)])
async def test_an_error_is_raised_by_the_pull_that_reaches_it(
    error: BaseException, task_count: Callable[[], int], settled: Callable[[int], Awaitable[None]]
) -> None:
    """After all that came before it, once, as the object that it is, and it hurts neither loop nor other tasks."""
    before = task_count()
    stream = Stream(counting(3, error))
    seen = [await anext(stream) for _ in range(3)]
    with pytest.raises(type(error)) as caught:
        await anext(stream)
    assert seen == [0, 1, 2]
    assert caught.value is error
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await settled(before)
    for _ in range(100):
        await anyio.lowlevel.checkpoint()


async def test_an_error_before_the_first_item_is_raised_by_the_first_pull() -> None:
    """Nothing was handed out, so nothing is lost."""
    with pytest.raises(ValueError, match="no"):
        await anext(Stream(counting(0, ValueError("no"))))


@pytest.mark.parametrize("count", [0, 3])
async def test_a_producer_that_raises_an_end_of_iteration_has_failed(count: int) -> None:
    """Like a generator (PEP 479): the consumer's loop would end as if all had come. Sync faces of it, too."""

    def read() -> list[int]:
        return list(SyncStream(counting(count, StopAsyncIteration("no")), stepped=False))

    stream = Stream(counting(count, StopAsyncIteration("no")))
    assert [await anext(stream) for _ in range(count)] == list(range(count))
    with pytest.raises(RuntimeError, match="StopAsyncIteration") as failed:
        await anext(stream)
    assert isinstance(failed.value.__cause__, StopAsyncIteration)
    with pytest.raises(RuntimeError, match="StopAsyncIteration"):
        await anyio.to_thread.run_sync(read)


async def test_the_traceback_leads_into_the_producer() -> None:
    """An error shows where it arose, not just where it was handed over."""
    with pytest.raises(ValueError, match="no") as caught:
        await anext(Stream(counting(0, ValueError("no"))))
    assert "produce" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_out_of_nowhere_is_raised_like_an_error(task_count: Callable[[], int]) -> None:
    """A producer in which something was cancelled that had nothing to do with the consumer: the consumer hears of it."""
    before = task_count()
    stream = Stream(counting(1, asyncio.CancelledError("stray")))
    assert await anext(stream) == 0
    with pytest.raises(asyncio.CancelledError, match="stray"):
        await anext(stream)
    await anyio.lowlevel.checkpoint()
    assert task_count() == before


@pytest.mark.parametrize("bound", [1, 2, 3, BOUND])
async def test_a_slow_consumer_is_waited_for(bound: int) -> None:
    """The producer is never more than the bound ahead."""
    produced = 0

    async def produce(sink: Sink[int]) -> None:
        nonlocal produced
        for number in range(200):
            produced += 1
            waiting = sink.put(number)
            if waiting is not None:
                await waiting

    stream = Stream(produce, bound=bound)
    for taken in range(1, 201):
        assert await anext(stream) == taken - 1
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        assert produced - taken <= bound
    assert produced == 200


async def test_nothing_is_produced_before_the_first_pull() -> None:
    """A stream that is only made costs nothing."""
    started = False

    async def produce(sink: Sink[int]) -> None:
        nonlocal started
        started = True

    stream = Stream(produce)
    for _ in range(3):
        await anyio.lowlevel.checkpoint()
    assert not started
    assert [item async for item in stream] == []
    assert started


async def test_the_producer_sees_the_context_of_the_first_pull() -> None:
    """Context variables reach the producer, and what it sets stays there."""
    seen: list[str] = []

    async def produce(sink: Sink[int]) -> None:
        seen.append(setting.get())
        setting.set("the producer's")
        sink.put(1)

    stream = Stream(produce)
    setting.set("the caller's")
    assert [item async for item in stream] == [1]
    assert seen == ["the caller's"]
    assert setting.get() == "the caller's"


async def test_a_producer_may_hold_scopes_and_task_groups_while_it_is_read() -> None:
    """They live in the producer's task, so the consumer may pull from any task, and leave in any."""

    async def produce(sink: Sink[int]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            with anyio.CancelScope():
                for number in range(10):
                    sink.put(number)
                    await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    stream = Stream(produce)
    seen: list[int] = []

    async def pull() -> None:
        seen.append(await anext(stream))

    for _ in range(5):
        async with anyio.create_task_group() as group:
            group.start_soon(pull)
    await stream.aclose()
    assert seen == [0, 1, 2, 3, 4]


async def test_a_hundred_streams_at_once() -> None:
    """Streams share nothing."""
    results: dict[int, list[int]] = {}

    async def read(size: int) -> None:
        results[size] = [number async for number in Stream(counting(size, pause=True))]

    async with anyio.create_task_group() as group:
        for size in range(100):
            group.start_soon(read, size)
    assert results == {size: list(range(size)) for size in range(100)}


async def test_the_consumer_is_not_in_the_producers_way() -> None:
    """An item is handed over while the producer waits for the next one: no batching, no delay."""
    go_on = anyio.Event()

    async def produce(sink: Sink[int]) -> None:
        sink.put(1)
        await go_on.wait()
        sink.put(2)

    stream = Stream(produce)
    with anyio.fail_after(30):
        assert await anext(stream) == 1
        go_on.set()
        assert await anext(stream) == 2


async def test_a_timeout_ends_the_reader_of_a_producer_in_step_with_it() -> None:
    """Two tasks that wake each other in turn never look as if they waited, and can be cancelled all the same."""

    async def produce(sink: Sink[int]) -> None:
        while True:
            sink.put(1)
            await anyio.lowlevel.checkpoint()

    stream = Stream(produce)
    with anyio.move_on_after(0.02) as scope:
        while True:
            await anext(stream)
    assert scope.cancelled_caught
