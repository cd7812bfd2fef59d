"""The ``hocket`` command.

Each subcommand is a file with ``configure(parser)`` and ``run(arguments)``; what they need is imported when they run,
so that ``hocket --help`` is quick. Whatever goes wrong ends as one line on stderr and a non-zero exit code.
"""

import argparse
import importlib.metadata
import os
import signal
import sys
from collections.abc import Sequence

from hocket.cli import chat, setup

__all__ = ["main"]

INTERRUPTED = 128 + signal.SIGINT  # the shell's own code for a command that Ctrl-C ended
PIPE_CLOSED = 128 + 13  # SIGPIPE, a number that Windows has no name for
FAILED = 1
MISUSED = 2  # argparse's code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its arguments; default: those of the process.

    Returns:
        The exit code: 0; 1 when it failed; 2 when it was misused; 130 after Ctrl-C; 141 when nobody reads the output.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return MISUSED
    try:
        arguments.run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit fails once more
        return PIPE_CLOSED
    except Exception as error:
        if arguments.debug:
            raise
        print(f"hocket: {_line(error)}", file=sys.stderr)
        return FAILED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hocket", description="The language-model layer for async Python services.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"hocket {importlib.metadata.version('hocket')}")
    parser.set_defaults(run=None, debug=False)
    commands = parser.add_subparsers(title="commands", metavar="")
    for name, module in (("chat", chat), ("setup", setup)):
        command = commands.add_parser(name, help=module.HELP, description=module.HELP, allow_abbrev=False)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser


def _line(error: Exception) -> str:
    """Return an error as one line: hocket's own say all themselves, others need their type."""
    from pydantic import ValidationError

    from hocket.errors import HocketError

    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}={first['input']!r} will not do: {first['msg']}"
    text = " ".join(str(error).split())
    return text if text and isinstance(error, HocketError) else f"{type(error).__name__}: {text}"
