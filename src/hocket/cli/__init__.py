"""The ``hocket`` command.

Each subcommand is a file with ``configure(parser)`` and ``run(arguments)``, which may return an exit code. What they need
is imported when they run, so that ``hocket --help`` is quick. Whatever goes wrong ends as one line on stderr and a
non-zero exit code.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from hocket._version import __version__
from hocket.cli import (
    agent,
    ask,
    batch,
    cassette,
    chat,
    collections,
    completion,
    embed,
    eval as evaluation,
    keys,
    logs,
    mcp,
    migrate,
    models,
    runs,
    serve,
    setup,
    similar,
    templates,
    usage,
)
from hocket.cli.arguments import OneLineParser
from hocket.cli.default_command import find_mistyped, is_help_of_none, name_command
from hocket.cli.exits import COMMAND_CODES, INTERRUPTED, MISUSED, OTHER_CODES, PIPE_CLOSED, exit_code, report
from hocket.cli.stop_signals import end_by_sigterm

__all__ = ["main"]

_COMMANDS = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        agent,
        ask,
        batch,
        cassette,
        chat,
        collections,
        completion,
        embed,
        evaluation,
        keys,
        logs,
        models,
        mcp,
        migrate,
        runs,
        serve,
        setup,
        similar,
        templates,
        usage,
    )
}

# Who may need a provider's key.
_ASKING = [module.run for module in (agent, ask, batch, chat, embed, evaluation, mcp, models, runs, serve, similar)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its arguments; default: those of the process.

    Returns:
        The exit code, one of `hocket.cli.exits.EXIT_CODES`. After SIGTERM `SystemExit` has it.
    """
    parser = _build_parser()
    completion.complete(parser)
    words = sys.argv[1:] if argv is None else argv
    if (meant := find_mistyped(_COMMANDS, words)) is not None:
        parser.error(f"there is no command {words[0]!r}; did you mean {meant}? `hocket chat {words[0]} ...` asks it")
    if is_help_of_none(_COMMANDS, words):
        parser.error(f"there is no command {words[0]!r}")
    arguments = parser.parse_args(name_command(_COMMANDS, words))
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return MISUSED
    try:
        if arguments.run in _ASKING:
            keys.use_kept_keys()
        with end_by_sigterm():
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


def _build_parser() -> OneLineParser:
    parser = OneLineParser(
        prog="hocket",
        epilog="`hocket COMMAND --help` lists a command's options and exit codes.",
        usage="hocket [-h] [--version] COMMAND ...\n       hocket [options of chat] QUESTION",
        description="The language-model layer for async Python services. A question goes to a model, as with `chat`.",
    )
    parser.add_argument("--version", action="version", version=f"hocket {__version__}")
    parser.set_defaults(run=None, debug=False, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="", prog="hocket")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.configure(command)
        for _, one in ((name, command), *command.find_commands()):
            one.add_argument(
                "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
            )
        command.set_defaults(run=module.run)
        command.tell_exit_codes(COMMAND_CODES.get(name, OTHER_CODES))
    return parser
