"""What may stand where a runnable is asked for: functions, generator functions, and mappings of these."""

import inspect
from collections.abc import Mapping
from typing import Any

from hocket.runnables.base import Runnable
from hocket.runnables.combining import built

__all__ = ["coerce_to_runnable", "is_runnable_like"]


def is_runnable_like(thing: object) -> bool:
    """Whether `coerce_to_runnable` takes ``thing``."""
    return isinstance(thing, Runnable | Mapping) or callable(thing)


def coerce_to_runnable(thing: Any) -> Runnable[Any, Any]:
    """Return the runnable that ``thing`` stands for.

    A generator function is a `RunnableGenerator`, any other function a `RunnableLambda`, a mapping a `RunnableParallel`.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(thing, Runnable):
        return thing
    if isinstance(thing, Mapping):
        return built("RunnableParallel")(thing)  # type: ignore[no-any-return]
    if callable(thing):
        is_generator = inspect.isgeneratorfunction(thing) or inspect.isasyncgenfunction(thing)
        return built("RunnableGenerator" if is_generator else "RunnableLambda")(thing)  # type: ignore[no-any-return]
    raise TypeError(f"{thing!r} stands for no runnable: it must be a Runnable, a function, or a dict of these")
