"""A limiter of one process: waits, settlements, refunds, cancellation, learning; all by a virtual clock."""

import copy
import itertools
import math
import pickle
import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.errors import InvalidInput
from hocket.rate_limiters import BaseRateLimiter, Permit, RateLimiter
from hocket.testing import VirtualClock
from tests.kit import CountingLimiter


async def ask(limiter: RateLimiter, clock: VirtualClock, count: int, tokens: Any = 0) -> list[float]:
    """Have so many ask, one after the other; return when each may go."""
    times: list[float] = []

    async def one() -> None:
        assert await limiter.areserve(tokens)
        times.append(clock.now())

    clock.autojump = False
    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(one)
            while limiter._line.waiting + limiter._line.in_flight <= number:
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        clock.autojump = True
        clock.advance(0)
    return times


async def test_requests_go_at_the_pace_of_the_limit(virtual_clock: VirtualClock) -> None:
    """The first at once, the others a step apart, in order."""
    assert await ask(RateLimiter(60), virtual_clock, 20) == pytest.approx([float(number) for number in range(20)])


async def test_tokens_wait_for_the_window(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(tokens_per_minute=100)
    assert await ask(limiter, virtual_clock, 5, (20, 20)) == pytest.approx([0, 0, 60, 60, 120])


async def test_what_is_settled_lets_others_go_at_once(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(tokens_per_minute=100)
    permit = await limiter.areserve((10, 90))
    assert permit is not None

    async def settle() -> None:
        await virtual_clock.sleep(3)
        await permit.asettle((10, 10))

    async with anyio.create_task_group() as group:
        group.start_soon(settle)
        await limiter.areserve(80)
        assert virtual_clock.now() == 3
    state = await limiter.astate()
    assert (state.input_tokens, state.output_tokens) == (90, 10)


async def test_a_permit_is_settled_once(virtual_clock: VirtualClock) -> None:
    """What comes later changes nothing, nor does what comes after the window."""
    limiter = RateLimiter(tokens_per_minute=100)
    first = await limiter.areserve((10, 40))
    assert first is not None
    await first.asettle((10, 5))
    await first.asettle((10, 40))
    await first.arefund()
    first.settle(70)
    state = limiter.state()
    assert (state.input_tokens, state.output_tokens) == (10, 5)
    second = await limiter.areserve((10, 10))
    await virtual_clock.sleep(61)
    assert second is not None
    await second.asettle((10, 20))
    assert (limiter.state().input_tokens, limiter.state().output_tokens) == (0, 0)


async def test_one_number_settles_input_first(virtual_clock: VirtualClock) -> None:
    """Of 25 tokens, 20 were reserved as input."""
    limiter = RateLimiter(tokens_per_minute=100)
    permit = await limiter.areserve((20, 30))
    assert permit is not None
    await permit.asettle(25)
    assert (limiter.state().input_tokens, limiter.state().output_tokens) == (20, 5)


async def test_a_refund_gives_the_tokens_back_and_not_the_request(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(60, tokens_per_minute=100)
    permit = await limiter.areserve(100)
    assert permit is not None
    await permit.arefund()
    await limiter.areserve(100)
    assert virtual_clock.now() == 1


@pytest.mark.parametrize("leaver", range(6))
async def test_one_who_leaves_leaves_nothing(leaver: int, virtual_clock: VirtualClock) -> None:
    """Whoever of six it is, whether it waits in the line or for its moment: the others go as if it had not been there."""
    virtual_clock.autojump = False
    limiter, scopes, times = RateLimiter(120, tokens_per_minute=600), dict[int, anyio.CancelScope](), dict[int, float]()

    async def one(number: int) -> None:
        with anyio.CancelScope() as scopes[number]:
            assert await limiter.areserve(100)
            times[number] = virtual_clock.now()

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(one, number)
            await anyio.wait_all_tasks_blocked()
        scopes[leaver].cancel()
        await anyio.wait_all_tasks_blocked()
        virtual_clock.autojump = True
        virtual_clock.advance(0)
    moments = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert limiter.state().input_tokens == (600 if leaver == 0 else 500)
    assert list(times.values()) == sorted(times.values())
    # Its place is free again if nobody has come after it; else it is the one thing lost, with one second held at most.
    assert set(times.values()) <= set(moments)
    assert limiter._line.waiting == 0


async def test_all_may_leave(virtual_clock: VirtualClock) -> None:
    """At once, whatever they wait for: the next one goes as if none of them had come."""
    limiter = RateLimiter(60, tokens_per_minute=1000)
    await limiter.areserve(10)
    virtual_clock.autojump = False
    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(limiter.areserve, 9)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert (limiter._line.waiting, limiter.state().input_tokens) == (0, 10)
    virtual_clock.autojump = True
    await limiter.areserve(10)
    assert virtual_clock.now() == 1


async def test_not_blocking_takes_what_is_there(virtual_clock: VirtualClock) -> None:
    """And never jumps the line."""
    limiter = RateLimiter(60, tokens_per_minute=100)
    assert await limiter.aacquire(blocking=False)
    assert not limiter.acquire(blocking=False)
    assert await limiter.areserve(5, blocking=False) is None
    virtual_clock.advance(1)
    permit = limiter.reserve(60, blocking=False)
    assert permit is not None
    virtual_clock.advance(1)
    assert limiter.reserve(60, blocking=False) is None
    permit.settle(0)
    assert limiter.reserve(60, blocking=False) is not None
    virtual_clock.autojump = False
    async with anyio.create_task_group() as group:
        group.start_soon(limiter.areserve, 90)
        await anyio.wait_all_tasks_blocked()
        virtual_clock.advance(2)
        assert not limiter.acquire(blocking=False)
        group.cancel_scope.cancel()


def test_threads_wait_too(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(120)
    for _ in range(5):
        assert limiter.acquire()
    assert virtual_clock.now() == pytest.approx(2)


def test_threads_and_loops_share_one_line() -> None:
    """Really, with a rate that makes it short: each of four threads gets its turn, on either loop or none."""
    limiter, granted = RateLimiter(60_000), itertools.count()

    async def in_loop() -> None:
        for _ in range(50):
            assert await limiter.aacquire()
            next(granted)

    def in_thread() -> None:
        for _ in range(50):
            assert limiter.acquire()
            next(granted)

    threads = [threading.Thread(target=in_thread) for _ in range(2)]
    threads += [threading.Thread(target=anyio.run, args=(in_loop,), kwargs={"backend": b}) for b in ("asyncio", "trio")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert next(granted) == 200


@pytest.mark.parametrize("requests", [6, 60, 6000])
async def test_nobody_polls(requests: int, virtual_clock: VirtualClock) -> None:
    """A grant takes one exchange, whatever the rate."""
    limiter = RateLimiter(requests)
    await ask(limiter, virtual_clock, 200)
    assert limiter._line.trips <= 220


async def test_requests_under_way(virtual_clock: VirtualClock) -> None:
    """As many as allowed; each end lets the next one go."""
    limiter, most, now = RateLimiter(max_in_flight=3), 0, 0

    async def one() -> None:
        nonlocal most, now
        permit = await limiter.areserve()
        assert permit is not None
        now += 1
        most = max(most, now)
        await virtual_clock.sleep(1)
        now -= 1
        await permit.asettle(0)

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(one)
    assert (most, virtual_clock.now()) == (3, 4)
    assert limiter.state().in_flight == 0
    for _ in range(5):  # one who only acquires has no end to tell
        assert await limiter.aacquire()


async def test_an_answer_of_unknown_length_is_guessed_by_those_before(virtual_clock: VirtualClock) -> None:
    """The first counts as 500 tokens; then their mean; never more than the limit."""
    limiter = RateLimiter(tokens_per_minute=10_000)
    first = await limiter.areserve((10, None))
    assert limiter.state().output_tokens == 500
    assert first is not None
    await first.asettle((10, 80))
    await limiter.areserve((10, None))
    assert limiter.state().output_tokens == 160
    small = RateLimiter(tokens_per_minute=100)
    await small.areserve((10, None))
    assert small.state().output_tokens == 90


@pytest.mark.parametrize(
    ("limits", "tokens", "message"),
    [
        ({"tokens_per_minute": 100}, 101, "needs 101 tokens, and the limit is 100 in 60 s"),
        ({"tokens_per_minute": 100}, (60, 41), "needs 101 tokens, and the limit is 100 in 60 s"),
        ({"input_tokens_per_minute": 100}, (101, 0), "needs 101 input tokens, and the limit is 100"),
        ({"output_tokens_per_minute": 600, "window": 1}, (1, 11), "needs 11 output tokens, and the limit is 10 in 1 s"),
    ],
)
async def test_what_the_limit_never_allows_is_refused_at_once(limits: Any, tokens: Any, message: str) -> None:
    """With both numbers."""
    with pytest.raises(InvalidInput, match=message):
        await RateLimiter(**limits).areserve(tokens)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"requests_per_minute": 0}, "requests_per_minute is 0"),
        ({"tokens_per_minute": -1}, "tokens_per_minute is -1"),
        ({"input_tokens_per_minute": math.nan}, "input_tokens_per_minute is nan"),
        ({"output_tokens_per_minute": True}, "output_tokens_per_minute is True"),
        ({"requests_per_minute": "60"}, "requests_per_minute is '60'"),
        ({"window": 0}, "window is 0"),
        ({"window": math.inf}, "window is inf"),
        ({"max_in_flight": 0}, "max_in_flight is 0"),
        ({"max_in_flight": 1.5}, "max_in_flight is 1.5"),
        ({"burst": 0}, "burst is 0"),
        ({"requests_per_minute": 10, "burst": 11}, "burst is 11, and a window of 60 s holds 10 requests"),
        ({"adaptive": False}, "without numbers limits nothing"),
        ({"requests_per_minute": 1, "if_store_fails": "ignore"}, "if_store_fails is 'ignore'"),
        ({"requests_per_minute": 1, "store": "mysql://host"}, "no address of a limit"),
        ({"requests_per_minute": 1, "store": "limits.jsonl"}, "no address of a limit"),
        ({"requests_per_minute": 1, "store": "sqlite:///"}, "the path in store is empty"),
        ({"requests_per_minute": 1, "store": "sqlite:///a", "name": ""}, "name is ''"),
    ],
    ids=str,
)
def test_what_limits_nothing_is_refused_at_the_door(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RateLimiter(**arguments)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, (1, -1), (1, 2, 3), "5", (None, 5)], ids=str)
async def test_what_is_no_number_of_tokens_is_refused(tokens: Any) -> None:
    limiter = RateLimiter(60)
    with pytest.raises(InvalidInput, match="tokens is"):
        await limiter.areserve(tokens)
    permit = await limiter.areserve(0)
    assert permit is not None
    with pytest.raises(InvalidInput, match="tokens is"):
        await permit.asettle(tokens)


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
async def test_a_pause_is_a_number_of_seconds(seconds: float) -> None:
    with pytest.raises(InvalidInput, match="retry_after is"):
        await RateLimiter(60).aslow_down(seconds)


async def test_headers_set_and_correct_the_limit(virtual_clock: VirtualClock) -> None:
    """Without numbers, they are what the server says; a lower one counts, a higher one does not."""
    learner = RateLimiter()
    openai = {"x-ratelimit-limit-requests": "120", "x-ratelimit-remaining-requests": "119",
              "x-ratelimit-limit-tokens": "9000", "x-ratelimit-remaining-tokens": "8000"}  # fmt: skip
    await learner.alearn(openai)
    state = await learner.astate()
    assert (state.requests_per_minute, state.tokens_per_minute) == (120, 9000)
    assert await ask(learner, virtual_clock, 3) == pytest.approx([0, 0.5, 1])
    for given, counts in ((60, 60), (600, 120)):
        limiter = RateLimiter(given)
        limiter.learn(openai)
        assert limiter.state().requests_per_minute == counts
    stubborn = RateLimiter(600, adaptive=False)
    stubborn.learn(openai)
    assert stubborn.state().requests_per_minute == 600


async def test_where_nothing_remains_nobody_goes_before_the_reset(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(600)
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7s"}
    await limiter.alearn(headers)
    await limiter.aacquire()
    assert virtual_clock.now() == 7


async def test_a_429_slows_down_once_and_its_wait_is_kept(virtual_clock: VirtualClock) -> None:
    limiter = RateLimiter(60)
    for _ in range(10):
        await limiter.aslow_down(5)
    state = limiter.state()
    assert (state.share, state.paused) == (0.85, 5)
    await limiter.aacquire()
    assert virtual_clock.now() == 5


def test_other_limiters_give_permits_that_settle_nothing() -> None:
    limiter = CountingLimiter()
    permit = limiter.reserve(100)
    assert type(permit) is Permit
    permit.settle(5)
    permit.refund()
    assert limiter.count == 1


async def test_they_do_so_in_a_loop_too() -> None:
    limiter: BaseRateLimiter = CountingLimiter()
    permit = await limiter.areserve((100, None))
    assert permit is not None
    await permit.asettle(5)
    await permit.arefund()


def test_a_copy_is_the_same_limiter() -> None:
    """And one that is of this process alone is not pickled."""
    limiter = RateLimiter(60)
    assert copy.copy(limiter) is limiter
    assert copy.deepcopy(limiter) is limiter
    assert not limiter.is_portable
    with pytest.raises(TypeError, match="give it a store"):
        pickle.dumps(limiter)
