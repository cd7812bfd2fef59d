"""Names of a package that are loaded when they are first asked for (PEP 562), so that an import costs what is used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from hocket.errors.hints import near_name

__all__ = ["loader"]


def loader(
    package: str, homes: Mapping[str, str], explain: Callable[[str], str] = lambda name: ""
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: its name.
        homes: where each name lives: the module's name below the package; with a dot in front, beside the package.
        explain: returns what to say of a name that is unknown and near no known one; "": nothing.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_get_hint(name)}")
        value = getattr(importlib.import_module(f".{home}", package), name)
        vars(sys.modules[package])[name] = value
        return value

    def _get_hint(name: str) -> str:
        if name.startswith("_"):  # which programs ask every module for
            return ""
        near = near_name(name, homes)
        hint = f"did you mean {near!r}?" if near else explain(name)
        return f"; {hint}" if hint else ""

    return load
