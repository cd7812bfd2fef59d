"""``hocket collections``: texts that can be searched by their meaning, and where they are.

A collection is a vector store of its own, an SQLite database in the user's folder of data. Its file's name has that of its
embedding model, too: another model's vectors say nothing there, so nobody has to name it twice.
"""

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from hocket.cli.arguments import OneLineParser
from hocket.cli.folders import find_folder
from hocket.cli.output import print_lines
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

if TYPE_CHECKING:
    from hocket.vectorstores import SQLiteVectorStore

__all__ = ["HELP", "configure", "list_collections", "open_collection", "run"]

HELP = "List the collections that `hocket embed` fills, or delete one."

_LIST = "List the collections, each with the model that embeds it."
_DELETE = "Delete a collection."


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
        InvalidInput: there is no such collection, or it cannot be deleted.
    """
    if arguments.act == "list":
        for name, model in list_collections().items():
            print_lines([json.dumps({"name": name, "model": model}) if arguments.json else f"{name}  {model}"])
        return
    path = _find_file(arguments.collection, _find_model(arguments.collection))
    try:
        for suffix in ("-wal", "-shm", ""):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be deleted: {error.strerror}") from None


def list_collections() -> dict[str, str]:
    """Return the collections, each with the name of its model, sorted."""
    names = sorted(path.stem.split(".", 1) for path in _find_folder().glob("*.*.sqlite"))
    return {name: unquote(model) for name, model in names}


def open_collection(name: str, model: str | None = None, *, may_be_new: bool = False) -> "SQLiteVectorStore":
    """Return the store of a collection.

    Args:
        name: of the collection.
        model: which embeds a new one; None: the embedded one.
        may_be_new: whether it need not be there.

    Raises:
        InvalidInput: there is none of that name, the name is none, or another model has embedded it.
        HocketError: its model cannot be used.
    """
    from hocket.embeddings import init_embeddings
    from hocket.vectorstores import SQLiteVectorStore

    if not re.fullmatch(r"\w[\w-]{0,99}", name):
        raise InvalidInput(f"{name!r} is no name of a collection: it has letters, digits, - and _")
    is_new = may_be_new and name not in list_collections()
    known = model or "local" if is_new else _find_model(name)
    if model not in (None, known):
        raise InvalidInput(f"{known} has embedded the collection {name}: leave --embed out, or delete it first")
    return SQLiteVectorStore(_find_file(name, known), init_embeddings(known))


def _find_folder() -> Path:
    return find_folder("DATA") / "collections"


def _find_file(name: str, model: str) -> Path:
    return _find_folder() / f"{name}.{quote(model, safe='')}.sqlite"


def _find_model(name: str) -> str:
    known = list_collections()
    if name not in known:
        hint = near_name_hint(name, [*known]) if known else f"`hocket embed {name} FILES` makes it"
        raise InvalidInput(f"there is no collection {name!r}; {hint}")
    return known[name]
