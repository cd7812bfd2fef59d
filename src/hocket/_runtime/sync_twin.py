"""Sync verbs and functions that are nothing but their async twins, awaited on hocket's kept loop."""

import functools
from collections.abc import Callable, Coroutine
from typing import Concatenate, ParamSpec, TypeVar

from hocket._runtime.portal import run_in_portal

__all__ = ["sync_function", "sync_twin"]

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")


def sync_twin(verb: Callable[Concatenate[S, P], Coroutine[object, object, T]]) -> Callable[Concatenate[S, P], T]:
    """Return the sync twin of an async method, ``asearch`` → ``search``: it calls what the object has under that name.

    In a class it is `Final`: what it does is up to the async verb, which a subclass may override.

    Args:
        verb: the async one. Its ``self`` is positional only, so that type checkers can tell it from the parameters.
    """
    name = verb.__name__

    @functools.wraps(verb)
    def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        method: Callable[P, Coroutine[object, object, T]] = getattr(self, name)
        return run_in_portal(functools.partial(method, *args, **kwargs))

    vars(twin).pop("__isabstractmethod__", None)  # a class that defines the async verb has this one
    return _describe_twin(twin, name)


def sync_function(function: Callable[P, Coroutine[object, object, T]]) -> Callable[P, T]:
    """Return the sync twin of an async function, ``aindex`` → ``index``. Ctrl-C cancels what it does.

    Args:
        function: the async one.
    """

    @functools.wraps(function)
    def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_in_portal(functools.partial(function, *args, **kwargs))

    return _describe_twin(twin, function.__name__)


def _describe_twin(twin: Callable[P, T], name: str) -> Callable[P, T]:
    """Name and document what has been made a copy of the async form, whose name is ``name``."""
    indent = " " * 8 if "." in twin.__qualname__ else " " * 4
    twin.__name__ = name.removeprefix("a")
    twin.__qualname__ = twin.__qualname__.replace(name, twin.__name__)
    twin.__doc__ = f"{(twin.__doc__ or '').strip()}\n\n{indent}The sync twin of `{name}`."
    return twin
