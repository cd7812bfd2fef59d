"""The arithmetic of a limit: in no window more than it, first come first served, and nothing lost."""

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from hocket.rate_limiters.adapting import CUT, FAST_GROWTH, KEPT, SLOW_GROWTH, grow
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.schedule import End, Grant, Schedule

WINDOW = 60.0


def in_every_window(times: Sequence[float], amounts: Sequence[float], window: float) -> float:
    """Return the most that any window, open at its older end, holds."""
    most, first, held = 0.0, 0, 0.0
    for moment, amount in zip(times, amounts, strict=True):
        held += amount
        while times[first] <= moment - window + 1e-9:
            held -= amounts[first]
            first += 1
        most = max(most, held)
    return most


limits_of_all_kinds = st.builds(
    RateLimits,
    requests=st.sampled_from([0, 1, 2, 7, 30, 60]),
    tokens=st.sampled_from([0, 100, 1000]),
    input=st.sampled_from([0, 80, 700]),
    output=st.sampled_from([0, 50, 400]),
    window=st.just(WINDOW),
    burst=st.sampled_from([1, 1, 2, 3, 7]),
    max_in_flight=st.just(0),
    is_adaptive=st.booleans(),
)
needs = st.builds(Tokens, st.integers(0, 80), st.integers(0, 50))
steps = st.lists(
    st.tuples(st.floats(0, 8), needs, st.sampled_from(["", "use", "refund", "cancel", "429"]), st.integers(0, 5)),
    min_size=1,
    max_size=60,
)


@given(limits=limits_of_all_kinds, steps=steps)
def test_no_window_holds_more_than_the_limit(limits: RateLimits, steps: list[tuple[float, Tokens, str, int]]) -> None:
    """Whatever is used, refunded, cancelled and refused in between, and whenever that is told."""
    schedule, now = Schedule(limits), 0.0
    granted: dict[int, tuple[float, Tokens, Grant]] = {}
    for number, (pause, need, then, place) in enumerate(steps):
        now += pause
        grant = schedule.reserve(now, need, held=0, horizon=math.inf)
        granted[number] = now + grant.wait, need, grant
        if then == "429":
            schedule.cut_back(now)
            schedule.pause(now, 3)
        elif then:
            which = max(number - place, min(granted))
            if which in granted:
                at, need, grant = granted[which]
                used = Tokens(need.input // 2, need.output // 2) if then == "use" else Tokens(0, 0)
                schedule.end(End(grant.seq, *used, grant.back if then == "cancel" else None))
                granted[which] = at, used, grant
                if then == "cancel":
                    del granted[which]
    made = list(granted.values())
    times = [at for at, _, _ in made]
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(times)), "first come, first served"
    sums = [
        [1] * len(made),
        [sum(used) for _, used, _ in made],
        *([used[kind] for _, used, _ in made] for kind in (0, 1)),
    ]
    for limit, amounts in zip(limits[:4], sums, strict=True):
        if limit:  # one that is larger than the limit, as where that was learned, goes alone
            assert in_every_window(times, amounts, WINDOW) <= max(limit, max(amounts, default=0))


@given(
    limits=limits_of_all_kinds,
    asked=st.lists(st.tuples(st.floats(0, 8), needs), min_size=1, max_size=40),
    count=st.integers(1, 10),
)
def test_what_is_cancelled_at_once_leaves_nothing(
    limits: RateLimits, asked: list[tuple[float, Tokens]], count: int
) -> None:
    """The last ones, cancelled in the other order: those after them go when they would have gone."""
    once, now = [Schedule(limits), Schedule(limits)], 0.0
    for pause, need in asked:
        now += pause
        for schedule in once:
            schedule.reserve(now, need, held=0, horizon=math.inf)
    cancelled = [once[1].reserve(now, Tokens(3, 1), held=0, horizon=0.5) for _ in range(count)]
    for grant in reversed([one for one in cancelled if one.seq]):
        once[1].end(End(grant.seq, 0, 0, grant.back))
    expected, got = (schedule.reserve(now, Tokens(1, 1), held=0, horizon=math.inf) for schedule in once)
    assert got.seq == expected.seq
    popped_for_them = max(0.0, once[1].floor - now)
    assert got.wait == pytest.approx(max(expected.wait, popped_for_them), abs=1e-6)


def test_the_pace_is_the_rate() -> None:
    schedule = Schedule(RateLimits(requests=30, window=WINDOW))
    waits = [schedule.reserve(100.0, Tokens(0, 0), held=0, horizon=math.inf).wait for _ in range(90)]
    assert waits == pytest.approx([2.0 * number for number in range(90)])


@pytest.mark.parametrize("burst", [2, 7, 30])
def test_a_burst_goes_at_once_and_the_rate_is_kept(burst: int) -> None:
    """After a pause so many; over many windows all of the limit, whether or not it is a multiple of the burst."""
    schedule = Schedule(RateLimits(requests=30, window=WINDOW, burst=burst))
    waits = [schedule.reserve(100.0, Tokens(0, 0), held=0, horizon=math.inf).wait for _ in range(301)]
    assert waits[:burst] == [0.0] * burst
    assert waits[burst] > 0
    assert waits[300] == pytest.approx(600, abs=60)
    assert in_every_window(waits, [1] * 301, WINDOW) <= 30


