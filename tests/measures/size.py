"""How large the house is: lines, and the public names that its doors show."""

from importlib import import_module
from typing import NamedTuple

from tests.measures.source import FILES, MODULES, SRC, room_of

# Rooms that a program's main job does not need: `testing` is for tests, `classic` for programs of older habits.
_ROOMS_APART = {"testing", "classic"}


class Doors(NamedTuple):
    """The rooms that show names, and the names that they and ``hocket`` itself show, each counted once."""

    rooms: list[str]
    names: set[str]


def count_lines() -> dict[str, int]:
    """Return the lines of each room, as ``wc`` counts them."""
    lines: dict[str, int] = {}
    for path in FILES:
        room = path.relative_to(SRC / "hocket").parts[0].removesuffix(".py")
        lines[room] = lines.get(room, 0) + path.read_bytes().count(b"\n")
    return lines


def read_doors() -> Doors:
    """Read ``__all__`` of ``hocket`` and of each public room of it."""
    modules = [name for name in MODULES if name.count(".") < 2 and "._" not in name]
    shown = {
        module: set(getattr(import_module(module), "__all__", ()))
        for module in modules
        if room_of(module) not in _ROOMS_APART
    }
    rooms = [module for module, names in shown.items() if names and module != "hocket"]
    return Doors(rooms, set().union(*shown.values()))
