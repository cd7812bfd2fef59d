"""``hocket keys``: keys of providers, kept in a file of their owner's, where the environment has none.

A key is typed unseen or piped in; on a command line everybody on the machine could read it. The file is a JSON object of
environment variables' names, or origins of servers, and their keys, for its owner's eyes alone. Only the command reads it.
"""

import argparse
import getpass
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from hocket.cli.arguments import OneLineParser
from hocket.cli.folders import find_folder, write_own_file
from hocket.cli.output import note, print_lines
from hocket.errors import InvalidInput

__all__ = ["HELP", "configure", "read_keys", "run", "use_kept_keys"]

HELP = "Keep the keys of providers in a file, for use where the environment has none."

_SET = (
    "Keep the key of a provider, or of a server of yours, by its address; it is asked for, or read from standard input."
)
_LIST = "List the variables and servers whose keys are kept; never the keys."
_PATH = "Print where the keys are kept."
_REMOVE = "Delete the key of a provider."
_LONGEST = 10_000  # characters of a key; tokens of big companies have some thousand


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text, act in (
        ("set", _SET, _set_key),
        ("list", _LIST, _list_keys),
        ("path", _PATH, _print_path),
        ("remove", _REMOVE, _remove_key),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name in ("set", "remove"):
            command.declare("provider", "a provider, see `hocket models`, or the address of a server of yours")
        if name == "set":  # taken, so that it is refused without being repeated
            command.declare("key", argparse.SUPPRESS, nargs="?")
        command.set_defaults(act=act)


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: the provider takes no key, the key is none, or the file cannot be read or written.
        UnknownModel: there is no such provider.
        KeyboardInterrupt: Ctrl-C at the prompt; nothing is changed.
    """
    arguments.act(arguments)


def _set_key(arguments: argparse.Namespace) -> None:
    if arguments.key is not None:
        raise InvalidInput(
            "a key does not go on the command line, where everybody on the machine can read it, and the shell keeps it: "
            f"hocket keys set {arguments.provider}  asks for it"
        )
    variables = _find_names(arguments.provider)
    keys = read_keys()
    key = _read_key(arguments.provider)
    _write_keys({**keys, variables[0]: key})
    note(f"the key is kept in {_find_key_file()} as {variables[0]}")
    if (first := next(filter(os.environ.get, variables), None)) is not None:
        note(f"{first} is set, and goes before it")


def _list_keys(arguments: argparse.Namespace) -> None:
    print_lines(read_keys())


def _print_path(arguments: argparse.Namespace) -> None:
    print_lines([str(_find_key_file())])


def _remove_key(arguments: argparse.Namespace) -> None:
    variables = _find_names(arguments.provider)
    keys = read_keys()
    left = {name: key for name, key in keys.items() if name not in variables}
    if left == keys:
        raise InvalidInput(f"no key of {arguments.provider} is kept in {_find_key_file()}")
    _write_keys(left)


def _find_names(provider: str) -> tuple[str, ...]:
    """Return the names under which a provider's key is kept, variables of the environment; of an address, its origin.

    Raises:
        InvalidInput: it takes none, or is no address.
        UnknownModel: there is no such provider.
    """
    from hocket.http.address import parse_url
    from hocket.language_models.registry import load_provider

    if "://" in provider:
        return (str(parse_url(provider).origin),)
    name = getattr(load_provider(provider), "key_variables", None)
    variables: tuple[str, ...] = () if name is None else name()
    if not variables:
        raise InvalidInput(f"{provider} takes no key that could be kept")
    return variables


def _read_key(provider: str) -> str:
    """Return the key that is typed, unseen, or piped in.

    Raises:
        InvalidInput: it is none.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        key = getpass.getpass(f"key of {provider} (it is not shown): ")
    else:
        key = "" if sys.stdin is None else sys.stdin.read(_LONGEST + 2)
    key = key.strip()
    if not key:
        raise InvalidInput(f"there is no key; type it, or pipe it in:  hocket keys set {provider} <FILE")
    if len(key) > _LONGEST or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput("that is no key: a key is one word of ASCII characters")  # and it is not repeated here
    return key


def _find_key_file() -> Path:
    """Return where keys are kept: in the user's folder of settings, by ``XDG_CONFIG_HOME``."""
    return find_folder("CONFIG") / "keys.json"


def use_kept_keys() -> None:
    """Have models of this process find the kept keys where the environment has none; the file is read when they look."""
    from hocket.remote.endpoint import set_kept_keys

    set_kept_keys(read_keys)


def read_keys() -> dict[str, str]:
    """Return the kept keys by their variables' names; none if there is no file.

    Raises:
        InvalidInput: it cannot be read, is not what `_write_keys` writes, or others can read it.
    """
    path = _find_key_file()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"the keys in {path} cannot be read: {error.strerror}") from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InvalidInput(f"others can read the keys in {path}; `chmod 600 {path}` shuts them out")
    try:
        keys: object = json.loads(text)
    except ValueError:
        keys = None
    pairs = cast("dict[object, object]", keys).items() if isinstance(keys, dict) else [(None, None)]
    kept = {name: key for name, key in pairs if isinstance(name, str) and isinstance(key, str)}
    if len(kept) != len(pairs):
        raise InvalidInput(f"{path} is no JSON object of names and keys; mend it, or delete it")
    return kept


def _write_keys(keys: Mapping[str, str]) -> None:
    """Keep these keys, and no others. A reader meanwhile finds the old ones or the new.

    Raises:
        InvalidInput: the file cannot be written.
    """
    path = _find_key_file()
    try:
        write_own_file(path, json.dumps(dict(sorted(keys.items())), indent=2) + "\n")
    except OSError as error:
        raise InvalidInput(f"the keys cannot be kept in {path}: {error.strerror}") from None
