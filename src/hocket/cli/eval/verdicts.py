"""What of an evaluation is a failure for a script, and how a report is shown."""

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser, require_writable
from hocket.cli.exits import WORSE
from hocket.cli.output import note, print_lines

if TYPE_CHECKING:
    from hocket.evaluation import EvalComparison, EvalReport, Metric

__all__ = [
    "add_verdict_options",
    "check_page",
    "find_faults",
    "find_low_rates",
    "parse_share",
    "print_result",
    "tell_faults",
]


def add_verdict_options(parser: OneLineParser) -> None:
    """Add the options that say what is a failure."""
    parser.declare(
        "--min-difference SHARE", "the least difference that matters (default: 0.05)", type=parse_share, default=0.05
    )
    parser.declare("--strict", "exit with 9 also where nothing is certain, or cases are missing")


def parse_share(text: str) -> float:
    """Return a number between 0 and 1.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        share = float(text)
    except ValueError:
        share = -1
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; it is more than 0, and 1 at most, such as 0.05")
    return share


def check_page(arguments: argparse.Namespace) -> None:
    """Look whether the page can be written, before anything is asked.

    Raises:
        InvalidInput: it cannot.
    """
    if arguments.html is not None:
        require_writable("--html", arguments.html)


def print_result(subject: "EvalReport | EvalComparison", arguments: argparse.Namespace, **more: object) -> None:
    """Print a report or a comparison, and write its page if one is wanted; ``more`` is for the object of JSON."""
    if arguments.json:
        print_lines([json.dumps(subject.asdict() | more, ensure_ascii=False, default=str)])
    else:
        print_lines(str(subject).replace(", and cancel_batch ends them", "").splitlines())  # no option does it
    if arguments.html is not None:
        from hocket.evaluation import write_page

        write_page(subject, arguments.html)


def find_faults(comparison: "EvalComparison", *, is_strict: bool) -> list[str]:
    """Return what speaks against the new run: a certain loss; if strict, also a loss that is not excluded."""
    faults = [f"{comparison.new} is worse than {comparison.old}"] if comparison.verdict == "worse" else []
    if is_strict and comparison.verdict == "not decided":
        faults.append(f"it is not decided whether {comparison.new} is worse than {comparison.old}")
    left_out = len(comparison.unpaired) + len(comparison.changed)
    if is_strict and left_out:
        faults.append(f"{left_out} cases could not be compared")
    return faults


def find_low_rates(metrics: "dict[str, Metric]", wanted: dict[str, float], *, is_strict: bool) -> list[str]:
    """Return which rates are certainly below what is wanted; if strict, also what is not certainly above."""
    faults: list[str] = []
    for name, rate in wanted.items():
        metric = metrics.get(name)
        if metric is not None and metric.high < rate:
            faults.append(f"{name} is below {rate:.4g}: {metric.mean:.1%} [{metric.low:.1%}, {metric.high:.1%}]")
        elif metric is not None and is_strict and metric.low < rate:
            faults.append(f"it is not certain that {name} is {rate:.4g} or more")
    return faults


def tell_faults(faults: Iterable[str]) -> int:
    """Say each fault, and return the exit code."""
    code = 0
    for fault in faults:
        note(fault)
        code = WORSE
    return code
