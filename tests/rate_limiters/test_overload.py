"""More ask than the limit allows, and none of them waits for long: the limit is used all the same."""

import collections
import importlib
import itertools
import math
from typing import Any

import anyio
import pytest

from hocket.errors import RateLimitError, TotalTimeout
from hocket.language_models import ScriptedChatModel, Turn
from hocket.rate_limiters import RateLimiter
from hocket.testing import VirtualClock

for _kind in ("redis", "postgres", "sqlite"):  # a loop is no place to import them
    importlib.import_module(f"hocket.rate_limiters.{_kind}")

SECONDS = 40
"""For which ten a second ask for five a second."""

PATIENCE = 5.0

kinds = pytest.mark.parametrize("more", [{}, {"burst": 20}, {"tokens_per_minute": 10**6}], ids=str)


async def leave_after(seconds: float, limiter: RateLimiter, clock: VirtualClock) -> bool:
    """Ask, and give up after so many seconds, which the limiter does not know of; return whether there was a turn."""
    got = False
    async with anyio.create_task_group() as group:

        async def give_up() -> None:
            await clock.sleep(seconds)
            group.cancel_scope.cancel()

        group.start_soon(give_up)
        got = await limiter.areserve((10, 10)) is not None
        group.cancel_scope.cancel()
    return got


@kinds
async def test_the_turns_of_those_who_leave_are_used_by_others(
    more: dict[str, Any], virtual_clock: VirtualClock
) -> None:
    """All of them, in order; before, a few seconds of this and nobody got a turn any more."""
    limiter, gone = RateLimiter(300, **more), list[tuple[int, float]]()

    async def one(number: int) -> None:
        if await leave_after(PATIENCE, limiter, virtual_clock):
            gone.append((number, virtual_clock.now()))

    async with anyio.create_task_group() as group:
        for number in range(SECONDS * 10):
            group.start_soon(one, number)
            await virtual_clock.sleep(0.1)
    assert len(gone) >= 0.95 * SECONDS * 5
    assert [number for number, _ in gone] == sorted(number for number, _ in gone)
    times = [moment for _, moment in gone]
    assert all(later - earlier >= 60 - 1e-6 for earlier, later in zip(times, times[300:], strict=False))
    if not more.get("burst"):
        assert all(later - earlier >= 0.2 - 1e-5 for earlier, later in itertools.pairwise(times))
    assert (limiter._line.waiting, limiter._line._starts(), limiter._line._free) == (0, [], [])


@kinds
async def test_a_turn_beyond_the_deadline_is_refused_and_not_taken(
    more: dict[str, Any], virtual_clock: VirtualClock
) -> None:
    """Most of them as soon as they ask. The error names both numbers."""
    limiter, gone, waits = RateLimiter(300, **more), 0, list[float]()

    async def one() -> None:
        nonlocal gone
        began = virtual_clock.now()
        try:
            await limiter.areserve((10, 10), within=PATIENCE)
        except RateLimitError as error:
            waits.append(virtual_clock.now() - began)
            assert error.retry_after is not None
            assert f"in about {error.retry_after:.3g} s" in str(error)
            assert error.retry_after + waits[-1] > PATIENCE
            assert not (error.was_sent or error.retryable)
        else:
            gone += 1
            assert virtual_clock.now() - began <= PATIENCE + 1e-6

    async with anyio.create_task_group() as group:
        for _ in range(SECONDS * 10):
            group.start_soon(one)
            await virtual_clock.sleep(0.1)
    assert gone >= 0.95 * SECONDS * 5
    assert gone + len(waits) == SECONDS * 10
    assert collections.Counter(wait == 0 for wait in waits)[True] >= 0.6 * len(waits)


