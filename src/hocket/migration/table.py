"""The table of names: LangChain's module and name → hocket's place, or why there is none and what to do instead.

It is a rule and its exceptions: a name is moved to the room of the same name if that room offers it, which is found out by
importing the room. So the table never promises a name that is not there.
"""

import functools
import importlib
from collections.abc import Iterator
from dataclasses import dataclass

from hocket.migration.answers import OTHER_MEANINGS, Absence, read_answers
from hocket.migration.rooms import MODULES, ROOMS, read_names

__all__ = ["Absence", "Place", "find_module", "find_place", "is_langchain", "load_place"]


@dataclass(frozen=True)
class Place:
    """Where a name is in hocket.

    Args:
        module: the module to import it from.
        name: what it is called there.
    """

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def is_langchain(module: str) -> bool:
    """Whether a module belongs to LangChain's packages."""
    package = module.partition(".")[0]
    return package == "langchain" or package.startswith("langchain_")


@functools.cache
def find_place(module: str, name: str, *, keeps_files: bool = False) -> Place | Absence:
    """Return where a name of LangChain's is in hocket, or why it is not there.

    Args:
        module: a module of LangChain's packages, which need not be installed.
        name: a public name in it.
        keeps_files: whether the program keeps vectors on the disk.
    """
    module = _drop_classic(module)
    known = read_names()
    names = {**known["places"], **known["places_of_files"]} if keeps_files else known["places"]
    for parent in _list_parents(module):
        if moved := names.get(f"{parent}.{name}"):
            room, _, own = moved.rpartition(".")
            return Place(room, own)
    rooms = () if f"{module}.{name}" in OTHER_MEANINGS else _list_rooms(module)
    for room in rooms:
        if _is_offered(room, name):
            return Place(room, name)
    return _find_answer(module, name) or _find_answer(module, "*") or read_answers()["*"]["*"]


@functools.cache
def find_module(module: str) -> str | None:
    """Return the room of hocket that stands for a module of LangChain's as a whole, or None."""
    module = _drop_classic(module)
    for parent in _list_parents(module):
        if room := MODULES.get(parent):
            return room
    near = next((parent for parent in _list_parents(module) if parent in ROOMS), module)
    rooms = list(_list_rooms(module))
    if near != module and "." not in near:  # what is known of a whole package says nothing of a module in it
        rooms = rooms[:1]
    return next((room for room in rooms if _list_offers(room)), None)


@functools.cache
def load_place(place: Place) -> object | None:
    """Return the object at a place, or None if what it needs is not installed."""
    try:
        return getattr(importlib.import_module(place.module), place.name, None)
    except ImportError:
        return None


def _drop_classic(module: str) -> str:
    package, dot, rest = module.partition(".")
    return f"langchain{dot}{rest}" if package == "langchain_classic" else module


def _list_parents(module: str) -> Iterator[str]:
    """Yield a module, and those above it."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def _list_rooms(module: str) -> Iterator[str]:
    """Yield the rooms to look at: those of the same name, and those that the table has for the module."""
    package, _, rest = module.partition(".")
    if rest and package in {"langchain", "langchain_core"}:
        room = rest.partition(".")[0]
        yield from (f"hocket.{room}", f"hocket.classic.{room}")
    for parent in _list_parents(module):
        if parent in ROOMS:
            yield from (f"hocket.{room}" for room in ROOMS[parent])
            return


@functools.cache
def _list_offers(room: str) -> frozenset[str]:
    """Return the names that a room shows; none, if there is no such room, or it needs what is not installed."""
    try:
        return frozenset(getattr(importlib.import_module(room), "__all__", ()))
    except ImportError:
        return frozenset()


@functools.cache
def _is_offered(room: str, name: str) -> bool:
    """Whether a name can be imported from a room, which does not show all that it has for programs of LangChain's."""
    if name in (shown := _list_offers(room)) or not shown or name.startswith("_"):
        return name in shown
    try:
        found: object = getattr(importlib.import_module(room), name)
    except (AttributeError, ImportError):
        return False
    return str(getattr(found, "__module__", "")).startswith("hocket.")


def _find_answer(module: str, name: str) -> Absence | None:
    """Return the answer for a name, of the module or one above it."""
    answers = read_answers()
    return next((answers[one][name] for one in _list_parents(module) if name in answers.get(one, ())), None)
