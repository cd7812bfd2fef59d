"""Statistics of evaluation: intervals and comparisons beside values that scipy and statsmodels gave.

The values are stored, so the daily tests need neither; where both are (`scripts/setup oracles`), they are asked again.
"""

import math
import random
from collections import Counter
from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.evaluation.statistics import (
    PairedLooks,
    PairedResult,
    compare_metrics,
    estimate_mean,
    measure_kappa,
    measure_ratio,
    order_cases,
    plan_looks,
)
from hocket.evaluation.statistics.flips import SignFlips
from hocket.evaluation.statistics.intervals import find_t

WILSON = [
    (0, 10, 0.95, 0.0, 0.2775327998628892),
    (7, 10, 0.95, 0.39677814746114537, 0.8922087325936989),
    (20, 20, 0.95, 0.8388748419471806, 1.0),
    (45, 50, 0.9, 0.8084624858484291, 0.950470965522555),
    (333, 1000, 0.99, 0.2958230310037164, 0.37237841807402156),
]
STUDENT = [
    (1, 0.95, 12.706204736174694),
    (2, 0.95, 4.302652729749462),
    (3, 0.9, 2.3533634348018233),
    (7, 0.99, 3.4994832973504924),
    (30, 0.95, 2.0422724563012378),
    (99, 0.95, 1.9842169515864174),
    (998, 0.9875, 2.5022422423147774),
]
MCNEMAR = [
    (5, 0, 0.0625),
    (6, 0, 0.03125),
    (8, 0, 0.0078125),
    (8, 1, 0.0390625),
    (7, 1, 0.0703125),
    (9, 2, 0.0654296875),
    (10, 2, 0.03857421875),
    (9, 3, 0.14599609375),
]
"""Cases gained and lost, and the exact p-value of that."""
KAPPA = [
    ([[20, 5], [10, 15]], 0.4, 0.151092290476661, 0.6489077095233389),
    ([[45, 15], [25, 15]], 0.13043478260869554, -0.06293827779258965, 0.3238078430099807),
    ([[5, 3, 1], [2, 9, 2], [0, 1, 7]], 0.5408163265306122, 0.2896425447222381, 0.7919901083389862),
]
"""A table of two raters, Cohen's kappa of it, and its normal interval."""


def compare(pairs: list[tuple[float, float]], **options: Any) -> PairedResult:
    """Compare two runs of one metric, given as the scores of each case."""
    old, new = ({f"case {number}": [one] for number, one in enumerate(run)} for run in zip(*pairs, strict=True))
    return compare_metrics({"exact": old}, {"exact": new}, **options)["exact"]


def change(gained: int, lost: int, alike: int = 0) -> list[tuple[float, float]]:
    """Return pairs of which so many were gained, lost, and are alike."""
    return [(0.0, 1.0)] * gained + [(1.0, 0.0)] * lost + [(1.0, 1.0)] * alike


def count_pairs(table: list[list[int]]) -> dict[str, list[tuple[int, int]]]:
    pairs = Counter({(one, two): count for one, row in enumerate(table) for two, count in enumerate(row)})
    return {str(number): [pair] for number, pair in enumerate(pairs.elements())}


@pytest.mark.parametrize(("passed", "cases", "confidence", "low", "high"), WILSON)
def test_rate(passed: int, cases: int, confidence: float, low: float, high: float) -> None:
    """The interval of a rate is Wilson's."""
    found = estimate_mean([[1.0]] * passed + [[0.0]] * (cases - passed), confidence)

    assert (found.value, found.low, found.high) == pytest.approx((passed / cases, low, high), abs=1e-9)


@pytest.mark.parametrize(("freedom", "confidence", "t"), STUDENT)
def test_quantiles(freedom: int, confidence: float, t: float) -> None:
    """Student's quantiles are right to ten digits."""
    assert find_t(freedom, confidence) == pytest.approx(t, rel=1e-10)


