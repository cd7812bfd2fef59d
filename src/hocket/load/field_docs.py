"""The docstring of a class with the meaning of the fields that it inherits: what `help` and ``?`` in Jupyter show.

Each class describes its own fields, once, under ``Args``. A model has most of its fields from its bases, so their
descriptions are put together when somebody asks for them, and not before: it costs reading a dozen docstrings.
"""

import inspect
import re
from itertools import groupby
from typing import Any

from pydantic import BaseModel

from hocket.load.late_signature import order_fields

__all__ = ["describe_fields", "inherit_field_docs"]

_SECTION = re.compile(r"^(\w[\w ]*)(?:, .*)?:$")
_ENTRY = re.compile(r"^    (\w+(?:, \w+)*): (.*)")


def inherit_field_docs(cls: type[BaseModel]) -> None:
    """Have the docstring of a class end with the fields of its bases. A class without one keeps that of its base."""
    own = vars(cls).get("__doc__")
    if isinstance(own, str):
        cls.__doc__ = _InheritingDoc(own)  # type: ignore[assignment]  # it gives one


def describe_fields(cls: type) -> dict[str, str]:
    """Return the meaning of each field that the class or one of its bases describes, as its docstring has it."""
    told: dict[str, str] = {}
    for base in cls.__mro__:
        for name, meaning in _read_args(_own_doc(base)).items():
            told.setdefault(name, meaning)
    return told


class _InheritingDoc:
    """A class attribute: a docstring, with what the bases say of the fields that it does not speak of."""

    def __init__(self, own: str) -> None:
        self.own = own

    def __get__(self, instance: object, owner: type[BaseModel]) -> str:
        own = inspect.cleandoc(self.own)
        described = _read_args(own)
        told = describe_fields(owner)
        rest = [name for name in order_fields(owner) if name in told and name not in described]
        entries = groupby(rest, key=told.__getitem__)
        lines = [f"    {', '.join(names)}: {meaning}" for meaning, names in entries]
        return "\n".join((own, "", "Args of its bases:", *lines)) if lines else own


def _own_doc(cls: type) -> str:
    own: Any = vars(cls).get("__doc__")
    return own.own if isinstance(own, _InheritingDoc) else own if isinstance(own, str) else ""


def _read_args(doc: str) -> dict[str, str]:
    """Return the entries under ``Args:`` and ``Attributes:``; of one for several names, each has the whole."""
    told: dict[str, str] = {}
    names: list[str] = []
    is_inside = False
    for line in inspect.cleandoc(doc).splitlines():
        if _SECTION.match(line):
            is_inside = line in ("Args:", "Attributes:")
            names = []
        elif line and not line.startswith(" "):
            is_inside = False
        elif is_inside and (entry := _ENTRY.match(line)):
            names = entry[1].split(", ")
            told.update(dict.fromkeys(names, entry[2]))
        elif is_inside and line and names:
            for name in names:
                told[name] += "\n" + line
    return told
