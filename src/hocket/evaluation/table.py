"""Reports and comparisons as a terminal shows them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket.evaluation.comparison import EvalComparison, Verdict
    from hocket.evaluation.report import EvalReport
    from hocket.evaluation.statistics import Interval

__all__ = ["describe_verdict", "write_comparison", "write_report"]

MOST_NAMED = 5
"""Cases that a line names."""

GUESSES_BELOW = 0.8
"""How often a preference has to survive the swap of the answers."""


def write_report(report: "EvalReport") -> str:
    """Return a report as lines of text."""
    design = report.design
    often = f" x {design.repeats}" if design.repeats > 1 else ""
    lines = [f"{report.path}: {report.cases} of {design.cases} cases{often}"]
    width = max((len(name) for name in report.metrics), default=0)
    for one in report.metrics.values():
        flaky = f"  {_name_cases('flaky', one.flaky)}" if one.flaky else ""
        lines.append(f"  {one.name:<{width}}  {one.mean:7.1%}  [{one.low:.1%}, {one.high:.1%}]{flaky}")
    for count, what in (
        (report.missing, "without an answer, which the next run asks for"),
        (report.errors, "wrong, since the target has failed"),
        (report.unscored, "scores missing, since a scorer has failed"),
    ):
        if count:
            lines.append(f"  {count} {what}")
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


def write_comparison(comparison: "EvalComparison") -> str:
    """Return a comparison as lines of text."""
    lines = [f"{comparison.new} against {comparison.old}"]
    lines += [f"  {describe_verdict(one)}" for one in comparison.verdicts.values()]
    for what, flips in (("gained", comparison.gained), ("lost", comparison.lost)):
        if flips:
            lines.append(f"  {_name_cases(what, flips)}")
    for what, left in (("changed", comparison.changed), ("in one run alone", comparison.unpaired)):
        if left:
            lines.append(f"  left out: {_name_cases(what, left)}")
    ratios = [
        _describe_ratio(ratio, what)
        for ratio, what in ((comparison.cost_ratio, "cost"), (comparison.seconds_ratio, "time"))
        if ratio is not None
    ]
    if ratios:
        lines.append(f"  {', '.join(ratios)}")
    share = comparison.swap_agreement
    if share is not None:
        guesses = ": this judge guesses" if share < GUESSES_BELOW else ""
        lines.append(f"  {share:.0%} of its preferences survive the swap of the answers{guesses}")
    return "\n".join(lines)


def describe_verdict(verdict: "Verdict") -> str:
    """Return a verdict as a sentence: ``contains: worse, -6.0 points [-10.1, -1.9] on 300 cases``."""
    low, high = (f"{100 * bound:+.1f}" for bound in (verdict.low, verdict.high))
    said = (
        f"{verdict.metric}: {verdict.verdict}, {100 * verdict.difference:+.1f} points [{low}, {high}] "
        f"on {verdict.cases} case{'s' * (verdict.cases != 1)} ({verdict.old:.1%} to {verdict.new:.1%})"
    )
    if verdict.verdict != "not decided":
        return said
    return f"{said}; about {verdict.more_cases} more case{'s' * (verdict.more_cases != 1)} would tell"


def _describe_ratio(ratio: "Interval", what: str) -> str:
    return f"{ratio.value:.2f} of the {what} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _name_cases(what: str, cases: Sequence[str]) -> str:
    more = f" and {len(cases) - MOST_NAMED} more" if len(cases) > MOST_NAMED else ""
    return f"{len(cases)} {what}: {', '.join(cases[:MOST_NAMED])}{more}"
