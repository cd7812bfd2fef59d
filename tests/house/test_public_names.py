"""What a module says it offers is what it offers, and a sync verb takes what its async twin takes."""

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

# Twins that differ for a reason: "module.Class.verb": the reason.
UNLIKE_TWINS: dict[str, str] = {}


def definitions(path: Path) -> list[str]:
    """List the public functions and classes that a module defines itself at its top."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


def test_every_name_in_all_exists(module_name: str) -> None:
    """`from module import *` and a reader of `__all__` find each name, once, lazily loaded ones included."""
    module = importlib.import_module(module_name)
    names: list[str] = getattr(module, "__all__", [])
    assert [name for name in names if not hasattr(module, name)] == []
    assert sorted(set(names)) == sorted(names)


def test_all_lists_every_public_definition(public_module: str, modules: dict[str, Path]) -> None:
    """What a public module defines without an underscore is public, so `__all__` says so."""
    offered = getattr(importlib.import_module(public_module), "__all__", [])
    missing = [name for name in definitions(modules[public_module]) if name not in offered]
    assert not missing, f"{public_module}: not in `__all__`: {missing}. List them there or give them an underscore."


def twins(modules: dict[str, Path]) -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """Yield every `verb` beside an `averb`, of all classes and modules of hocket."""
    owners: dict[str, type | ModuleType] = {}
    for name in modules:
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


def test_sync_faces_take_what_their_async_twins_take(modules: dict[str, Path]) -> None:
    """Moving from a sync verb to the async one is one letter and an `await`, never a look at the signature."""
    unlike = {
        path: f"({inspect.signature(sync)}) against ({inspect.signature(twin)})"
        for path, sync, twin in twins(modules)
        if path not in UNLIKE_TWINS and parameters(sync) != parameters(twin)
    }
    assert not unlike


def test_the_exceptions_still_exist(modules: dict[str, Path]) -> None:
    """An exception that is no longer needed is taken off the list."""
    unlike = {path for path, sync, twin in twins(modules) if parameters(sync) != parameters(twin)}
    assert set(UNLIKE_TWINS) <= unlike
