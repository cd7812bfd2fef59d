"""What holds of any scores: intervals, comparisons and looks, on scores that Hypothesis makes."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.evaluation import Design
from hocket.evaluation.statistics import (
    PairedLooks,
    PairedResult,
    compare_metrics,
    estimate_mean,
    measure_kappa,
    measure_ratio,
)
from tests.kit.amount import RUNS_ALL, leave_for_night, limit_examples

Pairs = list[tuple[float, float]]
Run = dict[str, list[float]]

BITS = st.sampled_from([0.0, 1.0])
GRADES = BITS | st.sampled_from([0.5, 1 / 3, 2 / 3]) | st.floats(0, 1)
CASES = st.lists(
    st.lists(BITS, min_size=1, max_size=4) | st.lists(GRADES, min_size=1, max_size=3), min_size=1, max_size=60
)
PAIRS = st.lists(st.tuples(BITS, BITS), min_size=1, max_size=60) | st.lists(
    st.tuples(GRADES, GRADES), min_size=1, max_size=60
)
MOST_ONE_WAY = st.lists(
    st.sampled_from([(0.0, 1.0), (0.0, 1.0), (0.5, 0.6), (1.0, 0.0), (1.0, 1.0)]), min_size=1, max_size=50
)
CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])

few = settings(max_examples=limit_examples(80))


def split(pairs: Sequence[tuple[float, float]]) -> tuple[Run, Run]:
    """Make two runs of pairs, one case a pair."""
    return (
        {f"case {number}": [old] for number, (old, _) in enumerate(pairs)},
        {f"case {number}": [new] for number, (_, new) in enumerate(pairs)},
    )


def compare(pairs: Sequence[tuple[float, float]], confidence: float, planned: int | None = None) -> PairedResult:
    old, new = split(pairs)
    return compare_metrics({"a": old}, {"a": new}, confidence=confidence, planned=planned)["a"]


def check(found: PairedResult, min_difference: float = 0.05) -> None:
    """An interval holds the difference, and says what the verdict says."""
    assert -1 <= found.low <= found.difference <= found.high <= 1
    assert found.difference == pytest.approx(found.new - found.old)
    assert (found.verdict == "better") is (found.low > 0)
    assert (found.verdict == "worse") is (found.high < 0)
    if found.verdict == "same":
        assert -min_difference < found.low <= 0 <= found.high < min_difference
    assert (found.more_cases > 0) is (found.verdict == "not decided")


@given(cases=CASES, confidence=CONFIDENCES, order=st.randoms(use_true_random=False))
def test_interval_of_a_run(cases: list[list[float]], confidence: float, order: object) -> None:
    """It lies in [0, 1], holds the mean, has some width, widens with the confidence, and knows no order of cases."""
    found = estimate_mean(cases, confidence)
    wider = estimate_mean(cases, confidence + (1 - confidence) / 2)

    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    assert wider.low <= found.low + 1e-12
    assert found.high <= wider.high + 1e-12
    order.shuffle(cases)  # type: ignore[attr-defined]
    again = estimate_mean(cases, confidence)
    assert (again.low, again.high) == (pytest.approx(found.low), pytest.approx(found.high))


@few
@given(pairs=PAIRS | MOST_ONE_WAY, confidence=CONFIDENCES)
def test_verdict_and_interval_agree(pairs: Pairs, confidence: float) -> None:
    """At any confidence; and with the runs changed, better is worse."""
    found = compare(pairs, confidence)
    swapped = compare([(new, old) for old, new in pairs], confidence)

    check(found)
    opposite = {"better": "worse", "worse": "better"}
    assert swapped.verdict == opposite.get(found.verdict, found.verdict)
    assert (swapped.low, swapped.high) == (-found.high, -found.low)
    assert swapped.more_cases == found.more_cases


@few
@given(pairs=MOST_ONE_WAY, order=st.randoms(use_true_random=False), share=st.sampled_from([1.0, 0.7]))
def test_order_of_files_does_not_matter(pairs: Pairs, order: object, share: float) -> None:
    """The same cases in another order, with looks and without: the same numbers, to the last bit."""
    old, new = split(pairs)
    keys = [*old]
    order.shuffle(keys)  # type: ignore[attr-defined]
    for planned in (None, max(1, int(len(pairs) / share))):
        found = compare_metrics({"a": old}, {"a": new}, planned=planned)
        assert compare_metrics({"a": old}, {"a": {key: new[key] for key in keys}}, planned=planned) == found
        assert compare_metrics({"a": {key: old[key] for key in keys}}, {"a": new}, planned=planned) == found


@few
@given(pairs=PAIRS | MOST_ONE_WAY, confidence=CONFIDENCES)
def test_looks_agree_with_themselves(pairs: Pairs, confidence: float) -> None:
    """What is fed after a decision changes nothing, and each look's verdict is that of its interval."""
    looks = PairedLooks(len(pairs), confidence=confidence)
    decided: PairedResult | None = None
    for old, new in pairs:
        if looks.add(old, new):
            found = looks.judge()
            check(found)
            assert found.looks[-1].cases == found.cases
            if decided:
                assert found == decided
            if found.verdict != "not decided":
                decided = decided or found
    assert compare(pairs, confidence, len(pairs)).looks != ()


