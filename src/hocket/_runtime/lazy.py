"""Names of a package that are loaded when they are first asked for (PEP 562), so that an import costs what is used."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

__all__ = ["Loader", "loader"]

Loader: TypeAlias = Callable[[str], Any]
"""The ``__getattr__`` of a package; a name may be of any type."""


class _UnknownName(AttributeError):
    """Says what name was meant, when it is printed: an import statement asks a package for submodules, too."""

    def __init__(self, package: str, name: str, known: Iterable[str], explain: Callable[[str], str]) -> None:
        super().__init__(f"module {package!r} has no attribute {name!r}")
        self._name, self._known, self._explain = name, known, explain

    def __str__(self) -> str:
        from hocket.errors.hints import (
            near_name,
        )  # the tree of errors takes a millisecond that most imports need not pay

        near = near_name(self._name, self._known)
        hint = f"did you mean {near!r}?" if near else self._explain(self._name)
        return f"{super().__str__()}; {hint}" if hint else super().__str__()


def loader(package: str, homes: Mapping[str, str], explain: Callable[[str], str] = lambda name: "") -> Loader:
    """Return the ``__getattr__`` of a package.

    Args:
        package: its name.
        homes: where each name lives: the module's name below the package; with a dot in front, beside the package.
        explain: returns what to say of a name that is unknown and near no known one; "": nothing.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise _UnknownName(package, name, homes, explain)
        value = getattr(importlib.import_module(f".{home}", package), name)
        vars(sys.modules[package])[name] = value
        return value

    return load
