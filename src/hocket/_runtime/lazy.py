"""Names of a package that are loaded when they are first asked for (PEP 562), so that an import costs what is used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["loader"]


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: its name.
        homes: where each name lives: the module's name below the package; with a dot in front, beside the package.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{home}", package), name)
        vars(sys.modules[package])[name] = value
        return value

    return load
