"""LangChain's classes, functions and methods, called by programs of hocket's.

A class of LangChain's takes LangChain's objects: a vector store the documents, and the model that embeds them. So it is not
enough to convert what a call gives: what it takes is converted, too, wherever hocket's objects stand in it.

What converts is told here by `hocket.interop.langchain.convert`, which knows all classes; those use it through `Forwarding`.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import ClassVar

__all__ = ["Convert", "Forwarding", "bridge_calls", "is_callable_part", "read_attribute", "tell_conversions"]

Convert = Callable[[object], object]
"""Turns a value of one side into that of the other."""


def is_callable_part(x: object) -> bool:
    """Whether something is a class, a function or a method, and none of hocket's."""
    is_part = isinstance(x, type) or inspect.isroutine(x)
    return is_part and not (getattr(x, "__module__", None) or "").startswith("hocket.")


_conversions: dict[str, Convert] = {}


def tell_conversions(there: Convert, back: Convert) -> None:
    """Say how objects are converted.

    Args:
        there: returns what it is given with LangChain's objects for hocket's in it.
        back: the same the other way round.
    """
    _conversions.update(there=there, back=back)


def bridge_calls(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function that calls LangChain's with LangChain's objects, and returns the result as hocket's.

    Args:
        function: LangChain's class, function or method; also one that is awaited.
    """
    there, back = _conversions["there"], _conversions["back"]

    @functools.wraps(function, updated=())
    def call(*args: object, **kwargs: object) -> object:
        result = function(*map(there, args), **{name: there(value) for name, value in kwargs.items()})
        return _await(result, back) if inspect.iscoroutine(result) else back(result)

    return call


async def _await(result: Awaitable[object], back: Convert) -> object:
    return back(await result)


def read_attribute(original: object, name: str) -> object:
    """Return an attribute of an object of LangChain's for hocket's programs.

    Raises:
        AttributeError: it has no such attribute, or Python itself asks for that.
    """
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(original, name)
    return bridge_calls(value) if inspect.isroutine(value) else _conversions["back"](value)


class Forwarding:
    """An object of LangChain's in hocket. What it offers beyond hocket's class of its kind is read off the original: methods
    take hocket's objects and give hocket's.
    """

    _original: ClassVar[str]

    def __getattr__(self, name: str) -> object:
        if name == self._original:  # it is being made, or copied
            raise AttributeError(name)
        return read_attribute(getattr(self, self._original), name)