@few
@given(several=st.lists(MOST_ONE_WAY, min_size=2, max_size=4), confidence=CONFIDENCES)
def test_holm_is_monotone(several: list[Pairs], confidence: float) -> None:
    """A metric among others is never more certain than alone, and of two the clearer one goes first."""
    runs: list[dict[str, Run]] = [{}, {}]
    for number, pairs in enumerate(several):
        runs[0][str(number)], runs[1][str(number)] = split(pairs)
    found = compare_metrics(*runs, confidence=confidence)

    assert [*found] == [*runs[0]]
    for name, one in found.items():
        check(one)
        alone = compare_metrics({name: runs[0][name]}, {name: runs[1][name]}, confidence=confidence)[name]
        assert alone.low >= one.low - 1e-12
        assert alone.high <= one.high + 1e-12
        assert confidence - 1e-12 <= one.confidence <= 1 - (1 - confidence) / len(several) + 1e-12
    undecided = {one.confidence for one in found.values() if one.verdict not in ("better", "worse")}
    assert len(undecided) <= 1
    assert all(one.confidence >= max(undecided, default=0) for one in found.values())


@given(signs=st.lists(st.floats(-1, 1), min_size=1, max_size=5))
def test_five_cases_never_decide(signs: list[float]) -> None:
    """Whatever they say."""
    pairs = [(max(-sign, 0.0), max(sign, 0.0)) for sign in signs]
    assert compare(pairs, 0.95).verdict == "not decided"


@settings(max_examples=limit_examples(20))
@given(costs=st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=20))
def test_ratio_holds_its_value(costs: Pairs) -> None:
    """And turns round with the runs, where both have an amount."""
    old, new = ({str(case): pair[run] for case, pair in enumerate(costs)} for run in (0, 1))
    found = measure_ratio(old, new)
    if sum(old.values()) == 0:
        assert found is None
        return
    assert found is not None
    assert 0 <= found.low <= found.value <= found.high


@settings(max_examples=limit_examples(20))
@given(labels=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=20))
def test_kappa_holds_its_value(labels: list[tuple[str, str]]) -> None:
    """It lies in [-1, 1], and is the same whoever is named first."""
    found = measure_kappa({str(case): [pair] for case, pair in enumerate(labels)})
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert measure_kappa({str(case): [pair[::-1]] for case, pair in enumerate(labels)}).value == pytest.approx(
        found.value
    )


@pytest.mark.parametrize(
    "design",
    [
        Design(100, has_looks=True),
        *leave_for_night(
            Design(260, has_looks=True), Design(100, runs=(3, 3), has_looks=True), Design(100, is_graded=True)
        ),
    ],
    ids=str,
)
def test_false_alarms(design: Design) -> None:
    """Of comparisons of two runs that are alike one in twenty may be called a change, however often they are looked at.

    `benchmarks/evaluation.py` has the figures.
    """
    rounds, most = (1_000, 0.06) if RUNS_ALL else (100, 0.08)
    found = design.simulate(rounds)
    assert found["better"] + found["worse"] <= most * rounds
    assert found["better"] + found["worse"] > 0
