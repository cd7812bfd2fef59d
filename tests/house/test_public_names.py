"""What a module says it offers is what it offers, and a sync verb takes what its async twin takes."""

import ast
import importlib
import inspect
import pydoc
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import hocket
import hocket.chains
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


def test_dir_shows_what_is_offered() -> None:
    """So do `help` and completion, of rooms that load their names when they are asked for, too."""
    hidden = {one: {*offered(one)} - {*dir(sys.modules[one])} for one in MODULES if offered(one)}
    assert {one: names for one, names in hidden.items() if names} == {}
    assert "create_retrieval_chain" in pydoc.plain(pydoc.render_doc(hocket.chains))


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


def is_documented(module: ast.Module, name: str) -> bool:
    """Tell whether a module says what a name of its own is; a text that is a constant, or a type variable, need not."""
    for node, after in pairwise([*module.body, ast.Pass()]):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name == name:
                is_overload = any("overload" in ast.dump(one) for one in node.decorator_list)
                if not is_overload and ast.get_docstring(node) is None:
                    return False
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=value)
                | ast.AnnAssign(target=ast.Name(id=target), value=value)
            ) if target == name:
                is_plain = isinstance(value, ast.Constant) and isinstance(value.value, str)
                is_variable = isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"
                is_described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if not (is_plain or is_variable or is_described):
                    return False
            case _:
                pass
    return True


def test_every_public_name_has_a_docstring() -> None:
    """What the reference shows of a name is more than its type: functions, classes, aliases and constants."""
    missing = [
        f"{one}.{name}"
        for one, path in PUBLIC_MODULES.items()
        for name in offered(one)
        if not is_documented(read_tree(path), name)
    ]
    assert not missing, f"without a docstring: {missing}. A constant's is the text in the line after it."


def test_the_methods_of_what_people_call_have_docstrings() -> None:
    """Of each class that `hocket` itself offers, every public method says what it does, there or where it comes from."""
    classes = [found for name in hocket.__all__ if inspect.isclass(found := getattr(hocket, name))]
    missing = {
        f"{base.__module__}.{base.__qualname__}.{name}"
        for owner in classes
        for base in owner.__mro__
        if base.__module__.startswith("hocket")
        for name, method in vars(base).items()
        if not name.startswith("_") and (inspect.isroutine(method) or isinstance(method, property))
        if not inspect.getdoc(method) and not inspect.getdoc(getattr(owner, name, None))
    }
    assert not missing


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
