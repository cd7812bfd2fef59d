"""A limit that nobody told: found from refusals alone, without any header, and held."""

import itertools
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import anyio
import pytest

from hocket.rate_limiters import RateLimiter
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.opening import open_store
from hocket.rate_limiters.schedule import End
from hocket.rate_limiters.store import Exchange, MemoryStore, Store
from hocket.testing import VirtualClock
from tests.kit.amount import leave_for_night

MINUTES = 4
"""Of which the third and the fourth count."""


class Server(Protocol):
    """One with a limit that it does not tell."""

    def ask(self, now: float, amount: float) -> bool:
        """Take what a request needs, if the limit has room for it."""
        ...


class SlidingWindow:
    """Counts what it took in the last minute."""

    def __init__(self, limit: float, single: float) -> None:
        self.limit, self.used = limit, 0.0
        self.log: deque[tuple[float, float]] = deque()

    def ask(self, now: float, amount: float) -> bool:
        while self.log and self.log[0][0] <= now - 60:
            self.used -= self.log.popleft()[1]
        if self.used + amount > self.limit:
            return False
        self.log.append((now, amount))
        self.used += amount
        return True


class EachMinute:
    """Counts what it took in each minute of the clock."""

    def __init__(self, limit: float, single: float) -> None:
        self.limit, self.minute, self.used = limit, 0, 0.0

    def ask(self, now: float, amount: float) -> bool:
        if now // 60 > self.minute:
            self.minute, self.used = int(now // 60), 0.0
        if self.used + amount > self.limit:
            return False
        self.used += amount
        return True


class Bucket:
    """Has room for some requests, or for two seconds' worth, and fills as time goes."""

    def __init__(self, limit: float, single: float) -> None:
        self.limit, self.size = limit, max(3 * single, limit / 30)
        self.level, self.at = self.size, 0.0

    def ask(self, now: float, amount: float) -> bool:
        self.level, self.at = min(self.size, self.level + (now - self.at) * self.limit / 60), now
        if self.level < amount:
            return False
        self.level -= amount
        return True


class FullBucket(Bucket):
    """Has room for a whole minute's."""

    def __init__(self, limit: float, single: float) -> None:
        super().__init__(limit, single)
        self.size = self.level = limit


Kind = Callable[[float, float], Server]
KINDS: list[Kind] = [SlidingWindow, EachMinute, Bucket, FullBucket]
# They differ in arithmetic alone, which `test_so_is_a_large_one` asks all of them without a loop: the others at night.
ONE_OF_THEM = [KINDS[0], *leave_for_night(*KINDS[1:])]


class Served(NamedTuple):
    """What came of it."""

    shares: list[float]
    """Of the limit, by minute."""

    refused: float
    """Of the requests from the third minute on."""


def count(served: list[tuple[float, float]], refused: list[float], limit: float) -> Served:
    shares = [
        sum(amount for at, amount in served if 60 * minute <= at < 60 * minute + 60) / limit
        for minute in range(MINUTES)
    ]
    late, told = sum(at >= 120 for at, _ in served), sum(at >= 120 for at in refused)
    return Served(shares, told / (late + told))


async def serve(
    limiters: list[RateLimiter], server: Server, limit: float, asked: float, sizes: list[int], clock: VirtualClock
) -> Served:
    """Have workers ask for so many times the limit. No refusal says for how long to wait."""
    chance = random.Random(1)
    mean = sum(sizes) / len(sizes) if sizes else 1.0
    workers = max(4, round(limit / mean * asked / 20))
    pause = 60 * workers / (limit / mean * asked)
    served: list[tuple[float, float]] = []
    refused: list[float] = []

    async def work(limiter: RateLimiter) -> None:
        while clock.now() < 60 * MINUTES:
            tokens = chance.choice(sizes) if sizes else 0
            permit = await limiter.areserve(tokens)
            assert permit is not None
            await clock.sleep(0.2)
            if server.ask(clock.now(), tokens or 1):
                served.append((clock.now(), tokens or 1))
                await permit.asettle(tokens)
                await clock.sleep(pause)
            else:
                refused.append(clock.now())
                await permit.arefund()
                await limiter.aslow_down()

    async with anyio.create_task_group() as group:
        for number in range(workers):
            group.start_soon(work, limiters[number % len(limiters)])
    return count(served, refused, limit)


@pytest.mark.parametrize("kind", ONE_OF_THEM)
@pytest.mark.parametrize(("limit", "asked"), [(30, 1.3), (30, 5), pytest.param(300, 2, marks=pytest.mark.nightly)])
async def test_a_hidden_limit_is_reached_in_two_minutes_and_held(
    kind: Kind, limit: int, asked: float, virtual_clock: VirtualClock
) -> None:
    """90 % of it in the third minute and the fourth; few requests are refused from then on."""
    got = await serve([RateLimiter()], kind(limit, 1), limit, asked, [], virtual_clock)
    assert min(got.shares[2:]) >= 0.9, got
    assert got.refused <= (0.2 if limit == 30 else 0.1), got


@pytest.mark.parametrize("kind", ONE_OF_THEM)
@pytest.mark.parametrize(
    ("limit", "sizes"),
    [(30_000, [800, 1000, 1200]), pytest.param(300_000, [100, 300, 700, 1500, 2400], marks=pytest.mark.nightly)],
)
async def test_so_is_one_of_tokens(kind: Kind, limit: int, sizes: list[int], virtual_clock: VirtualClock) -> None:
    """Where so many requests make a minute's tokens that it does not matter which ones come."""
    got = await serve([RateLimiter()], kind(limit, 1000), limit, 2, sizes, virtual_clock)
    assert min(got.shares[2:]) >= 0.9, got
    assert got.refused <= 0.16, got


def serve_by_turns(stores: Sequence[Store], server: Server, limit: int, time: list[float]) -> Served:
    """Have one who holds each of the stores ask for three times the limit."""
    served: list[tuple[float, float]] = []
    refused: list[float] = []
    for store in itertools.cycle(stores):
        if (now := time[0]) >= 60 * MINUTES:
            return count(served, refused, limit)
        reply = store.exchange(Exchange([Tokens(0, 0)]))
        assert reply is not None
        [grant] = reply.grants
        time[0] = now = now + max(grant.wait, 60 / limit / 3)
        if server.ask(now, 1):
            served.append((now, 1))
        else:
            refused.append(now)
            store.exchange(Exchange(ends=[End(grant.seq, 0, 0, None)]))
            store.slow_down(0)
    raise AssertionError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [300, 3000])