def test_rate_with_repeats() -> None:
    """Runs of a case that are all alike are worth one; runs that have nothing to do with one another count all."""
    alike = estimate_mean([[1.0] * 5] * 80 + [[0.0] * 5] * 20)
    single = estimate_mean([[1.0]] * 80 + [[0.0]] * 20)
    mixed = estimate_mean([[1.0, 1.0, 1.0, 1.0, 0.0]] * 100)

    # The spread is an estimate: Student's quantile, 1 % wider with 99 degrees of freedom, 15 % with 9.
    assert single.high - single.low < alike.high - alike.low < 1.02 * (single.high - single.low)
    two, one = estimate_mean([[1.0, 1.0]] * 5 + [[0.0, 0.0]] * 5), estimate_mean([[1.0]] * 5 + [[0.0]] * 5)
    assert two.high - two.low > 1.1 * (one.high - one.low)
    assert mixed.value == pytest.approx(0.8)
    assert mixed.high - mixed.low == pytest.approx(alike.high - alike.low, rel=0.01), (
        "no spread tells nothing of dependence"
    )


def test_rate_of_one_case_is_about_its_runs() -> None:
    """Seven of ten runs are as good as seven of ten cases."""
    assert estimate_mean([[1.0] * 7 + [0.0] * 3]) == estimate_mean([[1.0]] * 7 + [[0.0]] * 3)
    assert estimate_mean([[0.5, 0.7]]).low > estimate_mean([[0.6]]).low


def test_grades_that_are_all_alike_are_not_certain() -> None:
    """Ten scores of 0.8 leave room for others; a thousand leave less."""
    few, many = estimate_mean([[0.8]] * 10), estimate_mean([[0.8]] * 1000)

    assert few.low < 0.65
    assert many.low > 0.79


@pytest.mark.parametrize(("gained", "lost", "p"), MCNEMAR)
@pytest.mark.parametrize("alike", [0, 40])
def test_single_runs_are_compared_by_mcnemars_exact_test(gained: int, lost: int, p: float, alike: int) -> None:
    """Up to twelve pairs that differ, at the usual level and at the levels around the exact p-value."""
    pairs = change(gained, lost, alike)

    assert (compare(pairs).verdict == "better") is (p <= 0.05)
    assert compare(pairs, confidence=1 - 0.95 * p).verdict != "better"
    if p < 0.05:  # beyond, the normal's quantile asks for more than the exact test
        assert compare(pairs, confidence=1 - 1.05 * p).verdict == "better"


def test_many_pairs_are_compared_as_by_the_binomial_distribution() -> None:
    """Beyond twelve the flips are drawn: the bound is where the exact test has it, or one step beside."""
    differing = 61
    tails = [sum(math.comb(differing, k) for k in range(gained, 62)) * 2 / 2**61 for gained in range(62)]
    least = next(gained for gained, p in enumerate(tails) if gained > 30 and p <= 0.05)
    found = next(
        gained for gained in range(31, 62) if compare(change(gained, differing - gained, 40)).verdict == "better"
    )

    assert abs(found - least) <= 1


def test_interval_of_the_difference_is_that_of_bonett_and_price() -> None:
    """Its formula for counts, with a quantile that the flips found: about 1.96."""
    found = compare(change(60, 40, 200))
    gained, lost = 61 / 302, 41 / 302
    half = 1.96 * math.sqrt((gained + lost - (gained - lost) ** 2) / 302)

    assert found.low == pytest.approx(gained - lost - half, abs=0.05 * half)
    assert found.high == pytest.approx(gained - lost + half, abs=0.05 * half)
    assert (found.cases, found.old, found.new) == (300, pytest.approx(240 / 300), pytest.approx(260 / 300))


def test_five_of_five_decide_nothing() -> None:
    """Not even a change of all cases would be certain; six are enough, and at a higher confidence more are wanted."""
    five = compare(change(5, 0))

    assert (five.verdict, five.high) == ("not decided", 1.0)
    assert -0.01 < five.low <= 0
    assert five.more_cases > 0
    assert compare(change(6, 0)).verdict == "better"
    assert compare(change(0, 6)).verdict == "worse"
    assert compare(change(7, 0), confidence=0.99).verdict == "not decided"
    assert compare(change(0, 0, 5), min_difference=0.9).verdict == "not decided"
    assert compare(change(1, 0)).verdict == "not decided"


