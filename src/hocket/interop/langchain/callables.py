"""LangChain's classes, functions and methods, called by programs of hocket's.

A class of LangChain's takes LangChain's objects: a vector store the documents, and the model that embeds them. So it is not
enough to convert what a call gives: what it takes is converted, too, wherever hocket's objects stand in it.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable

__all__ = ["Convert", "bridge_calls", "is_callable_part"]

Convert = Callable[[object], object]


def is_callable_part(x: object) -> bool:
    """Whether something is a class, a function or a method, and none of hocket's."""
    is_part = isinstance(x, type) or inspect.isroutine(x)
    return is_part and not (getattr(x, "__module__", None) or "").startswith("hocket.")


def bridge_calls(function: Callable[..., object], there: Convert, back: Convert) -> Callable[..., object]:
    """Return a function that calls LangChain's with LangChain's objects, and returns what comes of it as hocket's.

    Args:
        function: LangChain's class, function or method; also one that is awaited.
        there: converts what it is given.
        back: converts what it returns.
    """

    @functools.wraps(function, updated=())
    def call(*args: object, **kwargs: object) -> object:
        result = function(*map(there, args), **{name: there(value) for name, value in kwargs.items()})
        return _await(result, back) if inspect.iscoroutine(result) else back(result)

    return call


async def _await(result: Awaitable[object], back: Convert) -> object:
    return back(await result)
