"""Leaving a stream: in whatever way, its producer ends at once, its clean-up runs, and the caller's task is not hurt."""

import gc
import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from hocket._runtime.stream import Sink, Stream
from hocket.errors import InvalidInput


class Source:
    """A producer without end, which notes what becomes of it. Its clean-up waits."""

    def __init__(self) -> None:
        self.produced = 0
        self.starts = 0
        self.ends: list[bool] = []  # for each end, whether the consumer had left on its own account

    async def __call__(self, sink: Sink[int]) -> None:
        self.starts += 1
        try:
            for number in itertools.count():
                waiting = sink.put(number)
                self.produced += 1
                if waiting is not None:
                    await waiting
                await anyio.lowlevel.checkpoint()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)
            self.ends.append(sink.closed)


class Silent(Source):
    """Says one thing, and then nothing for ever."""

    async def __call__(self, sink: Sink[int]) -> None:
        self.starts += 1
        try:
            sink.put(0)
            await anyio.sleep_forever()
        finally:
            self.ends.append(sink.closed)


async def by_break(source: Source) -> None:
    async for number in Stream(source):
        if number == 3:
            break


async def by_break_in_a_generator(source: Source) -> None:
    async def mine() -> AsyncIterator[int]:
        async for number in Stream(source):
            yield number

    async for number in mine():
        if number == 3:
            break
    gc.collect()


async def by_an_error_in_the_loop(source: Source) -> None:
    with pytest.raises(ZeroDivisionError):
        async for number in Stream(source):
            _ = 1 / (3 - number)


async def by_garbage_collection(source: Source) -> None:
    stream = Stream(source)
    await anext(stream)
    cycle = [stream]
    cycle.append(cycle)  # type: ignore[arg-type]
    del stream, cycle
    gc.collect()


async def by_garbage_collection_in_another_thread(source: Source) -> None:
    held = [Stream(source)]
    await anext(held[0])
    thread = threading.Thread(target=held.clear)
    thread.start()
    while thread.is_alive():  # noqa: ASYNC110
        await anyio.sleep(0.001)


async def by_aclose(source: Source) -> None:
    stream = Stream(source)
    await anext(stream)
    await stream.aclose()
    assert source.ends == [True]  # it has ended when aclose returns


async def by_aclose_twice_at_once(source: Source) -> None:
    stream = Stream(source)
    await anext(stream)
    async with anyio.create_task_group() as group:
        group.start_soon(stream.aclose)
        group.start_soon(stream.aclose)
    await stream.aclose()


async def by_async_with(source: Source) -> None:
    async with Stream(source) as stream:
        async for number in stream:
            if number == 3:
                break
        assert source.ends == []
    assert source.ends == [True]


async def by_an_error_in_async_with(source: Source) -> None:
    with pytest.raises(ZeroDivisionError):
        async with Stream(source) as stream:
            await anext(stream)
            _ = 1 / 0
    assert source.ends == [True]


WAYS = [
    by_break,
    by_break_in_a_generator,
    by_an_error_in_the_loop,
    by_garbage_collection,
    by_garbage_collection_in_another_thread,
    by_aclose,
    by_aclose_twice_at_once,
    by_async_with,
    by_an_error_in_async_with,
]


@pytest.mark.parametrize("leave", WAYS)
@pytest.mark.filterwarnings("ignore:Async generator .*mine:ResourceWarning")  # trio's, of the user's own generator
async def test_leaving_ends_the_producer_once_and_hurts_nobody(
    leave: Callable[[Source], Awaitable[None]],
    task_count: Callable[[], int],
    settled: Callable[[int], Awaitable[None]],
) -> None:
    """However it is left: one start, one end, which knows that the consumer left; no task stays; the caller goes on."""
    before = task_count()
    source = Source()
    await leave(source)
    await settled(before)
    assert (source.starts, source.ends) == (1, [True])
    for _ in range(100):
        await anyio.lowlevel.checkpoint()


