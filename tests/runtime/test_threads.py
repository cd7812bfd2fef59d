"""Items made in a worker thread: handed over in order, not too far ahead, and the thread stops when nobody listens."""

import contextvars
import threading
from collections.abc import Callable

import anyio
import anyio.to_thread
import pytest

from hocket._runtime import mode
from hocket._runtime.stream import Sink, Stream
from hocket._runtime.thread_stream import BOUND, from_thread

setting = contextvars.ContextVar("setting", default="unset")

Put = Callable[[int], bool]


class Work:
    """Sync code without end, which notes what becomes of it."""

    def __init__(self, count: int = 1_000_000, error: BaseException | None = None) -> None:
        self.count = count
        self.error = error
        self.produced = 0
        self.started = False
        self.over = threading.Event()

    def __call__(self, put: Put) -> None:
        self.started = True
        try:
            for number in range(self.count):
                self.produced += 1
                if put(number):
                    return
            if self.error is not None:
                raise self.error
        finally:
            self.over.set()

    async def has_ended(self) -> bool:
        with anyio.move_on_after(30):
            while not self.over.is_set():  # noqa: ASYNC110 - set in a thread
                await anyio.sleep(0.001)
        return self.over.is_set()


@pytest.mark.parametrize("count", [0, 1, BOUND, 5 * BOUND + 1])
async def test_items_arrive_in_order_and_none_is_lost(count: int) -> None:
    """What the thread puts, the loop gets."""
    seen: list[int] = []
    await from_thread(Work(count), seen.append)
    assert seen == list(range(count))


async def test_what_takes_an_item_may_wait() -> None:
    """An item is finished with before the next one is looked at."""
    seen: list[str] = []

    async def slowly(item: int) -> None:
        seen.append(f"{item} in")
        await anyio.lowlevel.checkpoint()
        seen.append(f"{item} out")

    await from_thread(Work(3), slowly)
    assert seen == ["0 in", "0 out", "1 in", "1 out", "2 in", "2 out"]


async def test_a_slow_loop_is_waited_for() -> None:
    """The thread is never more than the bound ahead."""
    work = Work(4 * BOUND)
    ahead: list[int] = []

    async def slowly(item: int) -> None:
        await anyio.sleep(0.0005)
        ahead.append(work.produced - item)

    await from_thread(work, slowly)
    assert max(ahead) <= BOUND + 1


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), StopIteration("no")])
async def test_an_error_in_the_thread_is_raised_after_the_items(error: BaseException) -> None:
    """As itself, where it is awaited (a StopIteration as the RuntimeError that Python makes of it in a coroutine)."""
    seen: list[int] = []
    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    with pytest.raises(expected) as caught:
        await from_thread(Work(3, error), seen.append)
    assert error in (caught.value, caught.value.__cause__)
    assert seen == [0, 1, 2]


async def test_an_error_in_the_loop_stops_the_thread() -> None:
    """Nobody listens any more, so the thread ends at its next item."""
    work = Work()

    def refuse(item: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await from_thread(work, refuse)
    assert await work.has_ended()


async def test_a_cancelled_reader_leaves_at_once_and_the_thread_ends() -> None:
    """Also while the thread waits for room."""
    work = Work()

    async def never(item: int) -> None:
        scope.deadline = anyio.current_time() + 0.01  # no sooner: a thread that has not begun would not begin
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await from_thread(work, never)
    assert scope.cancelled_caught
    assert await work.has_ended()
    assert work.produced <= BOUND + 1


async def test_a_reader_who_leaves_before_there_is_a_thread_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that waited for a free thread is not begun once nobody wants it: it might cost money."""
    full = anyio.CapacityLimiter(1)
    monkeypatch.setattr(mode, "thread_limiter", lambda token: full)
    work = Work()
    async with full:
        with anyio.move_on_after(0.01):
            await from_thread(work, lambda item: None)
    for _ in range(20):
        await anyio.sleep(0.001)
    assert not work.started


async def test_a_thread_that_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is raised to whoever waits, and harms nobody else."""

    async def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(anyio.to_thread, "run_sync", refuse)
    with anyio.fail_after(30), pytest.raises(RuntimeError, match="can't start new thread"):
        await from_thread(Work(), lambda item: None)
    await anyio.lowlevel.checkpoint()


async def test_the_thread_sees_the_callers_context() -> None:
    """Context variables reach the hook."""
    seen: list[str] = []
    setting.set("the caller's")
    await from_thread(lambda put: seen.append(setting.get()), lambda item: None)
    assert seen == ["the caller's"]


async def test_a_stream_over_a_thread_can_be_left() -> None:
    """Closed while the thread is ahead: it ends, and the stream does not wait for it."""
    work = Work()

    async def produce(sink: Sink[int]) -> None:
        await from_thread(work, sink.put)

    stream = Stream(produce)
    assert [await anext(stream) for _ in range(100)] == list(range(100))
    await stream.aclose()
    assert await work.has_ended()
    assert work.produced <= 100 + 3 * BOUND


async def test_a_thread_that_never_pauses_does_not_hold_up_the_loop() -> None:
    """A timeout still ends the reader, and other tasks get their turn."""
    work = Work(10**9)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    def take(item: int) -> None:
        if item == 0:  # the thread has begun
            scope.deadline = anyio.current_time() + 0.02

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        with anyio.CancelScope() as scope:
            await from_thread(work, take)
        group.cancel_scope.cancel()
    assert scope.cancelled_caught
    assert turns
    assert await work.has_ended()
