"""Handlers that listen to all runs of a context, or of the whole process, without being passed to each call.

One context variable holds all of a context. LangChain makes one for each use and keeps each for ever in a list that every
call scans, so that a service gets slower with every request (its issue #32300).
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from hocket.callbacks.base_manager import list_handlers
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.errors import InvalidInput

__all__ = [
    "Listening",
    "ambient_handlers",
    "has_ambient_handlers",
    "register_configure_hook",
    "register_handler",
    "unregister_handler",
]

_log = logging.getLogger("hocket.callbacks")

_listening: ContextVar[tuple[BaseCallbackHandler, ...]] = ContextVar("hocket_listening", default=())


class _Hook(NamedTuple):
    variable: ContextVar[Any]
    inheritable: bool
    handle_class: type[BaseCallbackHandler] | None
    env_var: str | None


class _Registration(NamedTuple):
    handler: BaseCallbackHandler
    active: Callable[[], bool] | None
    unless_given: bool


_hooks: list[_Hook] = []
_changing = threading.Lock()
_registrations: tuple[_Registration, ...] = ()  # replaced and never changed: every call reads it, in any thread
_OFF = ("", "0", "false", "False")

current_parent: ContextVar[Any] = ContextVar("hocket_parent", default=None)
"""The callback manager of the run that the current code belongs to."""


class Listening:
    """A context manager in whose block ``handler`` hears every run.

    It also hears the runs of tasks that the block starts, and of threads that run in a copy of its context: those of
    anyio, of ``asyncio.to_thread`` and of hocket.
    """

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self.handler = handler

    def __enter__(self) -> BaseCallbackHandler:
        _listening.set((*_listening.get(), self.handler))
        return self.handler

    def __exit__(self, *exc: object) -> None:
        # Not by token: a block inside an async generator may be left in another context than it was entered in.
        _listening.set(tuple(handler for handler in _listening.get() if handler is not self.handler))


def register_configure_hook(
    context_var: ContextVar[Any],
    inheritable: bool = True,
    handle_class: type[BaseCallbackHandler] | None = None,
    env_var: str | None = None,
) -> None:
    """Let the handler in ``context_var`` listen to every run that starts while it is there (LangChain's hook).

    A second registration of a variable replaces the first. For a handler that listens in one block, use
    `Listening`, which registers nothing.

    Args:
        inheritable: whether the runs inside such a run are listened to, too.
        handle_class: of the handler that is made where the variable holds none and ``env_var`` is set. A run that has a
            handler of this class gets no other.
        env_var: an environment variable, set if it is neither empty nor one of 0, false and False.

    Raises:
        InvalidInput: ``env_var`` without ``handle_class``.
    """
    if env_var is not None and handle_class is None:
        raise InvalidInput(f"env_var={env_var!r} needs handle_class=..., the class of the handler to make")
    _hooks[:] = [hook for hook in _hooks if hook.variable is not context_var]
    _hooks.append(_Hook(context_var, inheritable, handle_class, env_var))


def register_handler(
    handler: BaseCallbackHandler, *, active: Callable[[], bool] | None = None, unless_given: bool = False
) -> None:
    """Have ``handler`` listen to every run of this process that starts from now on, in all threads and event loops.

    It hears of a run once, also where it is passed to a call besides. A second registration replaces the first.

    Args:
        handler: the handler.
        active: says at the start of each run whether the handler listens to it: as long as nobody does, calls cost what
            they cost without handlers. It must be quick. Where it raises, the handler does not listen. None: always.
        unless_given: do without it where another handler of its class is given: a call may have one of its own, with
            other settings.

    Raises:
        InvalidInput: ``handler`` is no handler, or ``active`` cannot be called.
    """
    global _registrations
    list_handlers([handler])
    if active is not None and not callable(active):
        raise InvalidInput(f"active is {active!r}; it must be a function that returns whether the handler listens")
    with _changing:
        others = (one for one in _registrations if one.handler is not handler)
        _registrations = (*others, _Registration(handler, active, unless_given))


def unregister_handler(handler: BaseCallbackHandler) -> None:
    """Have ``handler`` listen to runs no more, except to those that have begun. Nothing, if it is not registered."""
    global _registrations
    with _changing:
        _registrations = tuple(one for one in _registrations if one.handler is not handler)


def _is_active(one: _Registration) -> bool:
    if one.active is None:
        return True
    try:
        return one.active()
    except Exception:
        _log.debug("%r: whether it listens cannot be asked", one.handler, exc_info=True)
        return False


def has_ambient_handlers() -> bool:
    """Whether `ambient_handlers` may have any."""
    if _listening.get() or _hooks:
        return True
    for one in _registrations:  # noqa: SIM110  # faster than any(), which every call would pay
        if _is_active(one):
            return True
    return False


def ambient_handlers(held: Sequence[BaseCallbackHandler] = ()) -> list[tuple[BaseCallbackHandler, bool]]:
    """Return the handlers that listen here beside those ``held``, each with whether children inherit it."""
    found = [(handler, True) for handler in _listening.get()]
    for variable, inheritable, handle_class, env_var in _hooks:
        handler = variable.get(None)
        if handle_class is not None and any(isinstance(one, handle_class) for one in held):
            continue
        if handler is None and handle_class is not None and os.environ.get(env_var or "", "") not in _OFF:
            handler = handle_class()
        if handler is not None:
            found.append((handler, inheritable))
    for one in _registrations:
        is_given = one.unless_given and any(isinstance(other, type(one.handler)) for other in held)
        if not is_given and _is_active(one):
            found.append((one.handler, True))
    return found
