"""The watchdog over the event loop: what holds it up is found and named, what does not is left alone."""

import re
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket.errors import InvalidInput
from hocket.testing import assert_no_blocking


def hold_up_the_loop(seconds: float) -> None:
    time.sleep(seconds)


async def try_at_any_pace(check: Callable[[int], Awaitable[None]]) -> None:
    """Check, and where that fails check again, slower: on a busy machine nobody runs for a while, the watchdog neither.

    What is wrong fails at each pace.
    """
    for pace in (1, 5):
        with suppress(AssertionError):
            return await check(pace)
    return await check(25)


async def test_waiting_is_not_blocking() -> None:
    """A free loop passes: worker threads and many turns hold nothing up."""

    async def wait(pace: int) -> None:
        async with assert_no_blocking(limit=0.2 * pace):
            await anyio.to_thread.run_sync(hold_up_the_loop, 0.25 * pace)
            for _ in range(100):
                await anyio.lowlevel.checkpoint()

    await try_at_any_pace(wait)


async def test_a_stall_is_named_with_its_length_and_place() -> None:
    """The error says how long, what the limit was, and shows the line that blocked."""

    async def stall(pace: int) -> None:
        began = time.perf_counter()
        with pytest.raises(AssertionError) as failure:
            async with assert_no_blocking(limit=0.02):
                await anyio.sleep(0.01)
                hold_up_the_loop(0.08 * pace)
                await anyio.sleep(0.01)

        message = str(failure.value)
        found = re.search(r"held up for (\d+) ms \(limit 20 ms\)", message)
        assert found, message
        assert 70 * pace <= int(found[1]) <= 1000 * (time.perf_counter() - began)
        assert "in hold_up_the_loop\n    time.sleep(seconds)" in message
        assert "anyio.to_thread.run_sync" in message

    await try_at_any_pace(stall)


async def test_a_stall_at_the_very_end_counts() -> None:
    """A body that ends in the blocking call itself, with no turn of the loop after it, is caught too."""
    with pytest.raises(AssertionError, match="held up"):
        async with assert_no_blocking(limit=0.02):
            hold_up_the_loop(0.06)


async def test_the_longest_of_several_stalls_is_told() -> None:
    """Later, shorter stalls do not cover up the one that matters."""
    with pytest.raises(AssertionError) as failure:
        async with assert_no_blocking(limit=0.01):
            for seconds in (0.02, 0.25, 0.02):
                hold_up_the_loop(seconds)
                await anyio.sleep(0.005)
    found = re.search(r"held up for (\d+) ms", str(failure.value))
    assert found
    assert int(found[1]) >= 100  # a busy machine may wake the watchdog late


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_call_that_keeps_the_interpreter_lock_is_caught(goes_on: bool) -> None:
    """Nothing else runs meanwhile, the watchdog neither: its own lateness tells."""
    started = time.thread_time()
    sum(range(1_000_000))
    a_tenth_of_a_second = range(int(1_000_000 * 0.1 / (time.thread_time() - started)))

    with pytest.raises(AssertionError, match="held up"):
        async with assert_no_blocking(limit=0.02):
            await anyio.sleep(0.01)
            sum(a_tenth_of_a_second)  # one call in C
            if goes_on:
                await anyio.sleep(0.01)


async def test_an_error_of_the_body_goes_first() -> None:
    """A failing body is reported as it is; the stall is a note on it."""
    with pytest.raises(KeyError) as failure:
        async with assert_no_blocking(limit=0.02):
            hold_up_the_loop(0.06)
            raise KeyError
    assert any("held up" in note for note in failure.value.__notes__)


async def test_the_watchdog_goes_with_the_block() -> None:
    """No thread stays behind."""
    before = set(threading.enumerate())
    async with assert_no_blocking(limit=100):
        [watchdog] = set(threading.enumerate()) - before
    await anyio.to_thread.run_sync(watchdog.join, 30)
    assert not watchdog.is_alive()


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_limit_without_room_is_refused(limit: float) -> None:
    """No loop answers in no time: the message says what to give."""
    with pytest.raises(InvalidInput, match=r"seconds above 0"):
        assert_no_blocking(limit)
