"""What a function says by its annotations about what goes in and comes out."""

import inspect
import operator
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, cast, get_args, get_origin, get_type_hints

__all__ = ["read_input_type", "read_item_keys", "read_output_type"]


def read_input_type(function: Callable[..., object] | None) -> object:
    """Return the annotated type of a function's first parameter; `Any`, if there is none."""
    try:
        first = next(iter(inspect.signature(cast(Any, function)).parameters), None)
    except (TypeError, ValueError):  # a builtin, which does not say
        return Any
    return _read_hints(function).get(first or "", Any)


def read_output_type(function: Callable[..., object] | None) -> object:
    """Return the annotated type of what a function returns, awaited; of a generator function, of what it yields."""
    said = _read_hints(function).get("return", Any)
    origin, arguments = get_origin(said), get_args(said)
    if inspect.isclass(origin) and arguments:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return arguments[0] if issubclass(origin, Iterator | AsyncIterator) else Any
        if issubclass(origin, Awaitable):
            return arguments[-1]
    return said


def read_item_keys(function: object) -> tuple[str, ...]:
    """Return the keys that an `operator.itemgetter` takes; none, if it is something else."""
    if not isinstance(function, operator.itemgetter):
        return ()
    keys: tuple[object, ...] = cast(Any, function).__reduce__()[1]
    return tuple(key for key in keys if isinstance(key, str)) if all(isinstance(key, str) for key in keys) else ()


def _read_hints(function: object) -> dict[str, object]:
    call = function if inspect.isroutine(function) else vars(type(function)).get("__call__", function)
    try:
        return get_type_hints(call)
    except (TypeError, NameError, AttributeError):  # a name that is not there; nothing that has annotations
        return {}
