"""The end of asyncio's loop: ``asyncio.run`` cancels every task there is, so that what was cancelled is struck once more."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Sink, Stream, finish_streams

Finish = Callable[[Callable[[], Awaitable[None]]], Awaitable[object]]
FINISHES: dict[str, Finish] = {
    "run_shielded": lambda job: ASYNC.run_shielded(job()),
    "finish_write": lambda job: ASYNC.run_shielded(finish_write(job)),
}


async def read(stream: Stream[int]) -> None:
    """Read to the end, which never comes."""
    async for _ in stream:
        pass


@pytest.mark.parametrize("steps", range(5))
def test_a_stream_that_has_only_just_begun_is_ended_like_others(steps: int) -> None:
    """Its producer may be struck before its first step; whoever reads would wait for its end for ever."""
    readers: list[asyncio.Task[None]] = []

    async def produce(sink: Sink[int]) -> None:
        await anyio.sleep_forever()

    async def main() -> None:
        readers.append(asyncio.create_task(read(Stream(produce))))
        for _ in range(steps):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert readers[0].cancelled()


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("finish", FINISHES.values(), ids=FINISHES)
def test_what_a_left_stream_does_last_is_done_when_the_loop_ends_meanwhile(finish: Finish, steps: int) -> None:
    """The reader is cancelled, and while the producer cleans up, all tasks are: an answer's half is stored all the same."""
    stored: list[str] = []

    async def store() -> None:
        for _ in range(10):
            await asyncio.sleep(0.001)
        stored.append("half")

    async def produce(sink: Sink[int]) -> None:
        sink.put(1)
        try:
            await anyio.sleep_forever()
        finally:
            await finish(store)

    async def main() -> None:
        task = asyncio.create_task(read(Stream(produce)))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        for _ in range(steps):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert stored == ["half"]


async def test_the_end_of_a_service_waits_for_what_streams_do_last() -> None:
    """`finish_streams` returns when all are over, and says so; those that go on are waited for so long, and no longer."""
    stored: list[str] = []

    async def produce(sink: Sink[int]) -> None:
        sink.put(1)
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
            stored.append("half")

    stream = Stream(produce)
    async with stream:
        assert await anext(stream) == 1
        assert not await finish_streams(0.01)
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)
            await anyio.lowlevel.checkpoint()
            assert await finish_streams()
            assert stored == ["half"]
    assert await finish_streams()
