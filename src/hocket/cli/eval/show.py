"""``hocket eval show``: a run from its files alone; and how far one of its metrics agrees with people's labels."""

import argparse

from hocket.cli.arguments import OneLineParser
from hocket.cli.eval.verdicts import check_page, print_result
from hocket.cli.output import print_lines
from hocket.errors import InvalidInput

__all__ = ["HELP", "configure", "run"]

HELP = "Show the results of a run, from its files: nothing is asked."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("answers RUN", "the file of answers")
    parser.declare("--labels FILE", 'labels of people, a line of JSON each: {"case": …, "label": …}, maybe with "run"')
    parser.declare("--metric NAME", "the metric that is compared with the labels")


def run(arguments: argparse.Namespace) -> int:
    """Print the report, and how far it agrees with the labels.

    Raises:
        InvalidInput: the path is no run, or the labels are none of it.
    """
    from hocket.evaluation import read_report

    if (arguments.labels is None) != (arguments.metric is None):
        raise InvalidInput("--labels and --metric go together: the labels are compared with one metric")
    check_page(arguments)
    report = read_report(arguments.answers)
    if arguments.labels is None:
        print_result(report, arguments)
        return 0
    from hocket.evaluation import measure_agreement

    agreement = measure_agreement(arguments.answers, arguments.labels, arguments.metric)
    print_result(report, arguments, agreement=vars(agreement))
    if not arguments.json:
        print_lines([f"{arguments.metric} and the labels: {agreement}"])
    return 0