def test_no_change_is_the_same_when_cases_suffice() -> None:
    """20 pairs without a change may hide 5 points; 100 do not."""
    few, many = compare(change(0, 0, 20)), compare(change(0, 0, 100))

    assert (few.verdict, many.verdict) == ("not decided", "same")
    assert few.high > 0.05 > many.high
    assert many.more_cases == 0


def test_more_cases_decide() -> None:
    """So many more as these are tell the least difference; where they are there already, as many as narrow the interval."""
    found = compare(change(12, 9, 79))
    share = (21 + 2) / 102 - (3 / 102) ** 2
    assert found.more_cases == math.ceil((1.959964 + 0.841621) ** 2 * share / 0.05**2) - 100

    near = compare(change(125, 98, 777))  # 1,000 would have told 5 points; it is 2.7, and may be none, or more
    assert near.verdict == "not decided"
    assert 300 < near.more_cases < 450


def test_repeats_and_grades() -> None:
    """Means of cases are what is compared, be they of runs or of grades."""
    old = {str(case): [0.0, 1.0, 0.0] for case in range(12)}
    new = {str(case): [1.0, 1.0, float(case > 5)] for case in range(12)}
    found = compare_metrics({"exact": old}, {"exact": new})["exact"]

    assert (found.verdict, found.cases) == ("better", 12)
    assert found.difference == pytest.approx(0.5)
    assert (found.old, found.new) == (pytest.approx(1 / 3), pytest.approx(5 / 6))


def test_holm() -> None:
    """The smallest p-value has to be below a third of the level, the next below half: statsmodels agrees."""
    changes = {"p 0.031": change(6, 0, 30), "p 0.0078": change(8, 0, 28), "p 0.039": change(10, 2, 24)}
    runs = [
        {name: {str(case): [pair[run]] for case, pair in enumerate(pairs)} for name, pairs in changes.items()}
        for run in (0, 1)
    ]
    found = compare_metrics(*runs)

    assert [(name, one.verdict == "better") for name, one in found.items()] == [
        ("p 0.031", False),
        ("p 0.0078", True),
        ("p 0.039", False),
    ]
    assert [one.confidence for one in found.values()] == pytest.approx([0.975, 1 - 0.05 / 3, 0.975])
    assert all(one.low <= 0 for name, one in found.items() if name != "p 0.0078")
    del runs[1]["p 0.039"]
    assert [one.verdict for one in compare_metrics(*runs).values()] == ["better", "better"], "the level is whole now"
    assert compare_metrics({"a": {}}, {"b": {}}) == {}


def test_looks_are_at_the_tenths() -> None:
    """From 20 cases on, and at the end."""
    assert plan_looks(260) == (26, 52, 78, 104, 130, 156, 182, 208, 234, 260)
    assert plan_looks(100) == (20, 30, 40, 50, 60, 70, 80, 90, 100)
    assert plan_looks(25) == (20, 23, 25)
    assert plan_looks(7) == (7,)


def test_a_look_stops_what_is_certain() -> None:
    """All that is lost shows at the first look, and cases that come later change nothing of it."""
    looks = PairedLooks(100)
    for _ in range(19):
        assert not looks.add(1.0, 0.0)
        assert looks.judge().verdict == "not decided", "it is no time for a look"
    assert looks.add(1.0, 0.0)
    found = looks.judge()
    assert (found.verdict, found.cases, len(found.looks)) == ("worse", 20, 1)

    for _ in range(80):
        looks.add(0.0, 1.0)
    assert looks.judge() == found
    assert looks.judge(0.999).verdict == "better", "at 0.999, it was not certain then"


def test_looks_of_a_run_are_those_of_its_file() -> None:
    """What was said on the way is said of the scores afterwards, with cases missing, asked in any order, and killed."""
    chance = random.Random(5)
    order = order_cases(f"case {number}" for number in range(200))
    old = {case: [float(chance.random() < 0.6)] for case in order}
    new = {case: [float(chance.random() < 0.8)] for case in order if chance.random() < 0.95}
    looks = PairedLooks(200)
    for asked, case in enumerate(order, 1):
        if looks.add(old[case][0], new[case][0] if case in new else None):
            at_once = looks.judge()
            asked_ids = set(order[: asked + 7])
            known = {case: new[case] for case in sorted(asked_ids) if case in new}
            afterwards = compare_metrics({"a": old}, {"a": known}, planned=200, asked=asked_ids)["a"]
            assert afterwards == at_once
    assert at_once.verdict == "better"
    assert at_once.cases < 200


