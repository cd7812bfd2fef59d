"""Mistakes of a provider's author, told apart from those of a server: what a hook takes, and what it returns.

Whatever reads a reply may meet odd shapes, which are the server's fault. A hook that cannot even be called, or returns
another thing than its contract says, is the author's.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from hocket.errors import InvalidHook

__all__ = ["blame_signature", "check_returned"]

T = TypeVar("T")


def check_returned(hook: Callable[..., Any], returned: object, kind: type[T], words: str = "") -> T:
    """Return what a hook returned.

    Args:
        hook: a method of the provider's.
        returned: by it.
        kind: that it has to be of.
        words: for this kind, in the error; "": its name says it.

    Raises:
        InvalidHook: it is not of this kind.
    """
    if isinstance(returned, kind):
        return returned
    raise InvalidHook(f"{_name(hook)} returned {type(returned).__name__}; it must return {words or kind.__name__}")


def blame_signature(hook: Callable[..., Any], error: Exception) -> None:
    """Raise an error for an author whose hook does not take what it is given.

    Args:
        hook: which was called by the frame that has caught the error.
        error: that came out of it.

    Raises:
        InvalidHook: the call itself has failed, and nothing in it.
    """
    trace = error.__traceback__
    if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
        raise InvalidHook(f"{_name(hook)} does not take what it is given: {error}") from error


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__qualname__", None) or repr(hook)
