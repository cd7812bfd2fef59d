"""Writes down the public names of langchain-core: python -m tests.langchain.record_names, where langchain-core 1.8.3 is.

A public module's names are those in its ``__all__``, or else those that it defines. The file says, for each room (the
first module below the package), the names, and how many modules of the room have each.
"""

import collections
import importlib
import inspect
import json
import pkgutil
from importlib.metadata import version
from pathlib import Path

FILE = Path(__file__).parents[1] / "fixtures" / "langchain" / "names.json"


def main() -> None:
    """Write the file."""
    package = importlib.import_module("langchain_core")
    modules = ["langchain_core", *(one.name for one in pkgutil.walk_packages(package.__path__, "langchain_core."))]
    rooms: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name in modules:
        if not any(part.startswith("_") for part in name.split(".")):
            room = ".".join(name.split(".")[1:2])
            rooms[room].update(list_names(name))
    record = {"langchain-core": version("langchain-core"), "rooms": {room: rooms[room] for room in sorted(rooms)}}
    FILE.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def list_names(module_name: str) -> list[str]:
    """List the public names of a module, without the generic aliases that pydantic leaves there."""
    module = importlib.import_module(module_name)
    own = [
        name
        for name, value in vars(module).items()
        if not inspect.ismodule(value) and getattr(value, "__module__", None) == module_name
    ]
    return [name for name in getattr(module, "__all__", own) if not name.startswith("_") and "[" not in name]


if __name__ == "__main__":
    main()