def test_all_sign_patterns_spend_the_level_exactly() -> None:
    """Of all that chance can make of seven differences, no more than the level are called a change, look by look."""
    sizes, looks, confidence = (0.9, 0.9, 0.5, 0.5, 0.6, 1.0, 0.9), (3, 4, 5, 6, 7), 0.65
    alarms: Counter[int] = Counter()
    for pattern in range(64):  # the other 64 are these with the runs changed
        compared = PairedLooks(7, looks, 0.01, confidence)
        for bit, size in enumerate(sizes):
            compared.add(*((0.0, size) if pattern >> bit & 1 else (size, 0.0)))
        found = compared.judge()
        alarms[found.cases] += found.verdict in ("better", "worse")

    spent = [sum(alarms[look] for look in looks[: n + 1]) / 64 for n in range(5)]
    assert 0 < spent[2] < spent[3] < spent[4]
    assert all(one <= (1 - confidence) * (look / 7) ** 2 for one, look in zip(spent, looks, strict=True))


def test_ratio() -> None:
    """Of totals, not of means of ratios; the interval follows the cases."""
    chance = random.Random(1)
    old = {str(case): chance.expovariate(1) for case in range(400)}
    new = {case: 0.8 * cost * chance.uniform(0.9, 1.1) for case, cost in old.items()}
    found = measure_ratio(old, {**new, "only new": 99.0})

    assert found is not None
    assert found.value == pytest.approx(sum(new.values()) / sum(old.values()))
    # the delta method's
    deviations = [new[case] - found.value * old[case] for case in old]
    error = math.sqrt(math.fsum(one * one for one in deviations)) / sum(old.values())
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.15)
    assert found == measure_ratio(dict(reversed(old.items())), new)
    assert (found.low, found.high) == pytest.approx((0.7940913752947212, 0.8066955737746516), abs=1e-12), (
        "in each process, and on each machine"
    )


def test_ratio_of_nothing() -> None:
    """There is none without an old amount; a change from 0 is one."""
    assert measure_ratio({"a": 0.0}, {"a": 1.0}) is None
    assert measure_ratio({"a": 1.0}, {"b": 1.0}) is None
    one = measure_ratio({"a": 2.0}, {"a": 1.0})
    assert one is not None
    assert (one.value, one.low, one.high) == (0.5, 0.5, 0.5)
    rare = measure_ratio({"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 1.0})
    assert rare is not None
    assert rare.high == math.inf


@pytest.mark.parametrize(("table", "kappa", "low", "high"), KAPPA)
def test_kappa(table: list[list[int]], kappa: float, low: float, high: float) -> None:
    """Cohen's; the bootstrap's interval is about the normal one."""
    found = measure_kappa(count_pairs(table))

    assert found.value == pytest.approx(kappa)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.08), pytest.approx(high, abs=0.08))


def test_kappa_over_cases() -> None:
    """Runs of a case are drawn together, so ten runs that say the same are no ten cases; one label alone is agreed on."""
    pairs = [(True, True)] * 8 + [(False, False)] * 6 + [(True, False)] * 4 + [(False, True)] * 2
    single = measure_kappa({str(case): [pair] for case, pair in enumerate(pairs)})
    repeated = measure_kappa({str(case): [pair] * 10 for case, pair in enumerate(pairs)})

    assert single == measure_kappa({str(case): [pairs[case]] for case in reversed(range(len(pairs)))})
    assert repeated.value == single.value
    assert repeated.low == pytest.approx(single.low, abs=0.15)
    assert repeated.high == pytest.approx(single.high, abs=0.15)
    assert measure_kappa({"a": [(1, 1)], "b": [(1, 1)]}).value == 1.0
    assert measure_kappa({"a": [(1, 0)], "b": [(0, 1)]}).value == -1.0


