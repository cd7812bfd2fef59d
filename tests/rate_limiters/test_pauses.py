"""A pause of a limit, and the one that goes first after it."""

from typing import Any

import anyio
import pytest

from hocket._runtime import clock
from hocket.errors import InvalidInput
from hocket.rate_limiters import Permit, RateLimiter
from hocket.testing import virtual_clock

REST = 0.4
"""Real seconds of a pause in a store."""


async def reserve_after_rest(limiter: RateLimiter) -> Permit:
    """Return the first leave to go at once."""
    with anyio.fail_after(30):
        while (permit := await limiter.areserve(blocking=False)) is None:  # noqa: ASYNC110  # as a router asks
            await anyio.sleep(0.01)
        return permit


async def test_nobody_goes_before_its_end_and_the_pace_stays():
    with virtual_clock():
        limiter = RateLimiter(600)
        await limiter.apause(30)
        await limiter.apause(5)  # ends no longer one
        state = await limiter.astate()
        assert (state.paused, state.share) == (pytest.approx(30), 1)
        assert await limiter.areserve(blocking=False) is None
        began = clock.current().now()
        await limiter.aacquire()
        assert clock.current().now() - began == pytest.approx(30)


async def test_one_goes_first_and_the_others_when_it_is_settled():
    gone: list[tuple[int, float]] = []

    async def ask(number: int) -> None:
        permit = await limiter.areserve()
        assert permit is not None
        gone.append((number, clock.current().now() - began))
        await clock.current().sleep(7)
        await permit.asettle(0)

    with virtual_clock():
        limiter = RateLimiter(60_000)
        await limiter.apause(20, probe=True)
        began = clock.current().now()
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(ask, number)
        assert sorted(number for number, _ in gone) == [0, 1, 2, 3]
        assert [seconds for _, seconds in gone] == pytest.approx([20, 27, 27, 27], abs=0.1)


async def test_another_goes_first_where_the_first_is_lost():
    with virtual_clock():
        limiter = RateLimiter(60_000)
        await limiter.apause(1, probe=True)
        await clock.current().sleep(2)
        first = await limiter.areserve(blocking=False)
        assert first is not None and await limiter.areserve(blocking=False) is None
        await first.asettle(0)
        await clock.current().sleep(0.01)
        assert await limiter.areserve(blocking=False) is not None

        await limiter.apause(1, probe=True)
        await clock.current().sleep(2)
        assert await limiter.areserve(blocking=False) is not None  # nobody settles it
        await clock.current().sleep(29)
        assert await limiter.areserve(blocking=False) is None
        await clock.current().sleep(2)
        assert await limiter.areserve(blocking=False) is not None
        assert await limiter.areserve(blocking=False) is None


async def test_a_failure_of_the_first_is_another_pause():
    with virtual_clock():
        limiter = RateLimiter(60_000)
        await limiter.apause(1, probe=True)
        await clock.current().sleep(2)
        first = await limiter.areserve(blocking=False)
        assert first is not None
        await limiter.apause(10, probe=True)
        await first.asettle(0)  # it ends no pause that came later
        await clock.current().sleep(5)
        assert await limiter.areserve(blocking=False) is None
        await clock.current().sleep(6)
        assert await limiter.areserve(blocking=False) is not None
        assert await limiter.areserve(blocking=False) is None


async def test_one_of_all_processes_goes_first(address: str, name: str):
    """Each limiter stands for a process: they share nothing but the store."""
    limiters = [RateLimiter(60_000, store=address, name=name, if_store_fails="raise") for _ in range(3)]
    await limiters[0].apause(REST, probe=True)
    assert [await limiter.areserve(blocking=False) for limiter in limiters] == [None] * 3
    permit = await reserve_after_rest(limiters[1])
    assert [await limiter.areserve(blocking=False) for limiter in limiters] == [None] * 3
    waited: list[Permit | None] = []

    async def wait(limiter: RateLimiter) -> None:
        waited.append(await limiter.areserve())

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for limiter in limiters:
                group.start_soon(wait, limiter)
            await anyio.sleep(0.1)
            assert not waited
            await permit.asettle(0)
    assert len(waited) == 3


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "soon"])
def test_what_is_no_time_is_refused(seconds: Any):
    with pytest.raises(InvalidInput, match=r"seconds is .*; it must be a number of seconds, 0 or more"):
        RateLimiter(60).pause(seconds)
