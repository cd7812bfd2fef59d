"""Two runs of the same cases, compared: better, worse, the same within what matters, or not decided."""

import os
from typing import Literal, TypeAlias

from hocket.errors import InvalidInput
from hocket.evaluation.report import EvalReport, read_report
from hocket.evaluation.statistics import Interval, average, compare_metrics, measure_ratio
from hocket.evaluation.verdict import EvalComparison, Verdict

__all__ = ["Amount", "compare", "sum_by_case"]

Amount: TypeAlias = Literal["cost", "seconds"]
"""What a case may take: US dollars, or seconds."""


def compare(
    old: str | os.PathLike[str] | EvalReport,
    new: str | os.PathLike[str] | EvalReport,
    *,
    metric: str | None = None,
    min_difference: float = 0.05,
    confidence: float = 0.95,
) -> EvalComparison:
    """Compare two runs, by all metrics that both have, or by one.

    Args:
        old, new: paths of answers, or reports.
        metric: the only one; None: all, by Holm's method.
        min_difference: the least difference that matters, in (0, 1).
        confidence: of all verdicts together, in (0, 1).

    Raises:
        InvalidInput: a path is no run, or the runs have no case or no metric in common.
    """
    before, after = (one if isinstance(one, EvalReport) else read_report(one) for one in (old, new))
    digests = [{row["case"]: row["digest"] for row in report.rows} for report in (before, after)]
    both = digests[0].keys() & digests[1].keys()
    changed = sorted(case for case in both if _differ(digests[0][case], digests[1][case]))
    paired = both - set(changed)
    if not paired:
        raise InvalidInput(
            f"{before.path} and {after.path} have no case in common: {len(changed)} have one id and are not the same, and "
            f"{len(digests[0].keys() ^ digests[1].keys())} are in one of them alone"
        )
    scores = [_choose_scores(report, paired, metric) for report in (before, after)]
    names = [name for name in scores[0] if name in scores[1]]
    if not names:
        raise InvalidInput(
            f"{before.path} and {after.path} have no metric in common: {', '.join(before.metrics) or 'none'}, and "
            f"{', '.join(after.metrics) or 'none'}" + ("" if metric is None else f"; asked for was {metric!r}")
        )
    is_looked_at = after.design.sequential or after.cases < after.design.cases
    results = compare_metrics(
        {name: scores[0][name] for name in names},
        {name: scores[1][name] for name in names},
        min_difference=min_difference,
        confidence=confidence,
        planned=after.design.cases if is_looked_at else None,
        asked=digests[1].keys() | set(after.missing_cases) if is_looked_at else None,
    )
    is_early = after.design.sequential and not after.missing  # the rest was not asked
    before_means, after_means = ({case: average(runs) or 0.0 for case, runs in one[names[0]].items()} for one in scores)
    moves = {case: after_means[case] - mean for case, mean in before_means.items() if case in after_means}
    return EvalComparison(
        before.path,
        after.path,
        {
            name: Verdict(name, **{key: value for key, value in vars(one).items() if key != "confidence"})
            for name, one in results.items()
        },
        sorted(case for case, move in moves.items() if move > 0),
        sorted(case for case, move in moves.items() if move < 0),
        changed,
        sorted(
            digests[1].keys() - digests[0].keys() | (set[str]() if is_early else digests[0].keys() - digests[1].keys())
        ),
        _compare_totals(before, after, paired, "cost", confidence),
        _compare_totals(before, after, paired, "seconds", confidence),
        min_difference,
        confidence,
    )


def _differ(old: str, new: str) -> bool:
    return bool(old and new and old != new)  # a case whose target has failed has no digest


def _choose_scores(report: EvalReport, cases: set[str], metric: str | None) -> dict[str, dict[str, list[float]]]:
    return {
        name: {case: runs for case, runs in scores.items() if case in cases}
        for name, scores in report.scores.items()
        if metric in (None, name)
    }


def sum_by_case(report: EvalReport, what: Amount) -> dict[str, float]:
    """Return what each case of a run cost in US dollars, or took in seconds, over its runs, where that is known."""
    total: dict[str, float] = {}
    for row in report.rows:
        amount = getattr(row["answer"], what)
        if amount is not None:
            total[row["case"]] = total.get(row["case"], 0.0) + float(amount)
    return total


def _compare_totals(
    old: EvalReport, new: EvalReport, cases: set[str], what: Amount, confidence: float
) -> Interval | None:
    before, after = ({case: one for case, one in sum_by_case(run, what).items() if case in cases} for run in (old, new))
    return measure_ratio(before, after, confidence)
