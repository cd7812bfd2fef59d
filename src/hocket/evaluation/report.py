"""What a run has come to, computed from its two files alone: metrics with intervals, what is missing, and the bill."""

import math
import os
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal, localcontext
from typing import Any

from hocket.errors import InvalidInput
from hocket.evaluation.answer import Answer
from hocket.evaluation.files import AnswerLine, Design, name_run, read_answer_lines
from hocket.evaluation.scores import Scores, name_score, read_scores
from hocket.evaluation.statistics import estimate_mean
from hocket.evaluation.verdict import EvalComparison, name_cases, name_some
from hocket.messages import UsageMetadata, add_usage
from hocket.messages.html import write_text
from hocket.prices.money import EXACT, trim_amount

__all__ = ["EvalReport", "Metric", "make_report", "measure_scores", "read_report"]


@dataclass(frozen=True)
class Metric:
    """What a scorer says of a run.

    Attributes:
        name: of the scorer.
        mean: over cases, each with the mean of its runs, from 0 to 1.
        low, high: the interval of that, for cases like these.
        cases, runs: that have a score.
        flaky: ids of cases whose runs disagree.
    """

    name: str
    mean: float
    low: float
    high: float
    cases: int
    runs: int
    flaky: list[str]


@dataclass
class EvalReport:
    """What a run has come to.

    Attributes:
        path: of the answers.
        metrics: by their names; ``report["exact"]`` is one.
        design: how it was planned.
        cases: that are answered.
        missing: answers that are not there, since something else than the target has failed; the next run asks again.
        missing_cases: the ids of their cases.
        errors: answers that count as wrong, since the target has failed.
        unscored: scores that are not there, since a scorer has failed; the next run scores again.
        unmeasured: scorers that have given no score at all.
        causes: of these three, by their names: how many have failed of which class of error, the commonest first.
        usage: tokens of the target. cost: in US dollars. judge_cost: of scorers that ask models. None: not known.
        seconds: that an answer took, the median. seconds_p95: all but one in twenty took less. None: not known.
        stopped: what has ended the run early, such as `BudgetExceeded`; None: nothing.
        comparison: with the ``baseline``, by the metric that decides.
        rows: for each answer, as a dict: ``case``, ``run``, ``input``, ``expected``, ``metadata``, ``answer``, ``error``,
            and by metric ``scores`` and ``reasons``.
    """

    path: str
    metrics: dict[str, Metric]
    design: Design
    cases: int = 0
    missing: int = 0
    missing_cases: list[str] = field(default_factory=list[str])
    errors: int = 0
    unscored: int = 0
    unmeasured: list[str] = field(default_factory=list[str])
    causes: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    usage: UsageMetadata | None = None
    cost: Decimal | None = None
    judge_cost: Decimal | None = None
    seconds: float | None = None
    seconds_p95: float | None = None
    stopped: Exception | None = None
    comparison: EvalComparison | None = None
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], repr=False)

    def __getitem__(self, metric: str) -> Metric:
        if metric not in self.metrics:
            raise KeyError(f"{metric!r}: {self.path} has the metrics {', '.join(self.metrics) or 'none'}")
        return self.metrics[metric]

    @property
    def is_complete(self) -> bool:
        """Whether each case has all its answers and scores, or the run stopped since its verdict was certain."""
        is_certain = self.comparison is not None and self.comparison.verdict != "not decided"
        return not (self.missing or self.unscored) and (is_certain or self.cases >= self.design.cases)

    @property
    def scores(self) -> dict[str, dict[str, list[float]]]:
        """The scores by metric and case, those of a case's runs in order."""
        found: dict[str, dict[str, list[float]]] = {name: {} for name in self.metrics}
        for row in self.rows:
            for name, value in row["scores"].items():
                if value is not None:
                    found[name].setdefault(row["case"], []).append(value)
        return found

    def asdict(self) -> dict[str, Any]:
        """Return the report as JSON data, without its rows."""
        data = {name: value for name, value in vars(self).items() if name not in ("rows", "comparison", "stopped")}
        return {
            **data,
            "metrics": {name: asdict(one) for name, one in self.metrics.items()},
            "design": vars(self.design),
            "cost": _write_amount(self.cost),
            "judge_cost": _write_amount(self.judge_cost),
            "stopped": None if self.stopped is None else f"{type(self.stopped).__name__}: {self.stopped}",
            "comparison": None if self.comparison is None else self.comparison.asdict(),
            "is_complete": self.is_complete,
        }

    def __str__(self) -> str:
        return _write_table(self)

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        return write_text(str(self))


def read_report(out: str | os.PathLike[str], *, confidence: float = 0.95) -> EvalReport:
    """Return what a run has come to, from its files alone: nothing is asked.

    Raises:
        InvalidInput: there is no run, its file is none of an evaluation, or ``confidence`` is not in (0, 1).
        OSError: a file cannot be read.
    """
    return make_report(out, list(read_answer_lines(out)), confidence)


