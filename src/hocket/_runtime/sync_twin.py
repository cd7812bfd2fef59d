"""Sync verbs that are nothing but their async twins, awaited on hocket's kept loop."""

import functools
from collections.abc import Callable, Coroutine
from typing import Concatenate, ParamSpec, TypeVar

from hocket._runtime.portal import run_in_portal

__all__ = ["sync_twin"]

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
    twin.__name__ = name.removeprefix("a")
    twin.__qualname__ = verb.__qualname__.replace(name, twin.__name__)
    twin.__doc__ = f"{(verb.__doc__ or '').strip()}\n\n        The sync twin of `{name}`."
    return twin