async def test_aclose_from_another_task_ends_a_pull_that_waits(settled: Callable[[int], Awaitable[None]]) -> None:
    """The one who waits for an item sees the stream end, and is not cancelled."""
    source = Silent()
    stream = Stream(source)
    seen: list[object] = []

    async def read() -> None:
        async for number in stream:
            seen.append(number)
        seen.append("end")
        await anyio.lowlevel.checkpoint()
        seen.append("goes on")

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
    assert seen == [0, "end", "goes on"]
    assert source.ends == [True]


async def test_a_cancelled_pull_ends_the_stream(
    task_count: Callable[[], int], settled: Callable[[int], Awaitable[None]]
) -> None:
    """It is over when the cancellation arrives, and counts as cancelled, not as left; further pulls find the end."""
    before = task_count()
    source = Silent()
    stream = Stream(source)
    await anext(stream)
    with anyio.move_on_after(0.01) as scope:
        await anext(stream)
    assert scope.cancelled_caught
    assert source.ends == [False]
    assert [number async for number in stream] == []
    await settled(before)
    await stream.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelling_a_waiting_task_twice_changes_nothing(task_count: Callable[[], int]) -> None:
    """`Task.cancel` while the stream cleans up does not cut the clean-up short."""
    import asyncio

    source = Source()
    slow = Slow(source)
    before = task_count()

    async def read() -> None:
        stream = Stream(slow)
        while True:
            await anext(stream)

    task = asyncio.create_task(read())
    await slow.began.wait()
    task.cancel()
    await slow.cleans_up.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.ends == [False]
    assert task_count() == before


class Slow:
    """Takes 20 ms to clean up."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.began, self.cleans_up = anyio.Event(), anyio.Event()

    async def __call__(self, sink: Sink[int]) -> None:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cleans_up.set()
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.02)
            self.source.ends.append(sink.closed)


async def test_a_stream_that_is_never_pulled_never_starts(task_count: Callable[[], int]) -> None:
    """Making, closing or dropping it does nothing; once closed it stays so."""
    before = task_count()
    source = Source()
    Stream(source)
    closed = Stream(source)
    await closed.aclose()
    await closed.aclose()
    async with Stream(source):
        pass
    assert [number async for number in closed] == []
    gc.collect()
    assert task_count() == before
    assert source.starts == 0


async def test_what_was_not_read_is_gone_after_aclose() -> None:
    """A closed stream hands out nothing more, even what had arrived."""
    stream = Stream(Source())
    assert await anext(stream) == 0
    await anyio.wait_all_tasks_blocked()  # the producer runs ahead
    await stream.aclose()
    assert [number async for number in stream] == []


async def test_a_finished_stream_may_be_closed_and_pulled_again() -> None:
    """The end stays the end."""

    async def three(sink: Sink[int]) -> None:
        for number in range(3):
            sink.put(number)

    stream = Stream(three)
    assert [number async for number in stream] == [0, 1, 2]
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_finaliser_outlives_its_loop() -> None:
    """A stream dropped after its loop has ended harms nobody (the loop itself ended the producer)."""
    kept: list[Stream[int]] = []
    source = Source()

    async def main() -> None:
        kept.append(Stream(source))
        await anext(kept[0])

    def another_loop() -> None:
        anyio.run(main)
        kept.clear()
        gc.collect()

    await anyio.to_thread.run_sync(another_loop)
    assert source.ends == [False]


async def test_a_stream_that_was_begun_on_another_loop() -> None:
    """It is refused in words: a cancellation, as its end was there, would be taken for one of the reader's own."""
    kept: list[Stream[int]] = []

    async def begin() -> None:
        kept.append(Stream(Source()))
        await anext(kept[0])

    await anyio.to_thread.run_sync(anyio.run, begin)
    with pytest.raises(InvalidInput, match="another event loop"):
        async for _ in kept[0]:  # what had come is there
            pass
