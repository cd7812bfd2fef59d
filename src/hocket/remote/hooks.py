"""Mistakes of a provider's author, told apart from those of a server, which may send any odd shape."""

from collections.abc import Callable
from typing import Any, TypeVar

from hocket.errors import InvalidHook

__all__ = ["blame_signature", "check_returned"]

T = TypeVar("T")


def check_returned(hook: Callable[..., Any], returned: object, kind: type[T], words: str = "") -> T:
    """Return what a hook returned.

    Raises:
        InvalidHook: it is not of this kind, which ``words`` tell, or else its name.
    """
    if isinstance(returned, kind):
        return returned
    words = words or kind.__name__
    raise InvalidHook(f"{hook.__qualname__} returned {type(returned).__name__}; it must return {words}")


def blame_signature(hook: Callable[..., Any], error: Exception) -> None:
    """Look at an error that has come out of a hook, in the frame that called it.

    Raises:
        InvalidHook: the call itself has failed, and nothing in it: the hook does not take what it is given.
    """
    trace = error.__traceback__
    if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
        name = getattr(hook, "__qualname__", repr(hook))
        raise InvalidHook(f"{name} does not take what it is given: {error}") from error
