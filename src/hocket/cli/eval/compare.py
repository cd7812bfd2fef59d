"""``hocket eval compare``: two runs of the same cases: better, worse, the same, or not decided."""

import argparse

from hocket.cli.arguments import OneLineParser
from hocket.cli.eval.verdicts import add_verdict_options, check_page, find_faults, print_result, tell_faults

__all__ = ["HELP", "configure", "run"]

HELP = "Compare two runs of the same cases: better, worse, the same, or not decided."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("old OLD", "the file of answers of the run before")
    parser.declare("new NEW", "that of the new run")
    parser.declare("--metric NAME", "the only metric (default: all that both runs have)")
    add_verdict_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison, and return the exit code.

    Raises:
        InvalidInput: a path is no run, or the runs have no case or no metric in common.
    """
    from hocket.evaluation import compare

    check_page(arguments)
    comparison = compare(arguments.old, arguments.new, metric=arguments.metric, min_difference=arguments.min_difference)
    print_result(comparison, arguments)
    return tell_faults(find_faults(comparison, is_strict=arguments.strict))