def test_kappa_of_few_labels_is_not_certain() -> None:
    """Twenty cases that agree leave room for doubt, a thousand hardly any, and one label alone tells nothing."""
    few, many = (measure_kappa({str(case): [(case % 2, case % 2)] for case in range(n)}) for n in (20, 1_000))

    assert few.value == few.high == many.value == many.high == 1.0
    # Donner and Eliasziw's interval, by hand for this table: 20 (1 - kappa) / (1 + kappa) = 3.8415, which is 0.678.
    assert 0.5 < few.low < (20 - 3.8415) / (20 + 3.8415)
    assert 0.98 < many.low < 1
    assert measure_kappa({str(case): [(1, 1)] for case in range(20)}).low <= 0


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.1, 1.1])
def test_scores_out_of_range_are_refused(score: float) -> None:
    """At the door, with their value."""
    for refused in (
        lambda: estimate_mean([[0.5], [0.5, score]]),
        lambda: PairedLooks(5).add(0.5, score),
        lambda: compare([(score, 0.5)]),
    ):
        with pytest.raises(InvalidInput, match=f"a score is {score}; scores lie between 0 and 1"):
            refused()


def test_other_arguments_out_of_range_are_refused() -> None:
    """So are runs with nothing to compare."""
    pairs = change(3, 1)
    for refused, message in (
        (lambda: estimate_mean([]), "no score to estimate"),
        (lambda: estimate_mean([[1.0], []]), "no score to estimate"),
        (lambda: estimate_mean([[1.0]], 1.0), "confidence is 1.0"),
        (lambda: compare(pairs, confidence=math.nan), "confidence is nan"),
        (lambda: compare(pairs, min_difference=0.0), "min_difference is 0.0"),
        (lambda: PairedLooks(0), "0 cases are planned"),
        (lambda: PairedLooks(5).judge(), "nothing to compare"),
        (lambda: compare_metrics({"a": {"1": [1.0]}}, {"a": {"2": [1.0]}}), "nothing to compare"),
        (lambda: measure_ratio({"a": -1.0}, {"a": 1.0}), "an amount is -1.0"),
        (lambda: measure_ratio({"a": math.nan}, {"a": 1.0}), "an amount is nan"),
        (lambda: measure_kappa({}), "no pair of labels"),
    ):
        with pytest.raises(InvalidInput, match=message):
            refused()


def test_oracles_give_what_is_stored() -> None:
    """scipy and statsmodels, where they are."""
    stats = pytest.importorskip("scipy.stats", reason="no scipy: scripts/setup oracles")
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="no statsmodels: scripts/setup oracles")
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    multitest = pytest.importorskip("statsmodels.stats.multitest")

    for passed, cases, confidence, low, high in WILSON:
        found = proportion.proportion_confint(passed, cases, 1 - confidence, "wilson")
        assert found == pytest.approx((low, high), abs=1e-12)
    for freedom, confidence, t in STUDENT:
        assert stats.t.ppf(0.5 + confidence / 2, freedom) == pytest.approx(t)
    for gained, lost, p in MCNEMAR:
        assert stats.binomtest(gained, gained + lost).pvalue == pytest.approx(p)
    for table, kappa, low, high in KAPPA:
        found = raters.cohens_kappa(table)
        assert (found.kappa, found.kappa_low, found.kappa_upp) == pytest.approx((kappa, low, high))
    assert [*multitest.multipletests([0.03125, 0.0078125, 0.03857], 0.05, "holm")[0]] == [False, True, False]


def test_oracle_of_flips() -> None:
    """scipy's permutation test of a mean counts all sign flips of twelve graded differences, as ours are."""
    stats = pytest.importorskip("scipy.stats", reason="no scipy: scripts/setup oracles")
    chance = random.Random(2)
    for _ in range(5):
        differences = [chance.uniform(-0.4, 0.8) for _ in range(12)]
        test = stats.permutation_test((differences,), lambda x, axis: x.mean(axis), permutation_type="samples")
        flips = SignFlips().add(differences)
        assert sum(one > abs(sum(differences)) - 1e-9 for one in flips) / len(flips) == pytest.approx(test.pvalue)
