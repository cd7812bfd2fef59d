"""Handlers that listen to whatever runs in a context, without being passed along.

One context variable holds them all. LangChain makes one for each use and keeps each for ever in a list that every call
scans, so that a service gets slower with every request (its issue #32300).
"""

from contextvars import ContextVar
from typing import Any

from hocket.callbacks.handlers import BaseCallbackHandler

__all__ = ["Listening", "ambient_handlers", "has_ambient_handlers", "register_configure_hook"]

_listening: ContextVar[tuple[BaseCallbackHandler, ...]] = ContextVar("hocket_listening", default=())
_hooks: list[tuple[ContextVar[Any], bool]] = []

current_parent: ContextVar[Any] = ContextVar("hocket_parent", default=None)
"""The callback manager of the run that the current code belongs to."""


class Listening:
    """A context manager in whose block, and in the tasks and threads started there, ``handler`` hears every run."""

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self.handler = handler

    def __enter__(self) -> BaseCallbackHandler:
        _listening.set((*_listening.get(), self.handler))
        return self.handler

    def __exit__(self, *exc: object) -> None:
        # Not by token: a block inside an async generator may be left in another context than it was entered in.
        _listening.set(tuple(handler for handler in _listening.get() if handler is not self.handler))


def register_configure_hook(context_var: ContextVar[Any], inheritable: bool = True) -> None:
    """Have every run listened to by the handler that ``context_var`` holds at its start, if any (LangChain's hook).

    Registering a variable again changes nothing but ``inheritable``. For a handler that listens in one block, use
    `Listening`, which registers nothing.
    """
    _hooks[:] = [hook for hook in _hooks if hook[0] is not context_var]
    _hooks.append((context_var, inheritable))


def has_ambient_handlers() -> bool:
    """Whether `ambient_handlers` may have any."""
    return bool(_listening.get() or _hooks)


def ambient_handlers() -> list[tuple[BaseCallbackHandler, bool]]:
    """Return the handlers that listen here, each with whether children inherit it."""
    found = [(handler, True) for handler in _listening.get()]
    for variable, inheritable in _hooks:
        handler = variable.get(None)
        if handler is not None:
            found.append((handler, inheritable))
    return found
