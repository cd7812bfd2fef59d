"""Whole runs compared: cases paired by their ids, one metric or several."""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from hocket.errors import InvalidInput
from hocket.evaluation.statistics.looks import PairedLooks, PairedResult

__all__ = ["Scores", "compare_means", "compare_metrics", "order_cases"]

Scores = Mapping[str, Sequence[float]]
"""A run's scores of one metric: for the id of each case those of its runs, each in [0, 1]."""


def order_cases(ids: Iterable[str]) -> list[str]:
    """Return ids of cases in their fixed order, that of their SHA-256: as good as a random one, and each time the same."""
    return sorted(ids, key=lambda one: (hashlib.sha256(one.encode()).digest(), one))


def compare_means(
    old: Scores,
    new: Scores,
    *,
    min_difference: float = 0.05,
    confidence: float = 0.95,
    planned: int | None = None,
    asked: Collection[str] | None = None,
) -> PairedResult:
    """Compare the case means of two runs; cases that have no score in either are left out.

    Args:
        old: the scores of the run to compare with.
        new: the scores of the other one.
        min_difference: the least difference that matters, between 0 and 1.
        confidence: of the verdict and the interval.
        planned: number of cases of a run that may have been looked at, or is not complete: it is looked at as
            `PairedLooks` does. Cases behind the last full tenth do not count. None: one look at all cases.
        asked: with ``planned``, the ids of the cases that were asked, those without a score included. None: the pairs'.

    Raises:
        InvalidInput: no case has a score in both runs; a score or an argument is out of range.
    """
    return _look_at(old, new, min_difference, confidence, planned, asked).judge()


def compare_metrics(
    old: Mapping[str, Scores],
    new: Mapping[str, Scores],
    *,
    min_difference: float = 0.05,
    confidence: float = 0.95,
    planned: int | None = None,
    asked: Collection[str] | None = None,
) -> dict[str, PairedResult]:
    """Compare two runs by each metric that both have, with one confidence for all verdicts together.

    Holm's method ("A simple sequentially rejective multiple test procedure", 1979): all metrics are tested at their part
    of the level. Those that differ are taken out, and the others tested again, at their then greater part. Each interval
    is the one at the level of its metric's last test.

    Args:
        old: the scores by the name of the metric.
        new: likewise.
        min_difference: as for `compare_means`, and so are the others.
        confidence: of all verdicts together.
        planned: as there.
        asked: as there.

    Raises:
        InvalidInput: as `compare_means`.
    """
    left = {
        name: _look_at(scores, new[name], min_difference, confidence, planned, asked)
        for name, scores in old.items()
        if name in new
    }
    results = dict.fromkeys(left)
    found: dict[str, PairedResult] = {}
    while left:
        tried = {name: looks.judge(1 - (1 - confidence) / len(left)) for name, looks in left.items()}
        sure = [name for name, result in tried.items() if result.verdict in ("better", "worse")]
        found |= {name: tried[name] for name in sure or tried}
        left = {name: looks for name, looks in left.items() if sure and name not in sure}
    return {name: found[name] for name in results}


def _look_at(
    old: Scores,
    new: Scores,
    min_difference: float,
    confidence: float,
    planned: int | None,
    asked: Collection[str] | None,
) -> PairedLooks:
    """Feed all cases to a comparison."""
    shared = [case for case, runs in old.items() if runs and new.get(case)]
    if not shared:
        raise InvalidInput("there is nothing to compare: no case has a score in both runs")
    order = order_cases(shared if asked is None or planned is None else asked)
    looks = PairedLooks(
        planned or len(order),
        looks=None if planned else [len(order)],
        min_difference=min_difference,
        confidence=confidence,
    )
    for case in order:
        looks.add(_average(old.get(case)), _average(new.get(case)))
    return looks


def _average(runs: Sequence[float] | None) -> float | None:
    """Return the mean of a case's runs; None: it has none."""
    return math.fsum(runs) / len(runs) if runs else None
