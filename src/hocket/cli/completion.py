"""``hocket completion``: has a shell complete the command's words, with argcomplete.

The script that it prints runs the command whenever Tab is pressed, and `complete` answers from the one parser, before a
model is loaded. What argparse does not know, which words a value may be, follows from the names of the arguments there.
"""

import argparse
import os
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser
from hocket.cli.collections import list_collections
from hocket.cli.default_command import DEFAULT
from hocket.cli.output import print_lines
from hocket.cli.templates import list_templates
from hocket.errors import MissingDependency

if TYPE_CHECKING:
    from argcomplete.completers import BaseCompleter

__all__ = ["HELP", "complete", "configure", "run"]

HELP = "Print a script for shell completion of hocket's commands, options, providers and files."

_PATHS = frozenset({"FILE", "DIR", "PATH", "WHERE", "LEDGER", "FORM", "IN", "CODE"})


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare(
        "shell",
        'for ~/.bashrc or ~/.zshrc:  eval "$(hocket completion bash)"; fish:  hocket completion fish | source',
        choices=["bash", "zsh", "fish"],
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the script.

    Raises:
        MissingDependency: argcomplete is not installed.
    """
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise MissingDependency("completion needs argcomplete; run `pip install 'hocket[cli]'`") from error
    print_lines([shellcode(["hocket"], use_defaults=False, shell=arguments.shell)])


def complete(parser: OneLineParser, end: Callable[[int], object] = os._exit) -> None:
    """Answer the shell that runs the command to complete its line; do nothing where none does.

    Args:
        parser: of the command.
        end: ends the process, with an exit code.
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    from argcomplete import autocomplete
    from argcomplete.lexers import split_line

    commands = dict(parser.find_commands())
    words = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))[3][1:]
    if not words or words[0] not in commands:
        parser = commands[DEFAULT]  # it may be left out
    if not words:
        parser.add_argument("--version", action="store_true", help="show the version")
    for one in _find_arguments(parser):
        if one.choices is None:
            setattr(one, "completer", _choose_completer(one, () if words else commands))  # noqa: B010  # argparse has none
    autocomplete(parser, always_complete_options=False, exit_method=end)


def _find_arguments(parser: OneLineParser) -> Iterator[argparse.Action]:
    yield from parser.list_arguments()
    for _, one in parser.find_commands():
        yield from _find_arguments(one)


def _choose_completer(argument: argparse.Action, first_words: Collection[str]) -> "BaseCompleter":
    from argcomplete.completers import ChoicesCompleter, FilesCompleter

    if argument.metavar in _PATHS:
        return FilesCompleter()
    return ChoicesCompleter(
        dict.fromkeys(_list_words(argument) or ([] if argument.option_strings else first_words), "")
    )


def _list_words(argument: argparse.Action) -> list[str]:
    """Return the words that a value may be, or begin with: a model's name goes on behind the colon of its provider."""
    match argument.dest:
        case "provider":
            return _list_names("providers")
        case "model" | "models":
            return _begin_models("providers")
        case "embed":
            return _begin_models("embeddings")
        case "tools":
            return ["calculator"]
        case "template":
            return list_templates()
        case "collection":
            return [*list_collections()]
        case _:
            return []


def _list_names(group: str) -> list[str]:
    """Return the names of providers, as the registry has them; it would load all that models need."""
    from importlib.metadata import entry_points

    own = ["fake"] if group == "providers" else []
    return sorted({*own, *(one.name.lower().replace("-", "_") for one in entry_points(group=f"hocket.{group}"))})


def _begin_models(group: str) -> list[str]:
    """Return what the names of models begin with; the embedded one is a name already."""
    return [name if name == "local" else f"{name}:" for name in _list_names(group)]
