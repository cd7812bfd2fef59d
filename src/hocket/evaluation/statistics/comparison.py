"""Whole runs compared: cases paired by their ids, by one metric or several."""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from hocket.evaluation.statistics.looks import PairedLooks, PairedResult

__all__ = ["RunScores", "average", "compare_metrics", "order_cases"]

RunScores = Mapping[str, Mapping[str, Sequence[float]]]
"""The scores of a run, each in [0, 1]: by metric, by the id of the case, those of the case's runs."""


def order_cases(ids: Iterable[str]) -> list[str]:
    """Return ids of cases in their fixed order, that of their SHA-256: as good as a random one, and each time the same."""
    return sorted(ids, key=lambda one: hashlib.sha256(one.encode()).digest())


def compare_metrics(
    old: RunScores,
    new: RunScores,
    *,
    min_difference: float = 0.05,
    confidence: float = 0.95,
    planned: int | None = None,
    asked: Collection[str] | None = None,
) -> dict[str, PairedResult]:
    """Compare two runs by each metric that both have: the means of cases that have a score in both.

    The confidence is that of all verdicts together, by Holm's method ("A simple sequentially rejective multiple test
    procedure", 1979): all metrics are tested at their part of the level; those that differ are taken out, and the others
    tested again, at their then greater part. An interval is that of its metric's last test.

    Args:
        old: the run to compare with.
        new: the other one.
        min_difference: the least difference that matters, between 0 and 1.
        confidence: of all verdicts together, between 0 and 1.
        planned: number of cases of a run that may have been looked at, or is not complete: the looks of `PairedLooks` are
            repeated, and cases behind the last full tenth do not count. None: one look at all cases.
        asked: with ``planned``, the ids of the cases that were asked, those without a score included. None: the pairs'.

    Raises:
        InvalidInput: no case has a score in both runs; a score or an argument is out of range.
    """

    def feed(before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]) -> PairedLooks:
        pairs = [case for case, runs in before.items() if runs and after.get(case)]
        order = order_cases(pairs if asked is None or planned is None else asked)
        looks = PairedLooks(
            planned or max(len(order), 1), None if planned else [len(order)], min_difference, confidence
        )
        for case in order:
            looks.add(average(before.get(case)), average(after.get(case)))
        return looks

    left = {metric: feed(scores, new[metric]) for metric, scores in old.items() if metric in new}
    found: dict[str, PairedResult] = {}
    while left:
        found |= {metric: looks.judge(1 - (1 - confidence) / len(left)) for metric, looks in left.items()}
        still = {metric: looks for metric, looks in left.items() if found[metric].verdict in ("same", "not decided")}
        left = still if len(still) < len(left) else {}
    return found


def average(runs: Iterable[float | None] | None) -> float | None:
    """Return the mean of a case's runs, as far as they are known; None: none is."""
    known = [one for one in runs or () if one is not None]
    return math.fsum(known) / len(known) if known else None
