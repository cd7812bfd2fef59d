"""Rate limiters: the rate asked for is the rate given, first come first served, without polling, and nothing leaks."""

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket._runtime import clock as seam
from hocket.errors import InvalidInput
from hocket.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
from hocket.testing import VirtualClock, virtual_clock


class Queue:
    """Waiters of one limiter, each a task; notes who was let through, and when."""

    def __init__(self, limiter: InMemoryRateLimiter) -> None:
        self.limiter = limiter
        self.let_through: list[tuple[int, float]] = []
        self.scopes: dict[int, anyio.CancelScope] = {}

    async def wait(self, number: int) -> None:
        with anyio.CancelScope() as scope:
            self.scopes[number] = scope
            assert await self.limiter.aacquire()
            self.let_through.append((number, seam.current().now()))

    async def stand(self, group: anyio.abc.TaskGroup, count: int) -> None:
        """Let so many line up, in order (trio starts its tasks in any)."""
        for number in range(count):
            length = len(self.limiter._queue)
            group.start_soon(self.wait, number)
            while len(self.limiter._queue) == length:
                await anyio.lowlevel.checkpoint()

    def order(self) -> list[int]:
        return [number for number, _ in self.let_through]

    def times(self) -> list[float]:
        return [moment for _, moment in self.let_through]


class CountingClock:
    """A clock that counts how often it is asked to wait."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.sleeps = 0

    def now(self) -> float:
        return self.clock.now()

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        await self.clock.sleep(seconds)

    def block(self, seconds: float) -> None:
        self.sleeps += 1
        self.clock.block(seconds)


@pytest.fixture
def still_clock() -> Iterator[VirtualClock]:
    """A virtual clock that moves only when told to."""
    with virtual_clock(autojump=False) as clock:
        yield clock


async def test_waiters_are_let_through_in_order_and_on_the_dot(virtual_clock: VirtualClock) -> None:
    """Starting empty, one an interval, to those who came first."""
    queue = Queue(InMemoryRateLimiter(requests_per_second=4))
    async with anyio.create_task_group() as group:
        await queue.stand(group, 20)
    assert queue.order() == list(range(20))
    assert queue.times() == pytest.approx([(number + 1) / 4 for number in range(20)])


@pytest.mark.parametrize("rate", [0.5, 7, 200, 10_000])
async def test_the_rate_asked_for_is_the_rate_given(rate: float, virtual_clock: VirtualClock) -> None:
    """Fifty waiters who come again and again get all of it, to the rounding."""
    limiter = InMemoryRateLimiter(requests_per_second=rate)
    count = itertools.count()

    async def come_again() -> None:
        while next(count) < 1000:
            await limiter.aacquire()

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(come_again)
    assert virtual_clock.now() == pytest.approx(1000 / rate)


async def test_nobody_polls(virtual_clock: VirtualClock) -> None:
    """Of a hundred waiters, only the first in the queue looks at the clock: one wait each."""
    clock = CountingClock(virtual_clock)
    seam.use(clock)
    queue = Queue(InMemoryRateLimiter(requests_per_second=1, check_every_n_seconds=0.001))
    async with anyio.create_task_group() as group:
        await queue.stand(group, 100)
    assert virtual_clock.now() == pytest.approx(100)
    assert clock.sleeps == 100


class LateClock(CountingClock):
    """Wakes its sleepers 3 ms late, as a loop does that has other things to do."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds + 0.003)


async def test_late_waking_does_not_add_up(virtual_clock: VirtualClock) -> None:
    """200 requests a second to 50 waiters are 98 % of that, however late the loop wakes each of them."""
    seam.use(LateClock(virtual_clock))
    limiter = InMemoryRateLimiter(requests_per_second=200)
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(limiter.aacquire)
    assert 50 / virtual_clock.now() >= 0.98 * 200


async def test_the_bucket_fills_during_a_pause(virtual_clock: VirtualClock) -> None:
    """After a pause as many as fit in it go at once, and no more."""
    limiter = InMemoryRateLimiter(requests_per_second=2, max_bucket_size=3)
    queue = Queue(limiter)
    await limiter.aacquire()
    await virtual_clock.sleep(60)
    now = virtual_clock.now()
    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(queue.wait, number)
    assert [moment - now for moment in queue.times()] == pytest.approx([0, 0, 0, 0.5, 1, 1.5])


async def test_a_pause_shorter_than_the_bucket_fills_it_in_part(virtual_clock: VirtualClock) -> None:
    """What is saved up is what was due and not taken."""
    limiter = InMemoryRateLimiter(requests_per_second=1, max_bucket_size=10)
    await limiter.aacquire()
    await virtual_clock.sleep(3.5)
    granted = [limiter.acquire(blocking=False) for _ in range(6)]
    assert granted == [True, True, True, False, False, False]


async def test_it_starts_empty(virtual_clock: VirtualClock) -> None:
    """However large the bucket, and however long nobody asked: the first one waits, as in LangChain."""
    limiter = InMemoryRateLimiter(requests_per_second=1, max_bucket_size=5)
    await virtual_clock.sleep(100)
    assert not limiter.acquire(blocking=False)
    await limiter.aacquire()
    assert virtual_clock.now() == 101


async def test_a_loop_that_stood_still_is_not_followed_by_a_burst(still_clock: VirtualClock) -> None:
    """Waiters who wake a minute late do not go all at once."""
    queue = Queue(InMemoryRateLimiter(requests_per_second=1))
    async with anyio.create_task_group() as group:
        await queue.stand(group, 30)
        still_clock.advance(60)
        await anyio.wait_all_tasks_blocked()
        assert queue.order() == [0]
        still_clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        assert queue.order() == [0, 1]
        group.cancel_scope.cancel()


