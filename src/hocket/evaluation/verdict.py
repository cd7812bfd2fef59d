"""What is said of two runs: a verdict for each metric, and the cases behind it, as data and as a terminal shows it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hocket.evaluation.statistics import Interval, PairedLook, VerdictWord
from hocket.messages.html import write_text

__all__ = ["EvalComparison", "Verdict", "describe_verdict", "name_cases", "name_some"]

MOST_NAMED = 5
"""Cases that a line names."""

GUESSES_BELOW = 0.8
"""How often a preference has to survive the swap of the answers."""

_WORDS: tuple[VerdictWord, ...] = ("worse", "better", "not decided", "same")
"""The first that a metric says is said of the whole."""


@dataclass(frozen=True)
class Verdict:
    """What a metric says of two runs.

    Attributes:
        metric: its name.
        verdict: "better" or "worse": the interval is on one side of 0. "same": it lies within the least difference that
            matters. "not decided": neither.
        old, new: the means of the two runs, over the cases that both have.
        difference: new less old. low, high: its interval, for cases like these.
        cases: that both runs have.
        more_cases: how many more would tell, with a power of 80 %; 0: it is decided.
        looks: what was seen on the way, after so many cases.
    """

    metric: str
    verdict: VerdictWord
    old: float
    new: float
    difference: float
    low: float
    high: float
    cases: int
    more_cases: int
    looks: tuple[PairedLook, ...] = ()


@dataclass
class EvalComparison:
    """Two runs, compared case by case. With several metrics all verdicts together are right as often as asked (Holm).

    Attributes:
        old, new: paths of their answers.
        verdicts: by metric; ``comparison["exact"]`` is one.
        gained, lost: ids of cases that are right only in the new run, or only in the old one, by the first metric.
        changed: ids of cases that are not the same in both runs; they are left out.
        unpaired: ids of cases that only one run has an answer to.
        cost_ratio, seconds_ratio: new over old, with intervals; None: not known.
        min_difference: the least difference that matters.
        confidence: of all verdicts together.
        swap_agreement: of `acompare_pairs`: how often a preference survived the swap of the answers; else None.
        unscored: likewise: ids of cases with pairs that the judge has failed at; they are left out, and asked for again.
    """

    old: str
    new: str
    verdicts: dict[str, Verdict]
    gained: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    unpaired: list[str] = field(default_factory=list[str])
    cost_ratio: Interval | None = None
    seconds_ratio: Interval | None = None
    min_difference: float = 0.05
    confidence: float = 0.95
    swap_agreement: float | None = None
    unscored: list[str] = field(default_factory=list[str])

    def __getitem__(self, metric: str) -> Verdict:
        if metric not in self.verdicts:
            raise KeyError(f"{metric!r}: the runs have the metrics {', '.join(self.verdicts)} in common")
        return self.verdicts[metric]

    @property
    def verdict(self) -> VerdictWord:
        """Of all metrics: "worse" if any is, else "better" if any is, else "not decided" if any is not, else "same"."""
        said: list[VerdictWord] = [one.verdict for one in self.verdicts.values()] or ["same"]
        return min(said, key=_WORDS.index)

    def asdict(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        verdicts = {name: asdict(one) for name, one in self.verdicts.items()}
        ratios = {name: one and asdict(one) for name, one in vars(self).items() if name.endswith("_ratio")}
        return {**vars(self), "verdict": self.verdict, "verdicts": verdicts, **ratios}

    def __str__(self) -> str:
        return _write_table(self)

    def _repr_html_(self) -> str:
        """Return the comparison as a notebook shows it."""
        return write_text(str(self))


def _write_table(comparison: EvalComparison) -> str:
    lines = [f"{comparison.new} against {comparison.old}"]
    lines += [f"  {describe_verdict(one)}" for one in comparison.verdicts.values()]
    named = (
        ("", "gained", comparison.gained),
        ("", "lost", comparison.lost),
        ("left out: ", "changed", comparison.changed),
        ("left out: ", "in one run alone", comparison.unpaired),
        ("left out: ", "without a preference, since the judge has failed", comparison.unscored),
    )
    lines += [f"  {before}{name_cases(what, cases)}" for before, what, cases in named if cases]
    known = ((comparison.cost_ratio, "cost"), (comparison.seconds_ratio, "time"))
    ratios = [
        f"{one.value:.2f} of the {what} [{one.low:.2f}, {one.high:.2f}]" for one, what in known if one is not None
    ]
    if ratios:
        lines.append(f"  {', '.join(ratios)}")
    share = comparison.swap_agreement
    if share is not None:
        guesses = ": this judge guesses" if share < GUESSES_BELOW else ""
        lines.append(f"  {share:.0%} of its preferences survive the swap of the answers{guesses}")
    return "\n".join(lines)


def describe_verdict(verdict: Verdict) -> str:
    """Return a verdict as a sentence: ``contains: worse, -6.0 points [-10.1, -1.9] on 300 cases``."""
    low, high = (f"{100 * bound:+.1f}" for bound in (verdict.low, verdict.high))
    said = (
        f"{verdict.metric}: {verdict.verdict}, {100 * verdict.difference:+.1f} points [{low}, {high}] "
        f"on {verdict.cases} case{'s' * (verdict.cases != 1)} ({verdict.old:.1%} to {verdict.new:.1%})"
    )
    if verdict.verdict != "not decided":
        return said
    return f"{said}; about {verdict.more_cases} more case{'s' * (verdict.more_cases != 1)} would tell"


def name_cases(what: str, cases: Sequence[str]) -> str:
    """Return how many cases there are, and the first of them: ``2 flaky: a, b``."""
    return f"{len(cases)} {what}: {name_some(cases)}"


def name_some(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first of several names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