async def test_calls_of_a_model_have_time_left_after_their_turn(virtual_clock: VirtualClock) -> None:
    """Each call has five seconds in all, and the model takes one: nearly every turn becomes an answer."""
    model = ScriptedChatModel(
        script=[Turn(text="yes", delay=1.0)] * SECONDS * 10, rate_limiter=RateLimiter(300), timeout=PATIENCE
    )
    outcomes = collections.Counter[str]()

    async def one() -> None:
        try:
            await model.ainvoke("hi")
        except (RateLimitError, TotalTimeout) as error:
            outcomes[type(error).__name__] += 1
        else:
            outcomes["answer"] += 1

    async with anyio.create_task_group() as group:
        for _ in range(SECONDS * 10):
            group.start_soon(one)
            await virtual_clock.sleep(0.1)
    assert outcomes["answer"] >= 0.95 * SECONDS * 5
    assert outcomes["TotalTimeout"] <= 0.05 * SECONDS * 5


async def test_a_pause_that_lasts_longer_than_the_call_refuses_it_at_once(virtual_clock: VirtualClock) -> None:
    """Also those who stand behind one who has the time; the turn is still there for the next one."""
    limiter = RateLimiter(60, adaptive=False)
    await limiter.aslow_down(30)
    virtual_clock.autojump = False
    async with anyio.create_task_group() as group:
        group.start_soon(limiter.areserve)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            with pytest.raises(
                RateLimitError, match="the turn would come in about 31 s, and the call can wait for 5 s"
            ):
                await limiter.areserve(within=5)
        virtual_clock.autojump = True
        virtual_clock.advance(0)
    with pytest.raises(RateLimitError):
        await limiter.areserve(within=0.5)
    await limiter.areserve(within=1)
    assert virtual_clock.now() == pytest.approx(31)


def test_a_thread_is_refused_too(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(60)
    limiter.reserve(within=0)
    with pytest.raises(RateLimitError, match=r"in about 1 s, and the call can wait for 0\.5 s"):
        limiter.reserve(within=0.5)
    assert limiter.reserve(within=1) is not None
    assert virtual_clock.now() == pytest.approx(1)


async def test_what_needs_more_than_the_free_turn_keeps_its_own(virtual_clock: VirtualClock) -> None:
    """A turn goes to the next whose tokens it has; no window gets more than was reserved."""
    virtual_clock.autojump = False
    limiter, times, leaver = RateLimiter(240, tokens_per_minute=1000), dict[str, float](), anyio.CancelScope()

    async def one(name: str, tokens: int) -> None:
        with leaver if name == "leaver" else anyio.CancelScope():
            await limiter.areserve(tokens)
            times[name] = virtual_clock.now()

    async with anyio.create_task_group() as group:
        for name, tokens in (("first", 10), ("leaver", 50), ("large", 60), ("small", 40), ("last", 45)):
            group.start_soon(one, name, tokens)
            await anyio.wait_all_tasks_blocked()
        leaver.cancel()
        await anyio.wait_all_tasks_blocked()
        virtual_clock.autojump = True
        virtual_clock.advance(0)
    assert times == pytest.approx({"first": 0, "small": 0.25, "large": 0.5, "last": 1.0})
    assert limiter.state().input_tokens <= 205


async def test_processes_waste_no_turn_of_a_shared_limit(address: str, name: str) -> None:
    """Two lines before one limit, twice as much asked as it allows; who asks waits for half a second."""
    limiters = [RateLimiter(1200, store=address, name=name) for _ in range(2)]
    used: list[int] = []
    left = 0

    async def one(limiter: RateLimiter) -> None:
        nonlocal left
        async with anyio.create_task_group() as group:

            async def give_up() -> None:
                await anyio.sleep(0.5)
                group.cancel_scope.cancel()

            group.start_soon(give_up)
            permit = await limiter.areserve()
            assert permit is not None
            turn = permit._held.turn  # type: ignore[attr-defined]  # in the schedule
            if turn.store is limiter._line.store:  # else the machine was too busy for the store's thread
                used.append(turn.grant.seq)
            group.cancel_scope.cancel()
            return
        left += 1

    async with anyio.create_task_group() as group:
        for _ in range(60):
            for limiter in limiters:
                group.start_soon(one, limiter)
            await anyio.sleep(0.05)
    assert len(set(used)) == len(used)
    assert len(used) >= 0.95 * max(used) - 2
    assert sum(limiter._line.trips for limiter in limiters) <= 1.1 * math.ceil(len(used)) + 2 * left + 3