def test_so_is_a_large_one(kind: Kind, limit: int) -> None:
    """Asked by one after the other, without a loop."""
    time = [0.0]
    got = serve_by_turns([MemoryStore(RateLimits(), lambda: time[0])], kind(limit, 1), limit, time)
    assert min(got.shares[2:]) >= 0.9, got
    assert got.refused <= 0.1, got


@pytest.mark.parametrize("kind", ONE_OF_THEM)
def test_processes_find_it_together(kind: Kind, address: str, name: str) -> None:
    """Two that share a store: each refusal slows down both, and what one found the other has."""
    time = [0.0]
    stores = [open_store(address, name) for _ in range(2)]
    for store in stores:
        store._time = lambda: 1e9 + time[0]  # type: ignore[attr-defined]  # minutes would be too long
        store.configure(RateLimits())
    got = serve_by_turns(stores, kind(120, 1), 120, time)
    assert min(got.shares[2:]) >= 0.9, got
    assert got.refused <= 0.12, got
    first, second = (store.read() for store in stores)
    assert first is not None
    assert second is not None
    assert first.factor == second.factor


async def test_two_limiters_find_it_together(virtual_clock: VirtualClock) -> None:
    """With waiters in both."""
    limiters = [RateLimiter(), RateLimiter()]
    limiters[1]._line.store = limiters[0]._line.store
    got = await serve(limiters, SlidingWindow(90, 1), 90, 3, [], virtual_clock)
    assert min(got.shares[2:]) >= 0.9, got


@pytest.mark.parametrize("requests", [60, *leave_for_night(1200)])
async def test_a_known_limit_that_others_use_too_is_shared(requests: int, virtual_clock: VirtualClock) -> None:
    """Where a half of it is what the server lets through, that is what is used, and what was asked beyond is little."""
    limiter, level, at, let_through, refused = RateLimiter(requests), 1.0, 0.0, 0, 0
    while virtual_clock.now() < 600:
        await limiter.aacquire()
        level = min(requests / 20, level + (virtual_clock.now() - at) * requests / 120)
        at = virtual_clock.now()
        if level >= 1:
            level, let_through = level - 1, let_through + 1
        else:
            refused += 1
            await limiter.aslow_down()
    assert let_through >= 0.95 * requests / 2 * 10
    assert refused <= 0.15 * let_through


async def test_a_limit_that_is_given_ends_what_was_guessed(virtual_clock: VirtualClock) -> None:
    """It never goes above what was given, however much more the server let through before."""
    limiter = RateLimiter()
    for _ in range(600):
        await limiter.aacquire()
        await virtual_clock.sleep(0.1)
    await limiter.aslow_down()
    assert (limiter.state().requests_per_minute or 0) > 500
    limiter._line.store.configure(RateLimits(requests=60))
    state = limiter.state()
    assert state.requests_per_minute == 60
    assert state.share <= 1
