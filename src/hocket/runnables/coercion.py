"""What may stand where a runnable is asked for: functions, generator functions, and mappings of these."""

from collections.abc import Mapping
from typing import TypeVar, cast, overload

from hocket.errors.hints import bridge_hint
from hocket.runnables.base import AnyRunnable, Runnable, RunnableLike, get_factory

__all__ = ["coerce_to_runnable", "is_runnable_like"]

Input = TypeVar("Input")
Output = TypeVar("Output")


def is_runnable_like(thing: object) -> bool:
    """Whether `coerce_to_runnable` takes ``thing``."""
    return isinstance(thing, Runnable | Mapping) or callable(thing)


@overload
def coerce_to_runnable(thing: Runnable[Input, Output]) -> Runnable[Input, Output]: ...
@overload
def coerce_to_runnable(thing: object) -> AnyRunnable: ...
def coerce_to_runnable(thing: object) -> AnyRunnable:
    """Return the runnable that ``thing`` stands for.

    A generator function is a `RunnableGenerator`, any other function a `RunnableLambda`, a mapping a `RunnableParallel`.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(thing, Runnable):
        return thing  # pyright: ignore[reportUnknownVariableType]  # a Runnable of anything
    if isinstance(thing, Mapping):
        return get_factory().make_parallel(cast("Mapping[str, RunnableLike]", thing))
    if callable(thing):
        return get_factory().make_function(thing)
    raise TypeError(
        f"{type(thing).__name__} {thing!r} stands for no runnable: a step of a chain is a Runnable, a function, or a dict "
        f"of these{bridge_hint(thing)}"
    )
