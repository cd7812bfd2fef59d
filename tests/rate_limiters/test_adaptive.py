"""A limit that nobody told: found from refusals alone, and held."""

from collections import deque

import anyio
import pytest

from hocket.rate_limiters import RateLimiter
from hocket.testing import VirtualClock

HIDDEN = 300
ASKED = 1000
WORKERS = 60


class SlidingWindow:
    """Counts the requests of the last minute; says when the next may come."""

    def __init__(self) -> None:
        self.log: deque[float] = deque()

    def ask(self, now: float) -> float:
        while self.log and self.log[0] <= now - 60:
            self.log.popleft()
        if len(self.log) >= HIDDEN:
            return self.log[0] + 60 - now
        self.log.append(now)
        return 0.0


class Minutes:
    """Counts the requests of each minute."""

    def __init__(self) -> None:
        self.minute = self.count = 0

    def ask(self, now: float) -> float:
        if now // 60 > self.minute:
            self.minute, self.count = int(now // 60), 0
        if self.count >= HIDDEN:
            return (self.minute + 1) * 60 - now
        self.count += 1
        return 0.0


class Bucket:
    """A token bucket that holds ten."""

    def __init__(self) -> None:
        self.level, self.at = 10.0, 0.0

    def ask(self, now: float) -> float:
        self.level, self.at = min(10.0, self.level + (now - self.at) * HIDDEN / 60), now
        if self.level < 1:
            return (1 - self.level) * 60 / HIDDEN
        self.level -= 1
        return 0.0


@pytest.mark.parametrize("kind", [SlidingWindow, Minutes, Bucket])
async def test_a_hidden_limit_is_reached_in_two_minutes_and_held(
    kind: type[SlidingWindow | Minutes | Bucket], virtual_clock: VirtualClock
) -> None:
    """90 % of it in every minute from the third on, and few requests are refused, with three times as many asked."""
    limiter, server = RateLimiter(), kind()
    served: list[float] = []
    refused: list[float] = []

    async def work() -> None:
        while virtual_clock.now() < 360:
            permit = await limiter.areserve((10, 20))
            assert permit is not None
            await virtual_clock.sleep(0.2)
            wait = server.ask(virtual_clock.now())
            if wait:
                refused.append(virtual_clock.now())
                await permit.arefund()
                await limiter.aslow_down(wait)
            else:
                served.append(virtual_clock.now())
                await virtual_clock.sleep(60 * WORKERS / ASKED)
                await permit.asettle((10, 15))

    async with anyio.create_task_group() as group:
        for _ in range(WORKERS):
            group.start_soon(work)
    by_minute = [sum(60 * minute <= at < 60 * minute + 60 for at in served) for minute in range(2, 6)]
    assert min(by_minute) >= 0.9 * HIDDEN
    assert sum(at >= 120 for at in refused) <= 0.05 * sum(by_minute)


@pytest.mark.parametrize("requests", [60, 1200])
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
    assert let_through >= 0.85 * requests / 2 * 10
    assert refused <= 0.1 * let_through
