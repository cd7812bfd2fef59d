"""What a module says it offers is what it offers, and a sync verb takes what its async twin takes."""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.measures.source import MODULES, PUBLIC_MODULES, read_tree

# Twins that differ for a reason: "module.Class.verb": the reason.
UNLIKE_TWINS: dict[str, str] = {}


def definitions(path: Path) -> list[str]:
    """List the public functions and classes that a module defines itself at its top."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [node.name for node in read_tree(path).body if isinstance(node, kinds) and not node.name.startswith("_")]


def offered(module: str) -> list[str]:
    """Return the names in a module's `__all__`."""
    names: list[str] = getattr(importlib.import_module(module), "__all__", [])
    return names


def test_every_name_in_all_exists() -> None:
    """`from module import *` and a reader of `__all__` find each name, lazily loaded ones included."""
    missing = [f"{one}.{name}" for one in MODULES for name in offered(one) if not hasattr(sys.modules[one], name)]
    assert missing == []


def test_all_names_each_thing_once() -> None:
    twice = {one: sorted(offered(one)) for one in MODULES if len(set(offered(one))) < len(offered(one))}
    assert not twice


def test_all_lists_every_public_definition() -> None:
    """What a public module defines without an underscore is public, so `__all__` says so."""
    missing = [
        f"{one}.{name}"
        for one, path in PUBLIC_MODULES.items()
        for name in definitions(path)
        if name not in offered(one)
    ]
    assert not missing, f"not in `__all__`: {missing}. List them there or give them an underscore."


def twins() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """Yield every `verb` beside an `averb`, of all classes and modules of hocket."""
    owners: dict[str, type | ModuleType] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        owners[name] = module
        for key, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == name and "[" not in key:  # no generic alias
                owners[f"{name}.{key}"] = value

    for path, owner in owners.items():
        for verb in dir(owner):
            if verb.startswith("_") or not hasattr(owner, "a" + verb):
                continue
            pair = (getattr(owner, verb), getattr(owner, "a" + verb))
            if all(inspect.isroutine(twin) and (twin.__module__ or "").startswith("hocket") for twin in pair):
                yield f"{path}.{verb}", *pair


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Return name, kind and default of each parameter; annotations may differ (an async iterable, say)."""
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


def test_sync_faces_take_what_their_async_twins_take() -> None:
    """Moving from a sync verb to the async one is one letter and an `await`, never a look at the signature."""
    unlike = {
        path: f"({inspect.signature(sync)}) against ({inspect.signature(twin)})"
        for path, sync, twin in twins()
        if path not in UNLIKE_TWINS and parameters(sync) != parameters(twin)
    }
    assert not unlike


def test_the_exceptions_still_exist() -> None:
    """An exception that is no longer needed is taken off the list."""
    unlike = {path for path, sync, twin in twins() if parameters(sync) != parameters(twin)}
    assert set(UNLIKE_TWINS) <= unlike
