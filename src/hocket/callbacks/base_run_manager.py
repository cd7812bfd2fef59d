"""A run, as its handlers are told of it: who listens, and the one way from a run to its handlers.

The classes with a method for each event, in LangChain's sync and async forms, are in `hocket.callbacks.manager`. The async
form has the code; the sync one is its face (`sync_face`), driven on the blocking runtime.
"""

import functools
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, overload
from uuid import UUID

from hocket._runtime.clock import new_run_id
from hocket._runtime.runtime import ASYNC, Runtime, drive
from hocket.callbacks.events import NOTHING, Listener, emit, listeners
from hocket.callbacks.handler_mixins import Metadata
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.messages.pieces import copy_containers

__all__ = ["BaseRunManager", "sync_face"]


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
    """Return the sync face of an async method that works on its object's runtime.

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

    runtime: ClassVar[Runtime] = ASYNC
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
            heard = self._listeners_by_event[name] = listeners(self.runtime, self.handlers, name)
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
        return emit(self.runtime, heard, name, args, about)

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
        return emit(self.runtime, heard, "on_llm_new_token", (text,), about)

    def emit_start(self, name: str, args: Sequence[object], details: Mapping[str, object]) -> Awaitable[None]:
        """Tell the run's handlers that it starts."""
        about = {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "tags": [*self.tags],
            "metadata": copy_containers(self.metadata),
            **details,
        }
        return emit(self.runtime, self.listeners(name), name, args, about)

    async def emit_end(self, name: str, /, *args: object, **details: object) -> None:
        """Tell the run's handlers of its end, whatever cancels the caller meanwhile; the first end is the only one."""
        if not self.ended:
            self.ended = True
            telling = self.emit(name, *args, **details)
            await (self.runtime.run_shielded(telling) if self.may_wait(name) else telling)

    def view_as(self, cls: type[R]) -> R:
        """Return the same run as an object of another class of runs."""
        other = object.__new__(cls)
        other.__dict__.update(self.__dict__, _listeners_by_event={})
        return other
