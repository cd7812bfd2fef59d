"""``hocket eval``: whether a changed prompt, model or tool is better, for scripts and for a person."""

import argparse

from hocket.cli.arguments import OneLineParser
from hocket.cli.eval import compare, run as run_cases, show
from hocket.cli.output import accept_any_text

__all__ = ["HELP", "configure", "run"]

HELP = "Ask a model for each case, score its answers, and compare two runs."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in (("run", run_cases), ("compare", compare), ("show", show)):
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.configure(command)
        command.declare("--html FILE", "write a page with plots and cases there, too")
        command.declare("--json", "print one JSON object")
        command.set_defaults(act=module.run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for.

    Returns:
        the exit code: `hocket.cli.exits.WORSE` if what was asked of the answers does not hold.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        HocketError: an argument is wrong, a file is no run, or what the model raises that all cases would meet.
    """
    accept_any_text()
    return arguments.act(arguments)  # type: ignore[no-any-return]
