"""The page of a report or of a comparison: the verdict as a sentence, plots, cases, and problems.

A comparison knows the paths of its runs alone; their answers are read again from these.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from hocket.evaluation.comparison import Amount, sum_by_case
from hocket.evaluation.page.cases import CaseWriter, write_amount
from hocket.evaluation.page.markup import Html, join, tag
from hocket.evaluation.page.plots import (
    MINUS,
    Estimate,
    Pair,
    draw_estimates,
    draw_looks,
    draw_pairs,
    write_points,
    write_tick,
)
from hocket.evaluation.page.scale import Scale
from hocket.evaluation.report import EvalReport, read_report
from hocket.evaluation.statistics import average, order_cases
from hocket.evaluation.verdict import EvalComparison, describe_verdict

__all__ = ["write_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = Path(__file__).with_name("page.css")
_MOST_NAMED = 50
_MOST_POINTS = 1_000
_AMOUNTS: tuple[tuple[Amount, str, str], ...] = (
    ("seconds", "Seconds a case", "of the time"),
    ("cost", "Cost a case", "of the cost"),
)


_MEANINGS = {
    "missing": "no answer; the next run asks again",
    "errors": "a wrong answer",
    "unscored": "no score; the next run scores again",
}


def write_page(subject: EvalReport | EvalComparison, path: str | os.PathLike[str]) -> None:
    """Write a report, or a comparison with the answers of both runs, as one HTML file: no script, no other host.

    1,000 cases are less than 3 MB: a text of more than 20,000 characters is cut, and cases that find no more room are
    counted; the page says so.

    Raises:
        InvalidInput: a run of the comparison is no longer at its path.
        OSError: the file cannot be written.
    """
    if isinstance(subject, EvalReport):
        comparison, report = subject.comparison, subject
    else:
        comparison, report = subject, read_report(subject.new)
    parts = _write_report(report) if comparison is None else _write_comparison(comparison, report)
    title = report.path if comparison is None else f"{comparison.new} against {comparison.old}"
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"{tag('title', title)}<style>{_STYLE.read_text(encoding='utf-8')}</style></head>"
    )
    kicker = tag("p", tag("b", "hocket eval"), title, class_="kicker")
    foot = tag("footer", "Written by ", tag("code", "hocket eval"), ". This page loads nothing, and runs nothing.")
    body = tag("body", tag("main", kicker, *parts, foot))
    Path(path).write_text(f"{head}{body}</html>\n", encoding="utf-8")


def _write_comparison(comparison: EvalComparison, report: EvalReport) -> list[Html]:
    old = read_report(comparison.old)
    verdicts = comparison.verdicts
    first = next(iter(verdicts.values()))
    leading = next((one for one in verdicts.values() if one.verdict == comparison.verdict), first)
    band, percent = comparison.min_difference, f"{comparison.confidence:.0%}"
    together = "all of them together, " if len(verdicts) > 1 else ""
    rows = [
        Estimate(
            one.metric,
            one.verdict,
            one.difference,
            one.low,
            one.high,
            f"{one.verdict} · {write_points(one.difference)} [{write_points(one.low)}, {write_points(one.high)}]",
        )
        for one in verdicts.values()
    ]
    edge = max([band * 1.5, *(abs(bound) for one in rows for bound in (one.low, one.high))]) * 1.06
    explained = (
        f"A bar is where the true difference lies, for cases like these, {together}with a confidence of {percent}. "
        f"What differs by less than {100 * band:.3g} points does not matter: the grey band."
    )
    flips = {**dict.fromkeys(comparison.gained, "better"), **dict.fromkeys(comparison.lost, "worse")}
    parts = [
        _write_sentence(leading.metric, describe_verdict(leading), leading.verdict),
        _write_facts(
            {
                "cases in both": leading.cases,
                "lost": len(comparison.lost),
                "gained": len(comparison.gained),
                "time": comparison.seconds_ratio and f"\N{MULTIPLICATION SIGN} {comparison.seconds_ratio.value:.2f}",
                "cost": comparison.cost_ratio and f"\N{MULTIPLICATION SIGN} {comparison.cost_ratio.value:.2f}",
                "survive the swap": None if comparison.swap_agreement is None else f"{comparison.swap_agreement:.0%}",
                **_find_sums(report),
            }
        ),
        _write_section(
            "Difference",
            draw_estimates(rows, Scale(-edge, edge), write_tick, band=band, about="← worse · points · better →"),
            about=explained,
        ),
    ]
    if len(leading.looks) > 1:
        parts.append(_write_section("After each look", draw_looks(leading.looks, band, leading.verdict), about=_LOOKS))
    before, after = (one.scores.get(first.metric, {}) for one in (old, report))
    writer = CaseWriter([old, report], first.metric)
    for word, heading, cases in (("worse", "Lost", comparison.lost), ("better", "Gained", comparison.gained)):
        if cases:
            moves = {
                case: abs((average(after.get(case, ())) or 0) - (average(before.get(case, ())) or 0)) for case in cases
            }
            listed = writer.write(sorted(cases, key=lambda case: (-moves[case], case)), word)
            parts.append(_write_section(f"{heading}: {len(cases)}", listed))
    parts += _compare_amounts(comparison, old, report, flips)
    return [*parts, *_write_rest(report, [("Changed", comparison.changed), ("In one run alone", comparison.unpaired)])]


_LOOKS = (
    "The difference after so many cases, and its interval, which holds at all looks at once. Where a run has stopped early, "
    "the difference tends to be too far from 0; the interval is right."
)


def _write_report(report: EvalReport) -> list[Html]:
    metrics = [*report.metrics.values()]
    rows = [
        Estimate(one.name, "plain", one.mean, one.low, one.high, f"{one.mean:.1%} [{one.low:.1%}, {one.high:.1%}]")
        for one in metrics
    ]
    facts: dict[str, object] = {
        "cases": f"{report.cases} of {report.design.cases}",
        "runs of each": report.design.repeats if report.design.repeats > 1 else None,
        "median": None if report.seconds is None else write_amount(report.seconds, "seconds"),
        "19 of 20 within": None if report.seconds_p95 is None else write_amount(report.seconds_p95, "seconds"),
        **_find_sums(report),
    }
    if not metrics:
        return [_write_sentence("no score yet", "no score yet"), _write_facts(facts), *_write_rest(report, [])]
    first, count = metrics[0].name, metrics[0].cases
    sentence = f"{first}: {rows[0].figures} of {count} case{'s' * (count != 1)}"
    plot = draw_estimates(
        rows, Scale(-0.02, 1.02), lambda one: f"{max(one, 0):.0%}", band=None, about="mean over the cases"
    )
    means = {case: average(runs) or 0.0 for case, runs in report.scores[first].items()}
    cases = CaseWriter([report], first).write(sorted(means, key=lambda case: (means[case], case)), "plain")
    return [
        _write_sentence(first, sentence),
        _write_facts(facts),
        _write_section("Metrics", plot, about="A bar is where the true mean lies, for cases like these."),
        _write_section("Cases, the lowest scores first", cases),
        *_write_rest(report, []),
    ]


def _write_sentence(metric: str, sentence: str, word: str = "") -> Html:
    """Return the verdict: its words large, its interval and its cases beside it; ``word``: what is coloured."""
    said, _, rest = sentence[len(metric) :].replace("-", MINUS).partition(" [")
    before, _, after = said.partition(word) if word else (said, "", "")
    verdict = tag("em", word, class_=word.replace(" ", "-"))
    return tag("h1", metric, before, *([verdict] if word else []), after, tag("small", f" [{rest}" if rest else ""))


def _write_facts(facts: Mapping[str, object]) -> Html:
    """Return facts by their names; what is not known is left out."""
    known = {name: str(value) for name, value in facts.items() if value is not None}
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in known.items()))


def _write_section(heading: str, *inside: Html, about: str = "") -> Html:
    return tag("section", tag("h2", heading), *([tag("p", about, class_="soft")] if about else []), *inside)


def _find_sums(report: EvalReport) -> dict[str, object]:
    sums = {"spent": report.cost, "on judges": report.judge_cost}
    return {name: write_amount(float(cost), "cost") for name, cost in sums.items() if cost}


def _compare_amounts(comparison: EvalComparison, old: EvalReport, new: EvalReport, flips: dict[str, str]) -> list[Html]:
    """Return what each case took and cost, then and now."""
    ratios = {"seconds": comparison.seconds_ratio, "cost": comparison.cost_ratio}
    plots: list[Html] = []
    for what, heading, part in _AMOUNTS:
        before, after = sum_by_case(old, what), sum_by_case(new, what)
        shared = order_cases((before.keys() & after.keys()) - {*comparison.changed})[:_MOST_POINTS]
        ratio = ratios[what]
        if ratio is None or not any(before[case] or after[case] for case in shared):
            continue
        pairs = [Pair(case, flips.get(case, "plain"), before[case], after[case]) for case in shared]
        said = f": {ratio.value:.2f} {part} [{ratio.low:.2f}, {ratio.high:.2f}]"
        drawn = draw_pairs(pairs, partial(write_amount, what=what))
        plots.append(tag("figure", tag("figcaption", tag("b", heading), said), drawn))
    if not plots:
        return []
    about = (
        "A point is a case: from left to right in the old run, upwards in the new one. Below the line it is less now."
    )
    return [_write_section("Time and money", tag("div", *plots, class_="side-by-side"), about=about)]


def _write_rest(report: EvalReport, lists: Sequence[tuple[str, Sequence[str]]]) -> list[Html]:
    """Return the problems: cases that are flaky, missing, or left out; and errors by kind."""
    flaky = sorted({case for one in report.metrics.values() for case in one.flaky})
    missing = report.missing_cases
    parts = [
        _write_section(f"{heading}: {len(cases)}", _name_cases(cases))
        for heading, cases in (("Flaky", flaky), *lists, ("Without an answer", missing))
        if cases
    ]
    kinds = [(kind, count, _MEANINGS[what]) for what, causes in report.causes.items() for kind, count in causes.items()]
    if kinds:
        rows = [
            tag("tr", tag("td", kind), tag("td", str(count), class_="number"), tag("td", what))
            for kind, count, what in kinds
        ]
        parts.append(_write_section("Errors", tag("table", tag("tbody", *rows))))
    return parts


def _name_cases(cases: Sequence[str]) -> Html:
    more = f" and {len(cases) - _MOST_NAMED} more" if len(cases) > _MOST_NAMED else ""
    return tag("p", *(join([tag("code", case), " "]) for case in cases[:_MOST_NAMED]), more, class_="names")
