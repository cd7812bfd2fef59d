"""Two runs compared pair by pair, looked at while the cases come in, without a false alarm too many.

Who looks ten times at the 5 % level raises a false alarm in nearly one of five comparisons. Here the level is spent
(Lan and DeMets, "Discrete sequential boundaries for clinical trials", 1983): up to a look level * (share of the cases)²,
by the flips that have not gone beyond a bound before. They are followed through all looks, so no normal theory is
needed, and small and graded samples are right as well.

The interval takes its width from the same bound, so the test and the interval cannot contradict each other: a verdict
"better" or "worse" is an interval without 0. It holds at all looks at once (Jennison and Turnbull, "Interim analyses: the
repeated confidence interval approach", 1989), so also where a run was stopped. Two pseudo-pairs, +1 and -1, stand for
what the sample has not shown (Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial
proportions based on paired data", 2012): 20 pairs without a change do not make the difference 0 for certain, and 50 small
gains do not hide the one case in 50 that fails altogether. Pseudo-pairs of the size of the gains would.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from hocket.errors import InvalidInput
from hocket.evaluation.statistics.flips import FLIPS, SignFlips
from hocket.evaluation.statistics.intervals import check_confidence, check_min_difference, check_score, find_z

__all__ = ["PairedLook", "PairedLooks", "PairedResult", "VerdictWord", "plan_looks"]

VerdictWord = Literal["better", "worse", "same", "not decided"]
"""The interval of the difference lies above 0, below 0, within ±`min_difference`, or none of these."""

_FIRST = 20
_POWER = NormalDist().inv_cdf(0.8)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PairedLook:
    """What one look saw: the number of pairs, the mean of their differences (new less old), and its interval."""

    cases: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedResult(PairedLook):
    """The look that decided, or else the last one. After an early stop ``difference`` tends to be too far from 0.

    Attributes:
        verdict: about the new run.
        old: mean score of the old run, over the pairs of this look.
        new: mean score of the new run, in the same way.
        more_cases: how many more would decide; 0 where it is decided.
        confidence: of the interval: with several metrics, that at which this one was tested.
        looks: all looks up to this one.
    """

    verdict: VerdictWord
    old: float
    new: float
    more_cases: int
    confidence: float
    looks: tuple[PairedLook, ...]


class _Sums:
    """What is known at a look of its pairs, and the sums with flipped signs; two pseudo-pairs are in ``variance``."""

    def __init__(self, pairs: Sequence[tuple[float, float]], share: float, flips: Sequence[float]) -> None:
        differences = [new - old for old, new in pairs]
        self.share = share
        self.flips = flips
        self.pairs = len(pairs)
        self.old, self.new = (math.fsum(run) / len(pairs) for run in zip(*pairs, strict=True))
        self.total = math.fsum(differences)
        self.size = math.fsum(map(abs, differences))
        self._square = math.fsum(one * one for one in differences) + 2
        self.variance = self._spread(self.total)

    def estimate(self, bound: float, level: float) -> PairedLook:
        """Return the mean difference and its interval; ``bound``: the greatest sum that chance may have made.

        It holds 0 unless the sum goes beyond the bound, and beyond what a normal sum does at the level.
        """
        count = self.pairs + 2
        beyond = bound + 2 * _ROUNDING
        z = max(find_z(level), beyond / math.sqrt(self._spread(beyond) * count))
        centre, half = self.total / count, z * math.sqrt(self.variance / count)
        difference = self.total / self.pairs
        low, high = max(-1.0, min(centre - half, difference)), min(1.0, max(centre + half, difference))
        return PairedLook(self.pairs, difference, low, high)

    def _spread(self, total: float) -> float:
        count = self.pairs + 2
        return self._square / count - (total / count) ** 2


def plan_looks(cases: int) -> tuple[int, ...]:
    """Return after how many cases a run is looked at: after each tenth, from 20 cases on, and at the end."""
    tenths = (math.ceil(cases * tenth / 10) for tenth in range(1, 10))
    return (*dict.fromkeys(count for count in tenths if _FIRST <= count < cases), cases)


class PairedLooks:
    """A comparison that is fed with cases in their fixed order, and looked at on the way.

    With the same cases it is the same object again: so it is resumed.

    Args:
        planned: number of cases, if no look decides before.
        looks: after how many cases to look; the last is ``planned``. None: `plan_looks`.
        min_difference: the least difference that matters, between 0 and 1.
        confidence: of the verdict over all looks, and of each interval.

    Raises:
        InvalidInput: an argument is out of range.
    """

    def __init__(
        self, planned: int, looks: Sequence[int] | None = None, min_difference: float = 0.05, confidence: float = 0.95
    ) -> None:
        check_confidence(confidence)
        check_min_difference(min_difference)
        if planned < 1:
            raise InvalidInput(f"{planned} cases are planned; one is the least")
        self._planned = planned
        self._counts = frozenset(plan_looks(planned) if looks is None else looks)
        self._min_difference = min_difference
        self._confidence = confidence
        self._pairs: list[tuple[float, float]] = []
        self._asked = 0
        self._flips = SignFlips()
        self._flipped = 0
        self._looks: list[_Sums] = []

    def add(self, old: float | None, new: float | None) -> bool:
        """Add the next case: its mean score in either run, None where a run has none.

        Returns:
            Whether this was the time for a look, so that `judge` has more to say.

        Raises:
            InvalidInput: a score is not in [0, 1], or NaN.
        """
        if old is not None and new is not None:
            self._pairs.append((check_score(old), check_score(new)))
        self._asked += 1
        if self._asked not in self._counts or not self._pairs:
            return False
        flips = self._flips.add(new - old for old, new in self._pairs[self._flipped :])
        self._flipped = len(self._pairs)
        self._looks.append(self._sum_up(flips))
        return True

    def judge(self, confidence: float | None = None) -> PairedResult:
        """Return what the looks say so far, at another confidence if one is given.

        Before the first look nothing is decided, and the interval is that of the pairs which are there.

        Raises:
            InvalidInput: there is no pair; ``confidence`` is out of range.
        """
        if not self._pairs:
            raise InvalidInput("there is nothing to compare: no case has a score in both runs")
        confidence = self._confidence if confidence is None else confidence
        check_confidence(confidence)
        seen: list[PairedLook] = []
        word: VerdictWord = "not decided"
        sums = self._sum_up(())
        for sums, bound, spent in self._bound_looks(1 - confidence):
            seen.append(sums.estimate(bound, spent))
            word = self._name(seen[-1], spent)
            if word != "not decided":
                break
        if not seen:
            seen.append(sums.estimate(sums.size, (1 - confidence) * sums.share**2))
        more = self._count_more(sums, 1 - confidence) if word == "not decided" else 0
        return PairedResult(
            **vars(seen[-1]),
            verdict=word,
            old=sums.old,
            new=sums.new,
            more_cases=more,
            confidence=confidence,
            looks=tuple(seen),
        )

    def _sum_up(self, flips: Sequence[float]) -> _Sums:
        return _Sums(self._pairs, min(self._asked / self._planned, 1.0), flips)

    def _bound_looks(self, level: float) -> Iterator[tuple[_Sums, float, float]]:
        """Yield each look with the sum that chance alone does not exceed there, and what is spent of the level."""
        standing: Sequence[int] = range(FLIPS)
        for look in self._looks:
            spent = level * look.share**2
            # The observed sum counts as one that goes beyond, so the level is kept exactly, and not about.
            may_cross = math.floor(spent * (FLIPS + 1) + _ROUNDING) - (FLIPS - len(standing)) - 1
            sums = [look.flips[place] for place in standing]
            bound = look.size if may_cross < 0 else sorted(sums)[-1 - may_cross]
            yield look, bound, spent
            most = bound + _ROUNDING
            standing = [place for place, size in zip(standing, sums, strict=True) if size <= most]

    def _name(self, look: PairedLook, spent: float) -> VerdictWord:
        """Name what an interval says; nothing, where not even a change of all pairs would be certain."""
        if look.low > 0 or look.high < 0:
            return "better" if look.low > 0 else "worse"
        is_same = -self._min_difference < look.low and look.high < self._min_difference
        return "same" if is_same and 2.0 ** (1 - look.cases) <= spent else "not decided"

    def _count_more(self, sums: _Sums, level: float) -> int:
        """Return how many more cases tell `min_difference` with a power of 80 %.

        Where so many are there, chance was against it: then as many as make the interval so narrow that it decides.
        """
        z = find_z(level)
        wanted = [math.ceil((width / self._min_difference) ** 2 * sums.variance) for width in (z + _POWER, 2 * z)]
        return max(next((one for one in wanted if one > sums.pairs), 0) - sums.pairs, 1)
