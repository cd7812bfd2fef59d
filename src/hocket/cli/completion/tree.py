"""What may stand where on the command line, read from its parser.

What argparse does not know, which words a value may be, follows from the names that the arguments have there.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from hocket.cli.arguments import OneLineParser
from hocket.cli.default_command import DEFAULT

__all__ = ["ROOT", "CommandPlace", "Option", "Value", "read_places"]

ROOT = "root"
"""The place where no command has been named yet."""

_PATHS = frozenset({"FILE", "DIR", "PATH", "WHERE", "LEDGER", "FORM", "IN"})


@dataclass(frozen=True)
class Value:
    """What an option or an argument may be.

    Attributes:
        words: that are offered; one that ends with a colon goes on.
        is_path: whether files are.
    """

    words: tuple[str, ...] = ()
    is_path: bool = False


@dataclass(frozen=True)
class Option:
    """An option.

    Attributes:
        flags: its names.
        help: what it is for, briefly.
        value: None: it takes none.
    """

    flags: tuple[str, ...]
    help: str
    value: Value | None


@dataclass(frozen=True)
class CommandPlace:
    """Where one may be on the command line.

    Attributes:
        name: the command, with ``/`` before a command of its own; `ROOT`.
        options: that may be given.
        commands: that may be named, and what each is for.
        argument: what else may stand there.
    """

    name: str
    options: tuple[Option, ...]
    commands: Mapping[str, str]
    argument: Value


def read_places(parser: OneLineParser) -> list[CommandPlace]:
    """Return the places of the command line, `ROOT` first; there stands what the command that is left out takes, too."""
    places = [place for name, one in parser.find_commands() for place in _read_command(name, one)]
    default = next(place for place in places if place.name == DEFAULT)
    own = tuple(
        option for option in _read_options(parser) if option.flags not in {one.flags for one in default.options}
    )
    commands = {name: _shorten(one.description) for name, one in parser.find_commands()}
    return [CommandPlace(ROOT, (*own, *default.options), commands, default.argument), *places]


def _read_command(name: str, parser: OneLineParser) -> Iterator[CommandPlace]:
    inner = dict(parser.find_commands())
    argument = next((_read_value(one) for one in parser.list_arguments() if not one.option_strings), Value())
    commands = {word: _shorten(one.description) for word, one in inner.items()}
    yield CommandPlace(name, tuple(_read_options(parser)), commands, Value() if inner else argument)
    for word, one in inner.items():
        yield from _read_command(f"{name}/{word}", one)


def _read_options(parser: OneLineParser) -> Iterator[Option]:
    for one in parser.list_arguments():
        if one.option_strings:
            value = None if one.nargs == 0 else _read_value(one)
            yield Option(tuple(one.option_strings), _shorten(one.help), value)


def _read_value(argument: argparse.Action) -> Value:
    if argument.choices is not None:
        return Value(tuple(map(str, argument.choices)))
    if argument.metavar in _PATHS:
        return Value(is_path=True)
    match argument.dest:
        case "provider":
            return Value(tuple(_list_names("providers")))
        case "model" | "models":
            return Value(tuple(_begin_models("providers")))
        case "embed":
            return Value(tuple(_begin_models("embeddings")))
        case "tools":
            return Value(("calculator",))
        case _:
            return Value()


def _list_names(group: str) -> list[str]:
    """Return the names of providers, as the registry has them; it would load all that models need."""
    own = ["fake"] if group == "providers" else []
    return sorted({*own, *(one.name.lower().replace("-", "_") for one in entry_points(group=f"hocket.{group}"))})


def _begin_models(group: str) -> list[str]:
    """Return what the names of models begin with; the embedded one is a name already."""
    return [name if name == "local" else f"{name}:" for name in _list_names(group)]


def _shorten(text: str | None) -> str:
    """Return the first clause of a help text."""
    return (text or "").split("; ")[0].split(" (default")[0].rstrip(".").replace("%%", "%")
