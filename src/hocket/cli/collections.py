"""``hocket collections``: texts that can be searched by their meaning, and where they are.

A collection is a vector store of its own, an SQLite database in the user's folder of data, beside a small file that names
its embedding model: another model's vectors say nothing there, so nobody has to name it twice.
"""

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser
from hocket.cli.folders import find_folder, write_own_file
from hocket.cli.output import print_lines
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

if TYPE_CHECKING:
    from hocket.vectorstores import SQLiteVectorStore

__all__ = ["HELP", "configure", "list_collections", "make_collection", "open_collection", "run"]

HELP = "List the collections that `hocket embed` fills, or delete one."

_LIST = "List the collections, each with the model that embeds it."
_DELETE = "Delete a collection."
_STORE, _FACTS = ".sqlite", ".json"


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text in (("list", _LIST), ("delete", _DELETE)):
        command = commands.add_parser(name, help=text, description=text)
        if name == "list":
            command.declare("--json", "print a JSON object for each")
        else:
            command.declare("collection NAME", "of the collection")
        command.set_defaults(act=name)


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: there is no such collection, or it cannot be read or deleted.
    """
    if arguments.act == "delete":
        _delete(arguments.collection)
    else:
        for name in list_collections():
            facts = {"name": name, "model": _read_model(name)}
            print_lines([json.dumps(facts, ensure_ascii=False) if arguments.json else f"{name}  {facts['model']}"])


def _delete(name: str) -> None:
    _read_model(name)
    try:
        for suffix in (f"{_STORE}-wal", f"{_STORE}-shm", _STORE, _FACTS):
            _find(name, suffix).unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(f"the collection {name} cannot be deleted: {error.strerror}") from None


def list_collections() -> list[str]:
    """Return the names of the collections, sorted."""
    return sorted(path.stem for path in _find_folder().glob(f"*{_FACTS}"))


def open_collection(name: str) -> "SQLiteVectorStore":
    """Return the store of a collection.

    Raises:
        InvalidInput: there is none of that name.
        HocketError: its model cannot be used.
    """
    from hocket.embeddings import init_embeddings
    from hocket.vectorstores import SQLiteVectorStore

    return SQLiteVectorStore(_find(name, _STORE), init_embeddings(_read_model(name)))


def make_collection(name: str, model: str | None) -> None:
    """Make a collection, unless it is there.

    Args:
        name: of the collection.
        model: which embeds it; None: the one that did so far, or the embedded one.

    Raises:
        InvalidInput: the name is none, it cannot be written, or another model has embedded it.
        HocketError: the model cannot be used.
    """
    from hocket.embeddings import init_embeddings

    if not re.fullmatch(r"\w[\w-]{0,99}", name):
        raise InvalidInput(f"{name!r} is no name of a collection: it has letters, digits, - and _")
    if name in list_collections():
        if model not in (None, before := _read_model(name)):
            raise InvalidInput(f"{before} has embedded the collection {name}: leave --embed out, or delete it first")
        return
    init_embeddings(model or "local")  # what cannot be used makes no collection
    try:
        write_own_file(_find(name, _FACTS), json.dumps({"model": model or "local"}))
    except OSError as error:
        raise InvalidInput(f"the collection {name} cannot be made in {_find_folder()}: {error.strerror}") from None


def _find_folder() -> Path:
    return find_folder("DATA") / "collections"


def _find(name: str, suffix: str) -> Path:
    return _find_folder() / f"{name}{suffix}"


def _read_model(name: str) -> str:
    if name not in (names := list_collections()):
        hint = near_name_hint(name, names) if names else f"`hocket embed {name} FILES` makes it"
        raise InvalidInput(f"there is no collection {name!r}; {hint}")
    path = _find(name, _FACTS)
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["model"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path} is damaged ({error}); delete it, and `hocket embed` makes the collection") from None
