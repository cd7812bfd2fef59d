"""Two runs compared pair by pair, looked at as the cases come in, without a false alarm too many.

Who looks ten times at the 5 % level raises a false alarm in nearly one of five comparisons. Here the level is spent
(Lan and DeMets, "Discrete sequential boundaries for clinical trials", 1983): up to a look level * (share of the cases)²,
by the flips that have not yet gone beyond a bound. These flips are followed through all looks, so no normal theory is
needed, and small and graded samples are right as well.

The interval takes its width from the same bound, so the test and the interval cannot contradict each other: a verdict
"better" or "worse" is an interval without 0. It holds at all looks at once (Jennison and Turnbull, "Interim analyses: the
repeated confidence interval approach", 1989), so it is right where a run was stopped as well. Two pseudo-pairs, +1 and
-1, stand for what the sample has not shown (Bonett and Price, "Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data", 2012): 20 pairs without a change are not "+-0".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hocket.errors import InvalidInput
from hocket.evaluation.statistics.flips import FLIPS, SignFlips
from hocket.evaluation.statistics.intervals import check_confidence, check_score, find_z

__all__ = ["PairedLook", "PairedLooks", "PairedResult", "VerdictWord", "plan_looks"]

VerdictWord = Literal["better", "worse", "same", "not decided"]
"""The interval of the difference lies above 0, below 0, within ±`min_difference`, or none of these."""

_UNDECIDED: VerdictWord = "not decided"
_FIRST = 20
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PairedLook:
    """What one look saw: the number of pairs, the mean of their differences (new less old), and its interval."""

    cases: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedResult:
    """Two runs compared, as at the look that decided, or else at the last one.

    Attributes:
        verdict: about the new run.
        old: mean score of the old run, over the pairs of that look.
        new: mean score of the new run, likewise.
        difference: new less old. After an early stop it tends to be too far from 0; the interval holds.
        low: lower end of the interval of the difference.
        high: upper end.
        cases: number of pairs that were looked at.
        more_cases: how many more would decide; 0 where it is decided.
        confidence: of the interval and the verdict: with several metrics, that at which this one was tested.
        looks: all looks up to there.
    """

    verdict: VerdictWord
    old: float
    new: float
    difference: float
    low: float
    high: float
    cases: int
    more_cases: int
    confidence: float
    looks: tuple[PairedLook, ...]


@dataclass(frozen=True)
class _Sums:
    """What is known of the pairs at a look.

    ``size`` is the sum of the differences' sizes, ``square`` that of their squares; ``flips`` are the sizes of the sums
    with flipped signs.
    """

    share: float
    pairs: int
    old: float
    new: float
    total: float
    size: float
    square: float
    flips: Sequence[float]

    @property
    def variance(self) -> float:
        """That of the differences and two pseudo-pairs, +1 and -1."""
        return self._spread(self.total)

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
        return (self.square + 2) / count - (total / count) ** 2


def plan_looks(cases: int) -> tuple[int, ...]:
    """Return after how many cases a run is looked at: after each tenth, from 20 cases on, and at the end."""
    tenths = (math.ceil(cases * tenth / 10) for tenth in range(1, 10))
    return (*dict.fromkeys(count for count in tenths if _FIRST <= count < cases), cases)


class PairedLooks:
    """A comparison that is fed with cases in their fixed order, and looked at on the way.

    Who feeds it the same cases again has the same object: that is how it is resumed.

    Args:
        planned: number of cases, if no look decides before.
        looks: after how many cases to look, in rising order; the last one should be ``planned``. None: `plan_looks`.
        min_difference: the least difference that matters, between 0 and 1.
        confidence: of the verdict over all looks, and of each interval.

    Raises:
        InvalidInput: an argument is out of range.
    """

    def __init__(
        self,
        planned: int,
        *,
        looks: Sequence[int] | None = None,
        min_difference: float = 0.05,
        confidence: float = 0.95,
    ) -> None:
        check_confidence(confidence)
        if not 0 < min_difference < 1:
            raise InvalidInput(f"min_difference is {min_difference}; it lies between 0 and 1, such as 0.05")
        if planned < 1:
            raise InvalidInput(f"{planned} cases are planned; one is the least")
        self._planned = planned
        self._counts = frozenset(plan_looks(planned) if looks is None else looks)
        self._min_difference = min_difference
        self._confidence = confidence
        self._flips = SignFlips()
        self._pairs: list[tuple[float, float]] = []
        self._asked = 0
        self._flipped = 0
        self._looks: list[_Sums] = []

    def add(self, old: float | None, new: float | None) -> PairedResult | None:
        """Add the next case: its mean score in either run, None where a run has none.

        Returns:
            At a look what it says; "not decided" means: go on. Between looks None.

        Raises:
            InvalidInput: a score is not in [0, 1], or NaN.
        """
        if old is not None and new is not None:
            self._pairs.append((check_score(old), check_score(new)))
        self._asked += 1
        if self._asked not in self._counts or not self._pairs:
            return None
        fresh = [new - old for old, new in self._pairs[self._flipped :]]
        self._flipped = len(self._pairs)
        self._looks.append(self._sum_up(self._flips.add(fresh)))
        return self.judge()

    def judge(self, confidence: float | None = None) -> PairedResult:
        """Return what the looks say so far, at another confidence if one is given.

        Before the first look nothing is decided, and the interval is that of the pairs which are there.

        Raises:
            InvalidInput: there is no pair.
        """
        if not self._pairs:
            raise InvalidInput("there is nothing to compare: no case has a score in both runs")
        confidence = self._confidence if confidence is None else confidence
        check_confidence(confidence)
        level = 1 - confidence
        seen: list[PairedLook] = []
        word = _UNDECIDED
        sums = self._sum_up()
        peek = (sums, sums.size, level * sums.share**2)
        for sums, bound, spent in self._bound_looks(level) if self._looks else [peek]:
            seen.append(sums.estimate(bound, spent))
            word = self._name(seen[-1], spent) if self._looks else word
            if word != _UNDECIDED:
                break
        last = seen[-1]
        return PairedResult(
            verdict=word,
            old=sums.old / sums.pairs,
            new=sums.new / sums.pairs,
            difference=last.difference,
            low=last.low,
            high=last.high,
            cases=last.cases,
            more_cases=self._count_more(sums, level) if word == _UNDECIDED else 0,
            confidence=confidence,
            looks=tuple(seen),
        )

    def _sum_up(self, flips: Sequence[float] = ()) -> _Sums:
        """Return the sums of all pairs up to here."""
        differences = [new - old for old, new in self._pairs]
        return _Sums(
            share=min(self._asked / self._planned, 1.0),
            pairs=len(self._pairs),
            old=math.fsum(old for old, _ in self._pairs),
            new=math.fsum(new for _, new in self._pairs),
            total=math.fsum(differences),
            size=math.fsum(map(abs, differences)),
            square=math.fsum(one * one for one in differences),
            flips=flips,
        )

    def _bound_looks(self, level: float) -> Iterator[tuple[_Sums, float, float]]:
        """Yield each look with the sum that chance alone does not exceed there, and what is spent of the level."""
        standing: Sequence[int] = range(FLIPS)
        for look in self._looks:
            spent = level * look.share**2
            # The observed sum counts as one that goes beyond, so the level is kept exactly, and not about.
            may_cross = math.floor(spent * (FLIPS + 1) + _ROUNDING) - (FLIPS - len(standing)) - 1
            bound = look.size  # no sum goes beyond
            if may_cross >= 0:
                bound = sorted((look.flips[place] for place in standing), reverse=True)[may_cross]
            yield look, bound, spent
            standing = [place for place in standing if look.flips[place] <= bound + _ROUNDING]

    def _name(self, look: PairedLook, spent: float) -> VerdictWord:
        """Name what an interval says; nothing, where not even a change of all pairs would be certain."""
        if look.low > 0 or look.high < 0:
            return "better" if look.low > 0 else "worse"
        is_same = -self._min_difference < look.low and look.high < self._min_difference
        return "same" if is_same and 2.0 ** (1 - look.cases) <= spent else _UNDECIDED

    def _count_more(self, sums: _Sums, level: float) -> int:
        """Return how many more cases tell `min_difference` with a power of 80 %.

        Where so many are there, chance was against it: then as many as make the interval so narrow that it decides.
        """
        z = find_z(level)
        for width in (z + find_z(0.4), 2 * z):
            wanted = math.ceil((width / self._min_difference) ** 2 * sums.variance)
            if wanted > sums.pairs:
                break
        return max(wanted - sums.pairs, 1)