def test_tokens_are_used_to_the_last() -> None:
    """Needs of a third of the limit: three in each window."""
    schedule = Schedule(RateLimits(tokens=90, window=WINDOW))
    waits = [schedule.reserve(0.0, Tokens(20, 10), held=0, horizon=math.inf).wait for _ in range(9)]
    assert waits == [0, 0, 0, 60, 60, 60, 120, 120, 120]


def test_what_was_not_used_is_there_at_once() -> None:
    schedule = Schedule(RateLimits(tokens=100, window=WINDOW))
    first = schedule.reserve(0.0, Tokens(10, 90), held=0)
    refused = schedule.reserve(1.0, Tokens(10, 40), held=0)
    assert (refused.seq, refused.wait, refused.back) == (0, 58, 1)
    schedule.end(End(first.seq, 10, 5, None))
    assert schedule.reserve(1.0, Tokens(10, 40), held=0).wait == 0
    schedule.end(End(first.seq, 10, 5, None))  # twice changes nothing
    assert (schedule.input, schedule.output) == (20, 45)


def test_a_process_holds_one_second_of_the_schedule() -> None:
    """Or one place in it, where a step is longer: so that it need not ask twice."""
    schedule = Schedule(RateLimits(requests=600, window=WINDOW))
    held = itertools.count(-1)
    grants = [schedule.reserve(0.0, Tokens(0, 0), held=max(0, next(held))) for _ in range(20)]
    assert [grant.seq for grant in grants] == [*range(1, 12), *[0] * 9]
    another = schedule.reserve(0.0, Tokens(0, 0), held=0)
    assert (another.seq, another.wait) == (12, pytest.approx(1.1))
    slow = Schedule(RateLimits(requests=6, window=WINDOW))
    assert [slow.reserve(0.0, Tokens(0, 0), held=0).wait for _ in range(4)] == [0, 10, 20, 30]
    assert slow.reserve(0.0, Tokens(0, 0), held=1).seq == 0


def test_a_429_cuts_once_and_grants_let_it_grow() -> None:
    schedule = Schedule(RateLimits(requests=60, window=WINDOW))
    for moment in (10.0, 10.5, 12.0):
        schedule.cut_back(moment)
    assert schedule.factor == CUT
    schedule.cut_back(12.1)
    assert schedule.factor == pytest.approx(CUT * CUT)
    for number in range(10):
        schedule.reserve(20.0 + 100 * number, Tokens(0, 0), held=0)
    assert CUT * CUT < schedule.factor < 1
    for number in range(100):
        schedule.reserve(100_000.0 + 100 * number, Tokens(0, 0), held=0)
    assert schedule.factor == 1


def test_a_429_never_cuts_to_less_than_what_was_let_through() -> None:
    """Of late: that is what a server which counts over a window allows."""
    schedule = Schedule(RateLimits(requests=60, window=WINDOW))
    for second in range(100):
        schedule.reserve(float(second), Tokens(0, 0), held=0)
    for moment in range(100, 112, 3):
        schedule.cut_back(float(moment))
    assert 0.8 <= schedule.factor <= KEPT  # four cuts alone would leave 0.52


def test_growth_is_quick_up_to_what_was_refused_and_slow_beyond_it_at_first() -> None:
    assert grow(0.5, 50, refused_share=1, since=3, seconds=1) == pytest.approx(0.5 * (1 + FAST_GROWTH))
    assert grow(0.5, 50, refused_share=1, since=3, seconds=100) == pytest.approx(0.5 * (1 + FAST_GROWTH))
    soon, late, very_late = (grow(1, 50, refused_share=1, since=since, seconds=1) - 1 for since in (0, 60, 1e6))
    assert soon == pytest.approx(SLOW_GROWTH)
    assert late == pytest.approx(3 * SLOW_GROWTH)
    assert very_late == pytest.approx(FAST_GROWTH)
    assert grow(0.999, 1, refused_share=1, since=1e6, seconds=1) == 1
    assert grow(1.5, 1, refused_share=1, since=1e6, seconds=1) == 1.5


def test_nobody_goes_in_a_pause() -> None:
    schedule = Schedule(RateLimits(requests=60, window=WINDOW))
    schedule.pause(5.0, 30.0)
    schedule.pause(6.0, 1.0)  # a shorter one does not end it
    assert [schedule.reserve(10.0, Tokens(0, 0), held=0).wait for _ in range(2)] == [25, 26]


def test_a_number_learned_lowers_one_that_was_given_and_never_raises_it() -> None:
    schedule = Schedule(RateLimits(requests=60, tokens=0, window=WINDOW))
    schedule.learn((100, 5000, 0, 0))
    assert [schedule.effective(place) for place in range(4)] == [60, 5000, 0, 0]
    schedule.learn((30, 0, 0, 0))
    assert [schedule.effective(place) for place in range(4)] == [30, 5000, 0, 0]


def test_without_numbers_the_first_429_gives_one() -> None:
    """The rate of late."""
    schedule = Schedule(RateLimits(window=WINDOW))
    for number in range(100):
        assert schedule.reserve(number / 10, Tokens(0, 0), held=0).wait == 0
    schedule.cut_back(10.0)
    assert schedule.effective(0) == pytest.approx(600, rel=0.02)
    assert schedule.factor == CUT
