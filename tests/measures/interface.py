"""What users may rely on: the names at the public doors, with the parameters of what can be called and the fields of models.

One line a name, in `tests/house/interface.txt`, so that a change is read as a line of a diff. Types are left out: they read
differently from one Python to the next, and the type checkers hold them (`tests/typing`, `--verifytypes`).
"""

import importlib
import inspect
from collections.abc import Iterator
from enum import Enum

from pydantic import BaseModel

from tests.measures.source import PUBLIC_MODULES, ROOT

__all__ = ["FILE", "read_interface", "write_interface"]

FILE = ROOT / "tests" / "house" / "interface.txt"


def read_interface() -> list[str]:
    """Return a line for each public name, and for each public attribute that its class defines itself."""
    doors = sorted(filter(_is_door, PUBLIC_MODULES), key=lambda name: (name.count("."), name))
    offered = [(door, name) for door in doors for name in sorted(importlib.import_module(door).__all__)]
    values = {f"{door}.{name}": getattr(importlib.import_module(door), name) for door, name in offered}
    homes: dict[int, str] = {}
    for path, value in values.items():
        homes.setdefault(id(value), path)
    lines: list[str] = []
    for path, value in values.items():
        is_shown_before = callable(value) and homes[id(value)] != path
        lines += [f"{path} is {homes[id(value)]}"] if is_shown_before else _describe(path, value, homes)
    return lines


def write_interface() -> None:
    """Write down what stands now."""
    FILE.write_text("\n".join(read_interface()) + "\n")


def _is_door(module: str) -> bool:
    """Whether it is a package or a room, or a module of `hocket.classic`, which has no door; and offers names."""
    found = importlib.import_module(module)
    is_outside = hasattr(found, "__path__") or module.count(".") == 1 or module.startswith("hocket.classic.")
    return is_outside and bool(getattr(found, "__all__", ()))


def _describe(path: str, value: object, homes: dict[int, str]) -> Iterator[str]:
    if inspect.isclass(value):
        bases = [homes[id(base)].rpartition(".")[2] for base in value.__mro__[1:] if id(base) in homes]
        yield f"class {path}({', '.join(bases)})"
        yield from (f"{path}.{line}" for line in sorted(_describe_class(value)))
    elif callable(value) and not hasattr(value, "__origin__"):
        yield path + _describe_parameters(value)
    else:
        yield path


def _describe_class(value: type) -> Iterator[str]:
    fields = value.model_fields if issubclass(value, BaseModel) else {}
    for name, field in fields.items():
        if name in vars(value).get("__annotations__", {}):
            yield f"{name}: {'required' if field.is_required() else 'optional'}"
    if not fields and not issubclass(value, Enum):
        yield "__init__" + _describe_parameters(value)
    for name, attribute in vars(value).items():
        if not name.startswith(("_", "model_")) and name not in fields:
            function = getattr(attribute, "__func__", attribute)
            yield name + (_describe_parameters(function) if inspect.isfunction(function) else "")


def _describe_parameters(value: object) -> str:
    """Return names, kinds, and which have a default."""
    try:
        parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a builtin class, a pydantic model
        return ""
    empty = inspect.Parameter.empty
    bare = [one.replace(annotation=empty, default=empty if one.default is empty else ...) for one in parameters]
    return str(inspect.Signature(bare)).replace("=Ellipsis", "=...")