async def test_not_blocking_takes_what_is_there_and_never_jumps_the_queue(still_clock: VirtualClock) -> None:
    """False at once, with nothing left behind; True when a permit is due and nobody waits for it."""
    limiter = InMemoryRateLimiter(requests_per_second=1)
    assert not await limiter.aacquire(blocking=False)
    assert not limiter.acquire(blocking=False)
    still_clock.advance(1)
    assert await limiter.aacquire(blocking=False)
    assert not limiter.acquire(blocking=False)

    queue = Queue(limiter)
    async with anyio.create_task_group() as group:
        await queue.stand(group, 1)
        still_clock.advance(1)  # the permit belongs to the one who waits, who has not run yet
        assert not limiter.acquire(blocking=False)
        assert not await limiter.aacquire(blocking=False)
    assert queue.order() == [0]
    assert not limiter._queue


@pytest.mark.parametrize("leaver", [0, 3, 9])
async def test_one_who_leaves_is_passed_over(leaver: int, still_clock: VirtualClock) -> None:
    """First, middle or last: those behind move up by one, no permit is lost, and nothing is left of him."""
    queue = Queue(InMemoryRateLimiter(requests_per_second=1))
    async with anyio.create_task_group() as group:
        await queue.stand(group, 10)
        still_clock.advance(0.5)
        queue.scopes[leaver].cancel()
        await anyio.wait_all_tasks_blocked()
        still_clock.autojump = True
        still_clock.advance(0)
    assert queue.order() == [number for number in range(10) if number != leaver]
    assert queue.times() == pytest.approx(range(1, 10))
    assert not queue.limiter._queue


async def test_all_may_leave_at_once(virtual_clock: VirtualClock) -> None:
    """And the next one is served as if they had never been there."""
    limiter = InMemoryRateLimiter(requests_per_second=1)
    queue = Queue(limiter)
    async with anyio.create_task_group() as group:
        await queue.stand(group, 100)
        group.cancel_scope.cancel()
    assert not limiter._queue
    await limiter.aacquire()
    assert virtual_clock.now() == pytest.approx(len(queue.let_through) + 1)


def test_threads_and_loops_share_one_queue() -> None:
    """First come, first served over all of them, at one rate."""
    limiter = InMemoryRateLimiter(requests_per_second=500)
    order: list[int] = []

    def in_thread(number: int) -> None:
        assert limiter.acquire()
        order.append(number)

    def in_loop(number: int, backend: str) -> None:
        async def main() -> None:
            assert await limiter.aacquire()
            order.append(number)

        anyio.run(main, backend=backend)

    with virtual_clock(autojump=False) as clock:  # at rest, so that the bucket stays empty until all are in the queue
        threads = []
        for number in range(12):
            target: Callable[..., Any] = in_loop if number % 3 else in_thread
            args = (number, "asyncio" if number % 3 == 1 else "trio") if number % 3 else (number,)
            threads.append(threading.Thread(target=target, args=args))
            threads[-1].start()
            while len(limiter._queue) <= number:
                time.sleep(0.001)
        for served in range(12):
            while clock._head() is None:  # the first in the queue may know how long to sleep, and not sleep yet
                time.sleep(0.001)
            clock.advance(1 / 500)
            while len(order) <= served:
                time.sleep(0.001)
        for thread in threads:
            thread.join()
    assert order == list(range(12))
    assert not limiter._queue


def test_a_stopped_thread_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while it waits: the next one moves up."""

    class Interrupted(CountingClock):
        def block(self, seconds: float) -> None:
            raise KeyboardInterrupt

    limiter = InMemoryRateLimiter(requests_per_second=0.01)
    before = seam.use(Interrupted(VirtualClock()))
    try:
        with pytest.raises(KeyboardInterrupt):
            limiter.acquire()
    finally:
        seam.use(before)
    assert not limiter._queue


def test_sync_waiters_wait_by_the_clock(virtual_clock: VirtualClock) -> None:
    """`acquire` in a plain thread: the same schedule."""
    limiter = InMemoryRateLimiter(requests_per_second=2)
    for _ in range(5):
        assert limiter.acquire()
    assert virtual_clock.now() == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"requests_per_second": 0}, "requests_per_second is 0"),
        ({"requests_per_second": -1}, "requests_per_second is -1"),
        ({"requests_per_second": math.nan}, "requests_per_second is nan"),
        ({"max_bucket_size": 0}, "max_bucket_size is 0"),
        ({"max_bucket_size": 0.5}, "max_bucket_size is 0.5"),
        ({"max_bucket_size": math.nan}, "max_bucket_size is nan"),
    ],
)
def test_a_rate_that_lets_nothing_through_is_refused(arguments: dict[str, float], message: str) -> None:
    """At construction, with the value and the limit."""
    with pytest.raises(InvalidInput, match=message):
        InMemoryRateLimiter(**arguments)


def test_the_constructor_is_langchains() -> None:
    """All arguments by keyword, with the same defaults."""
    limiter = InMemoryRateLimiter()
    assert (limiter.requests_per_second, limiter.check_every_n_seconds, limiter.max_bucket_size) == (1, 0.1, 1)
    with pytest.raises(TypeError):
        InMemoryRateLimiter(1)  # type: ignore[misc]
    with pytest.raises(TypeError, match="abstract"):
        BaseRateLimiter()  # type: ignore[abstract]


async def test_an_endless_rate_never_waits(virtual_clock: VirtualClock) -> None:
    """Infinity is above 0."""
    limiter = InMemoryRateLimiter(requests_per_second=math.inf)
    for _ in range(100):
        await limiter.aacquire()
    assert virtual_clock.now() == 0
