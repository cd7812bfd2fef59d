"""Whether verdicts of `hocket.evaluation` may be trusted: false alarms, power, cases asked, and intervals that miss.

Each row but the last ones is a share of simulated comparisons (`rounds` says how many), beside what it may be. A case has a
difficulty, which both runs share (`RELATED`); a run's answer passes by chance, more often where the case is easy. A graded
score is the same chance on a scale. All is drawn from fixed seeds, so the figures are the same on each machine.

With a share of 0.05 of 2,000 comparisons, chance alone makes a figure of 0.040 to 0.060. `--quick` has 50, of few designs:
it shows that the simulation runs, and judges nothing.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from hocket.evaluation.statistics import (
    PairedLooks,
    compare_metrics,
    estimate_mean,
    measure_kappa,
    measure_ratio,
    plan_looks,
)

from .bench import Bench, Case
from .harness import Target
from .table import Row

__all__ = ["CASES"]

T = TypeVar("T")

NORMAL = NormalDist()
RELATED = 0.3
"""The correlation of what two runs find difficult: with rates of 0.7 and 0.8, 0.32 of the pairs differ."""

FALSE_ALARMS = Target(0.06, over=None)
MISSES = Target(0.065, over=None)
MOST_TIME = Target(300, over=None)


@dataclass(frozen=True)
class Design:
    """What is compared: so many cases, with runs of each, and the rates of the old run and the new one."""

    cases: int
    old: float = 0.7
    new: float = 0.7
    runs: tuple[int, int] = (1, 1)
    is_graded: bool = False
    has_looks: bool = False
    min_difference: float = 0.05

    @property
    def difference(self) -> float:
        """The true one."""
        if not self.is_graded:
            return self.new - self.old
        old, new = (NORMAL.cdf(NORMAL.inv_cdf(rate) / math.sqrt(2)) for rate in (self.old, self.new))
        return new - old

    def draw(self, chance: random.Random) -> tuple[list[float], list[float]]:
        """Draw the case means of both runs."""
        spread, shared = math.sqrt(1 - RELATED), math.sqrt(RELATED)
        means: tuple[list[float], list[float]] = ([], [])
        for _ in range(self.cases):
            ease = shared * chance.gauss()
            for run, rate in enumerate((self.old, self.new)):
                mark = NORMAL.inv_cdf(rate) + ease
                answers = [mark + spread * chance.gauss() for _ in range(self.runs[run])]
                scores = [NORMAL.cdf(one) if self.is_graded else float(one > 0) for one in answers]
                means[run].append(math.fsum(scores) / len(scores))
        return means

    def simulate(self, rounds: int) -> Counter[str]:
        """Return sums over comparisons: verdicts, intervals that "miss" the truth, and "cases" asked, as shares."""
        found: Counter[str] = Counter()
        chance = random.Random(repr(self))
        counts = plan_looks(self.cases) if self.has_looks else [self.cases]
        for _ in range(rounds):
            looks = PairedLooks(self.cases, counts, self.min_difference)
            for old, new in zip(*self.draw(chance), strict=True):
                looks.add(old, new)
            result = looks.judge()
            found[result.verdict] += 1
            found["miss"] += not result.low <= self.difference <= result.high
            found["cases"] += result.cases  # each case is a pair here
        return found


ALIKE = {
    "single, 30 cases": Design(30),
    "single, 100 cases": Design(100),
    "single, 100 cases, 0.95 right": Design(100, 0.95, 0.95),
    "single, 260 cases, looks": Design(260, has_looks=True),
    "3 runs, 100 cases": Design(100, runs=(3, 3)),
    "3 runs, 100 cases, looks": Design(100, runs=(3, 3), has_looks=True),
    "1 run against 3, 100 cases, looks": Design(100, runs=(1, 3), has_looks=True),
    "graded, 30 cases": Design(30, is_graded=True),
    "graded, 100 cases": Design(100, is_graded=True),
    "graded, 260 cases, looks": Design(260, is_graded=True, has_looks=True),
}


CHANGES = (
    ("single", 260, (1, 1), False, 0.9),
    ("3 runs", 100, (3, 3), False, 0.9),
    ("graded", 150, (1, 1), True, 0.88),
)
"""What is changed from a rate of 0.7 to 0.8, and to one that is about twice as far."""


def alarms(bench: Bench) -> Iterator[Row]:
    """False alarms where nothing has changed, and misses of the intervals."""
    rounds = _count_rounds(bench)
    for what, design in _choose(bench, ALIKE.items()):
        found = design.simulate(rounds)
        alarm = (found["better"] + found["worse"]) / rounds
        yield _row(bench, f"no change: {what}: false alarms", alarm, FALSE_ALARMS)
        yield _row(bench, f"no change: {what}: intervals miss", found["miss"] / rounds, MISSES)
    yield _row(bench, "no change: 3 metrics, 100 cases: any false alarm", _simulate_metrics(rounds), FALSE_ALARMS)
    # A difference that matters just so must not be called none.
    found = Design(600, 0.7, 0.8, has_looks=True, min_difference=0.1).simulate(rounds)
    yield _row(bench, "10 points that matter, 600 cases, looks: called the same", found["same"] / rounds, FALSE_ALARMS)


def power(bench: Bench) -> Iterator[Row]:
    """Differences that are found, and the cases that it takes: with looks, and without."""
    rounds = _count_rounds(bench)
    for kind, cases, runs, graded, twice in _choose(bench, CHANGES):
        fixed = Design(cases, 0.7, 0.8, runs, graded)
        plain = fixed.simulate(rounds)
        looked = Design(cases, 0.7, 0.8, runs, graded, has_looks=True).simulate(rounds)
        far = Design(cases, 0.7, twice, runs, graded, has_looks=True).simulate(rounds)
        name = f"{kind}, {cases} cases, {100 * fixed.difference:.0f} points"
        yield _row(bench, f"{name}: found without looks", plain["better"] / rounds)
        yield _row(bench, f"{name}: found with looks", looked["better"] / rounds)
        relation = looked["better"] / max(plain["better"], 1)
        yield _row(bench, f"{name}: of that found without", relation, Target(0.95, over=None, at_least=True))
        for what, one, most in ((name, looked, 0.8), (f"{kind}, {cases} cases, twice that", far, 0.45)):
            yield _row(bench, f"{what}: cases asked, of all", one["cases"] / rounds / cases, Target(most, over=None))
            yield _row(bench, f"{what}: intervals miss at the stop", one["miss"] / rounds, MISSES)


def intervals(bench: Bench) -> Iterator[Row]:
    """Intervals of single runs that miss the true mean."""
    rounds = _count_rounds(bench)
    chance = random.Random(0)
    for cases, runs, rate, related in (
        *((30, 1, 0.9, 0.0), (100, 1, 0.8, 0.0), (30, 3, 0.8, 0.5), (100, 5, 0.9, 0.6)),
        *((20, 3, 0.95, 0.8), (20, 5, 0.7, 0.3)),
    ):

        def draw(
            cases: int = cases, runs: int = runs, rate: float = rate, related: float = related
        ) -> list[list[float]]:
            marks = [NORMAL.inv_cdf(rate) + math.sqrt(related) * chance.gauss() for _ in range(cases)]
            return [[float(mark + math.sqrt(1 - related) * chance.gauss() > 0) for _ in range(runs)] for mark in marks]

        missed = _simulate_intervals(rounds, draw, rate)
        yield _row(bench, f"rate of {rate}, {cases} cases x {runs}, related {related}: miss", missed, MISSES)
    for cases in (10, 30, 100):
        for one, two in ((4.0, 1.0), (0.5, 0.5), (0.5, 0.1)):

            def grade(cases: int = cases, one: float = one, two: float = two) -> list[list[float]]:
                return [[chance.betavariate(one, two)] for _ in range(cases)]

            missed = _simulate_intervals(rounds, grade, one / (one + two))
            yield _row(bench, f"graded, beta({one:g}, {two:g}), {cases} cases: intervals miss", missed, MISSES)
    for labels in (20, 50):
        missed = _simulate_kappa(rounds // 4, labels)
        yield _row(bench, f"kappa of 0.8, {labels} labels (a quarter of the rounds): miss", missed, MISSES)


def compare(bench: Bench) -> Iterator[Row]:
    """CPU time of comparisons of two runs of 1,000 cases."""
    chance = random.Random(0)
    for kind, is_graded, runs in (("single", False, 1), ("3 runs", False, 3), ("graded", True, 1)):
        means = Design(1000, 0.7, 0.72, (runs, runs), is_graded).draw(chance)
        old, new = (_name_cases(run) for run in means)
        costs = [{case: 1 + runs[0] for case, runs in run.items()} for run in (old, new)]
        for what, metrics, planned in (
            ("a metric", "a", None),
            ("a metric, looks", "a", 1000),
            ("3 metrics", "abc", None),
        ):
            started = time.process_time()
            compare_metrics(dict.fromkeys(metrics, old), dict.fromkeys(metrics, new), planned=planned)
            spent = time.process_time() - started
            yield Row(bench.case, f"{kind}, 1,000 cases, {what}", "ms", 1000 * spent, target=MOST_TIME, rounds=1)
    started = time.process_time()
    measure_ratio(*costs)
    spent = time.process_time() - started
    yield Row(bench.case, "a ratio of totals, 1,000 cases", "ms", 1000 * spent, target=MOST_TIME, rounds=1)


def _simulate_metrics(rounds: int) -> float:
    """Return how often one of three metrics, which have nothing to do with one another, raises a false alarm."""
    chance, alarm = random.Random(0), 0
    for _ in range(rounds):
        runs: tuple[dict[str, dict[str, list[float]]], ...] = ({}, {})
        for metric in "abc":
            for run, means in zip(runs, Design(100).draw(chance), strict=True):
                run[metric] = _name_cases(means)
        alarm += any(one.verdict in ("better", "worse") for one in compare_metrics(*runs).values())
    return alarm / rounds


def _simulate_intervals(rounds: int, draw: Callable[[], list[list[float]]], mean: float) -> float:
    """Return the share of intervals without the true mean."""
    found = [estimate_mean(draw()) for _ in range(rounds)]
    return sum(not one.low <= mean <= one.high for one in found) / rounds


def _simulate_kappa(rounds: int, labels: int) -> float:
    """Return the share of intervals without the true kappa, of raters that differ on one label of ten."""
    chance, missed = random.Random(0), 0
    for _ in range(rounds):
        firsts = [chance.random() < 0.5 for _ in range(labels)]
        pairs = {str(case): [(one, one == (chance.random() < 0.9))] for case, one in enumerate(firsts)}
        found = measure_kappa(pairs)
        missed += not found.low <= 0.8 <= found.high
    return missed / rounds


def _name_cases(means: list[float]) -> dict[str, list[float]]:
    return {str(case): [one] for case, one in enumerate(means)}


def _count_rounds(bench: Bench) -> int:
    return 50 if bench.plan.quick else 2_000


def _row(bench: Bench, what: str, figure: float, target: Target | None = None) -> Row:
    target = None if bench.plan.quick else target
    return Row(bench.case, what, "share", figure, target=target, rounds=_count_rounds(bench))


def _choose(bench: Bench, designs: Iterable[T]) -> list[T]:
    """Return all, or every third for a quick run."""
    return list(designs)[:: 3 if bench.plan.quick else 1]


CASES: dict[str, Case] = {
    "evaluation-alarms": alarms,
    "evaluation-power": power,
    "evaluation-intervals": intervals,
    "evaluation-compare": compare,
}
