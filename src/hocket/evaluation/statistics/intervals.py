"""The interval of one run: what its mean score says of the mean over all cases like these.

A normal interval of a rate near 0 or 1 is too narrow, and [1, 1] for 20 right answers of 20. Wilson's is not. Where a
case has several runs, the cases are clusters, and all runs together tell less than as many independent ones: the
interval is Wilson's for the number of runs that would have left the case means as spread as they are (the effective
sample size of Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
estimated from survey data", 1998). Graded scores get pseudo-cases of 0 and 1, as Agresti and Coull give them to rates.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from hocket.errors import InvalidInput

__all__ = ["Interval", "check_confidence", "check_min_difference", "check_score", "estimate_mean", "find_t", "find_z"]

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Interval:
    """A value that was measured, and the interval that holds the true one with the confidence that was asked for."""

    value: float
    low: float
    high: float


def estimate_mean(cases: Collection[Sequence[float]], confidence: float = 0.95) -> Interval:
    """Return the mean score over cases, each case with the same weight, and its interval.

    Of one case alone the interval is about its runs: what its score would be over many of them.

    Args:
        cases: for each case the scores of its runs, one at least, each in [0, 1]. The order does not matter.
        confidence: how often such an interval holds the true mean, between 0 and 1.

    Raises:
        InvalidInput: there is no case, or one without a run; a score or ``confidence`` is out of range, or NaN.
    """
    check_confidence(confidence)
    if not cases or not all(cases):
        raise InvalidInput(
            "there is no score to estimate a mean of: give one case at least, each with one run at least"
        )
    scores = [check_score(score) for runs in cases for score in runs]
    # The only case there is: its runs take the place of cases.
    means = scores if len(cases) == 1 else [math.fsum(runs) / len(runs) for runs in cases]
    mean = math.fsum(means) / len(means)
    if all(score in (0.0, 1.0) for score in scores):
        low, high = _estimate_rate(means, mean, len(scores), confidence)
    else:
        low, high = _estimate_grade(means, confidence)
    return Interval(mean, max(0.0, min(low, mean)), min(1.0, max(high, mean)))


def check_score(score: float) -> float:
    """Return a score that lies in [0, 1]; any other, or NaN, is an `InvalidInput`."""
    if not 0 <= score <= 1:
        raise InvalidInput(f"a score is {score}; scores lie between 0 and 1")
    return score


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence is {confidence}; it lies between 0 and 1, such as 0.95")


def check_min_difference(min_difference: float) -> None:
    """Refuse a least difference that matters which is not between 0 and 1."""
    if not 0 < min_difference < 1:
        raise InvalidInput(f"min_difference is {min_difference}; it lies between 0 and 1, such as 0.05")


def find_z(level: float) -> float:
    """Return the number of standard errors beyond which chance goes in ``level`` of all cases, both sides together."""
    return -_NORMAL.inv_cdf(level / 2)


def _estimate_rate(means: Sequence[float], mean: float, runs: int, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a rate, for as many runs as the clusters are worth."""
    cases = len(means)
    worth, z = float(cases), find_z(1 - confidence)
    if runs > cases > 1:
        spread = math.fsum((one - mean) ** 2 for one in means) / (cases - 1)
        if spread > 0:  # all cases alike tell nothing of the runs' dependence: a case is worth one run
            worth = min(max(cases * mean * (1 - mean) / spread, 1.0), float(runs))
        # The spread is an estimate itself.
        z = find_t(cases - 1, confidence)
    share = z * z / worth
    centre = (mean + share / 2) / (1 + share)
    half = math.sqrt(share * mean * (1 - mean) + share * share / 4) / (1 + share)
    return centre - half, centre + half


def _estimate_grade(means: Sequence[float], confidence: float) -> tuple[float, float]:
    """Return the normal interval of a mean, with pseudo-cases: two of 0 and two of 1 below 30 cases, else one of each."""
    pairs = 2 if len(means) < 30 else 1
    padded = [*means, *(0.0, 1.0) * pairs]
    centre = math.fsum(padded) / len(padded)
    spread = math.fsum((one - centre) ** 2 for one in padded) / (len(padded) - 1)
    half = find_z(1 - confidence) * math.sqrt(spread / len(padded))
    return centre - half, centre + half


@lru_cache(maxsize=64)
def find_t(freedom: int, confidence: float) -> float:
    """Return the quantile of Student's distribution, both sides together.

    Newton's method from the normal's quantile, which lies below: the distribution is concave to the right of 0, so each
    step goes up and none goes too far.
    """
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = find_z(1 - confidence)
    for _ in range(200):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (confidence - _integrate_t(t, freedom)) / (2 * density)
        t += step
        if abs(step) < 1e-12 * t:
            break
    return t


def _integrate_t(t: float, freedom: int) -> float:
    """Return how much of Student's distribution lies within ±t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(2 + odd, freedom, 2):
        term *= square * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
