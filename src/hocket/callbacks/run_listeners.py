"""A run, as its handlers are told of it: who listens, and the one way from a run to its handlers.

The classes with a method for each event, in LangChain's sync and async forms, are in `hocket.callbacks.manager`. The async
form has the code; the sync one is its face (`sync_face`), driven in the blocking mode.

Some handlers listen to all runs of a context, or of the whole process, without being passed to each call. One context
variable holds all of a context. LangChain makes one for each use and keeps each for ever in a list that every call scans,
so that a service gets slower with every request (its issue #32300).
"""

import functools
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Self, TypeVar, overload
from uuid import UUID

from hocket._runtime.clock import new_run_id
from hocket._runtime.fork import free_at_fork
from hocket._runtime.mode import ASYNC, Mode, drive
from hocket.callbacks.base_manager import list_handlers
from hocket.callbacks.events import NOTHING, Listener, emit, listeners
from hocket.callbacks.handler_mixins import Metadata
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.errors import InvalidInput
from hocket.messages.pieces import copy_containers

__all__ = [
    "BaseRunManager",
    "Listening",
    "ambient_handlers",
    "has_ambient_handlers",
    "is_silent",
    "register_configure_hook",
    "register_handler",
    "sync_face",
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


_changing = free_at_fork(threading.Lock())
_hooks: tuple[_Hook, ...] = ()  # replaced and never changed: every call reads them, in any thread
_registrations: tuple[_Registration, ...] = ()  # likewise
_OFF = ("", "0", "false", "False")

current_parent: ContextVar[Any] = ContextVar("hocket_parent", default=None)
"""The callback manager of the run that the current code belongs to."""

is_silent: ContextVar[bool] = ContextVar("hocket_silent", default=False)
"""Whether runs that begin here are told to nobody: they are made again, later, for all to hear."""


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
    global _hooks
    with _changing:
        others = (hook for hook in _hooks if hook.variable is not context_var)
        _hooks = (*others, _Hook(context_var, inheritable, handle_class, env_var))


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


P = ParamSpec("P")
R = TypeVar("R", bound="BaseRunManager")
T = TypeVar("T")


AsyncMethod = Callable[Concatenate[Any, P], Coroutine[object, object, T]]
SyncMethod = Callable[Concatenate[Any, P], T]


@overload
def sync_face(method: AsyncMethod[P, T]) -> SyncMethod[P, T]: ...
@overload
def sync_face(method: AsyncMethod[P, object], returns: type[T]) -> SyncMethod[P, T]: ...
def sync_face(method: AsyncMethod[P, object], returns: type[object] | None = None) -> SyncMethod[P, object]:
    """Return the sync face of an async method that works in its object's mode.

    In a class it is `Final`: what it does is up to the async method.

    Args:
        method: the async one. Its ``self`` is positional only, so that type checkers can tell it from the parameters.
        returns: the type of what the face returns, where it is not what the method does: for type checkers alone.
    """

    @functools.wraps(method)
    def face(self: object, /, *args: P.args, **kwargs: P.kwargs) -> object:
        return drive(method(self, *args, **kwargs))

    return face


class BaseRunManager:
    """One run: its id, its parent's, who listens, and its tags and metadata.

    Handlers, tags and metadata that are inheritable are those that the runs started inside this one get too.

    Attributes:
        ended: whether the run's handlers have been told of its end through this object.
    """

    mode: ClassVar[Mode] = ASYNC
    ended: bool = False

    def __init__(
        self,
        run_id: UUID,
        handlers: list[BaseCallbackHandler],
        inheritable_handlers: list[BaseCallbackHandler],
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: Metadata | None = None,
        inheritable_metadata: Metadata | None = None,
    ) -> None:
        self.run_id = run_id
        self.handlers = handlers
        self.inheritable_handlers = inheritable_handlers
        self.parent_run_id = parent_run_id
        self.tags: list[str] = tags or []  # its own, where there are none
        self.inheritable_tags: list[str] = inheritable_tags or []
        self.metadata: Metadata = metadata or {}
        self.inheritable_metadata: Metadata = inheritable_metadata or {}
        self._listeners_by_event: dict[str, list[Listener]] = {}  # found out at the first event of each name

    @classmethod
    def get_noop_manager(cls) -> Self:
        """Return a run that nobody listens to."""
        return cls(run_id=new_run_id(), handlers=[], inheritable_handlers=[])

    def listeners(self, name: str) -> list[Listener]:
        """Return who listens to events of this name: found out at the first."""
        heard = self._listeners_by_event.get(name)
        if heard is None:
            heard = self._listeners_by_event[name] = listeners(self.mode, self.handlers, name)
        return heard

    def may_wait(self, name: str) -> bool:
        """Whether telling the handlers of such an event may take time."""
        return any([waits for _, _, waits in self.listeners(name)])

    def emit(self, name: str, /, *args: object, **details: object) -> Awaitable[None]:
        """Tell the run's handlers of one event. No coroutine itself, since it is called for every token."""
        heard = self._listeners_by_event.get(name)
        if heard is None:
            heard = self.listeners(name)
        if not heard:
            return NOTHING
        about = {"run_id": self.run_id, "parent_run_id": self.parent_run_id, "tags": [*self.tags], **details}
        return emit(self.mode, heard, name, args, about)

    def emit_token(self, text: str, chunk: object) -> Awaitable[None]:
        """Tell the run's handlers of a chunk."""
        heard = self._listeners_by_event.get("on_llm_new_token")
        if heard is None:
            heard = self.listeners("on_llm_new_token")
        about = {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "tags": [*self.tags],
            "chunk": chunk,
        }
        return emit(self.mode, heard, "on_llm_new_token", (text,), about)

    def emit_start(self, name: str, args: Sequence[object], details: Mapping[str, object]) -> Awaitable[None]:
        """Tell the run's handlers that it starts."""
        about = {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "tags": [*self.tags],
            "metadata": copy_containers(self.metadata),
            **details,
        }
        return emit(self.mode, self.listeners(name), name, args, about)

    async def emit_end(self, name: str, /, *args: object, **details: object) -> None:
        """Tell the run's handlers of its end, whatever cancels the caller meanwhile; the first end is the only one."""
        if not self.ended:
            self.ended = True
            telling = self.emit(name, *args, **details)
            await (self.mode.run_shielded(telling) if self.may_wait(name) else telling)

    def view_as(self, cls: type[R]) -> R:
        """Return the same run as an object of another class of runs."""
        other = object.__new__(cls)
        other.__dict__.update(self.__dict__, _listeners_by_event={})
        return other