def make_report(
    out: str | os.PathLike[str], lines: Sequence[AnswerLine], confidence: float, design: Design | None = None
) -> EvalReport:
    """Return what a run has come to, whose answers have been read; ``design``: of one that may have none yet."""
    scores = read_scores(out)
    rows = [_make_row(line, line.answer, scores) for line in lines if line.answer is not None]
    measured = [measure_scores(name, rows, confidence) for name in scores.names]
    metrics = {one.name: one for one in measured if one is not None}
    report = EvalReport(os.fspath(out), metrics, _find_design(lines, design), rows=rows)
    report.unmeasured = [name for name in scores.names if name not in metrics]
    report.cases = len({row["case"] for row in rows})
    report.missing_cases = sorted({line.case for line in lines if line.answer is None})
    missing = [str(line.error) for line in lines if line.answer is None]
    errors = [row["error"] for row in rows if row["error"] is not None]
    unscored = [
        scores.errors.get(name_score(name_run(row["case"], row["run"]), name), "not scored yet")
        for row in rows
        for name in scores.names
        if name not in row["scores"]
    ]
    report.missing, report.errors, report.unscored = len(missing), len(errors), len(unscored)
    for what, failed in (("missing", missing), ("errors", errors), ("unscored", unscored)):
        report.causes[what] = dict(Counter(one.partition(":")[0] for one in failed).most_common())
    report.judge_cost = _add_costs(scores.costs) if scores.costs else None
    answers = [line.answer for line in lines if line.answer is not None]
    report.cost = _add_costs([answer.cost for answer in answers])
    for answer in answers:
        report.usage = report.usage if answer.usage is None else add_usage(report.usage, answer.usage)
    took = sorted(answer.seconds for answer in answers if answer.seconds is not None)
    if took:
        report.seconds, report.seconds_p95 = statistics.median(took), took[math.ceil(0.95 * len(took)) - 1]
    return report


def _make_row(line: AnswerLine, answer: Answer, scores: Scores) -> dict[str, Any]:
    named = {name: scores.given.get(name_score(name_run(line.case, line.run), name)) for name in scores.names}
    given = {name: score for name, score in named.items() if score is not None}
    data = {name: value for name, value in vars(line).items() if name not in ("design", "error", "mark")}
    return {
        **data,
        "error": answer.error,
        "scores": {name: value for name, (value, _) in given.items()},
        "reasons": {name: reason for name, (_, reason) in given.items() if reason},
    }


def measure_scores(name: str, rows: Sequence[Mapping[str, Any]], confidence: float) -> Metric | None:
    """Return what the scores in rows come to; None: there is none of that name."""
    cases: dict[str, list[float]] = {}
    for row in rows:
        if (value := row["scores"].get(name)) is not None:
            cases.setdefault(row["case"], []).append(value)
    if not cases:
        return None
    interval = estimate_mean(list(cases.values()), confidence)
    flaky = sorted(case for case, values in cases.items() if len(set(values)) > 1)
    runs = sum(map(len, cases.values()))
    return Metric(name, interval.value, interval.low, interval.high, len(cases), runs, flaky)


def _find_design(lines: Sequence[AnswerLine], planned: Design | None) -> Design:
    """Return how the run was planned, as its latest line knows: cases may have been put behind the first ones."""
    designs = [line.design for line in lines if line.design is not None]
    if designs:
        return max(designs, key=lambda design: design.cases)
    if planned is None and not lines:
        raise InvalidInput("the run has no line yet: nothing has been answered")
    return planned or Design(len({line.case for line in lines}), max(line.run for line in lines) + 1)


def _add_costs(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Return what several have cost; None: of one nobody knows it."""
    with localcontext(EXACT):
        return None if None in costs else trim_amount(sum((one for one in costs if one is not None), Decimal(0)))


def _write_amount(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def _write_table(report: EvalReport) -> str:
    design = report.design
    often = f" x {design.repeats}" if design.repeats > 1 else ""
    lines = [f"{report.path}: {report.cases} of {design.cases} cases{often}"]
    width = max((len(name) for name in (*report.metrics, *report.unmeasured)), default=0)
    for one in report.metrics.values():
        flaky = f"  {name_cases('flaky', one.flaky)}" if one.flaky else ""
        lines.append(f"  {one.name:<{width}}  {one.mean:7.1%}  [{one.low:.1%}, {one.high:.1%}]{flaky}")
    lines += [f"  {name:<{width}}  no score" for name in report.unmeasured]
    for name, what in (
        ("missing", "without an answer, which the next run asks for"),
        ("errors", "wrong, since the target has failed"),
        ("unscored", "scores missing, since a scorer has failed"),
    ):
        if causes := report.causes.get(name):
            named = name_some([f"{count} {kind}" for kind, count in causes.items()])
            lines.append(f"  {sum(causes.values())} {what}: {named}")
    if report.seconds is not None and report.seconds_p95 is not None:
        lines.append(f"  {report.seconds:.3g} s an answer, {report.seconds_p95:.3g} s for all but one in twenty")
    if report.cost:
        judges = f", and ${report.judge_cost:.4f} for judges" if report.judge_cost else ""
        lines.append(f"  ${report.cost:.4f}{judges}")
    if report.stopped is not None:
        lines.append(f"  stopped by {type(report.stopped).__name__}: {report.stopped}")
    if report.comparison is not None:
        lines.append(str(report.comparison))
        if report.cases < design.cases and report.is_complete:
            lines.append(
                "  certain before the end, so the difference tends to be too far from 0; the interval is right"
            )
    return "\n".join(lines)
