"""The ``hocket`` command.

Each subcommand is a file with ``configure(parser)`` and ``run(arguments)``, which may return an exit code. What they need
is imported when they run, so that ``hocket --help`` is quick. Whatever goes wrong ends as one line on stderr and a
non-zero exit code.
"""

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Sequence

from hocket.cli import agent, ask, batch, cassette, chat, mcp, migrate, models, serve, setup, usage
from hocket.cli.arguments import OneLineParser
from hocket.cli.exits import INTERRUPTED, MISUSED, PIPE_CLOSED, exit_code, report

__all__ = ["main"]

_COMMANDS = {
    "agent": agent,
    "ask": ask,
    "batch": batch,
    "cassette": cassette,
    "chat": chat,
    "models": models,
    "mcp": mcp,
    "migrate": migrate,
    "serve": serve,
    "setup": setup,
    "usage": usage,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its arguments; default: those of the process.

    Returns:
        The exit code, one of `hocket.cli.exits.EXIT_CODES`.
    """
    parser = _build_parser()
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return MISUSED
    try:
        code: int | None = arguments.run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit fails once more
        return PIPE_CLOSED
    except Exception as error:
        report(error, debug=arguments.debug)
        return exit_code(error)
    return code or 0


def _build_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="hocket", description="The language-model layer for async Python services.")
    parser.add_argument("--version", action="version", version=f"hocket {importlib.metadata.version('hocket')}")
    parser.set_defaults(run=None, debug=False)
    commands = parser.add_subparsers(title="commands", metavar="")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser
