"""Runs, as their handlers see them: one object for a run, with a method for each thing that can happen in it.

LangChain's names, in a sync and an async form each. The async form has the code; the sync one is its face, stepped on
the blocking runtime, so that there is one way an event is told.
"""

import functools
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Self
from uuid import UUID

from hocket._runtime.ids import new_run_id as new_run_id
from hocket._runtime.runtime import ASYNC, BLOCKING, Runtime, drive
from hocket.callbacks.events import NOTHING, Listener, emit, listeners
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.messages.pieces import copy_containers
from hocket.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

__all__ = [
    "AsyncCallbackManagerForChainRun",
    "AsyncCallbackManagerForLLMRun",
    "AsyncCallbackManagerForRetrieverRun",
    "AsyncCallbackManagerForToolRun",
    "AsyncParentRunManager",
    "AsyncRunManager",
    "BaseRunManager",
    "CallbackManagerForChainRun",
    "CallbackManagerForLLMRun",
    "CallbackManagerForRetrieverRun",
    "CallbackManagerForToolRun",
    "ParentRunManager",
    "RunManager",
    "sync_face",
]


def sync_face(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """Return the sync face of an async method that works on its object's runtime."""

    @functools.wraps(method)
    def face(*args: Any, **kwargs: Any) -> Any:
        return drive(method(*args, **kwargs))

    return face


class BaseRunManager:
    """One run: its id, its parent's, who listens, and its tags and metadata.

    Handlers, tags and metadata that are inheritable are those that the runs started inside this one get too.

    Attributes:
        ended: whether the run's handlers have been told of its end through this object.
    """

    runtime: ClassVar[Runtime] = ASYNC
    ended = False
    manager_class: ClassVar[type[Any]]
    """The manager that starts runs inside this one; set by `hocket.callbacks.manager`, which is built on this module."""

    def __init__(
        self,
        run_id: UUID,
        handlers: list[BaseCallbackHandler],
        inheritable_handlers: list[BaseCallbackHandler],
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inheritable_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.run_id = run_id
        self.handlers = handlers
        self.inheritable_handlers = inheritable_handlers
        self.parent_run_id = parent_run_id
        self.tags = tags or []  # its own, where there are none
        self.inheritable_tags = inheritable_tags or []
        self.metadata = metadata or {}
        self.inheritable_metadata = inheritable_metadata or {}
        self._heard: dict[str, list[Listener]] = {}  # who listens to what, found out at the first event of each kind

    @classmethod
    def get_noop_manager(cls) -> Self:
        """Return a run that nobody listens to."""
        return cls(run_id=new_run_id(), handlers=[], inheritable_handlers=[])

    def get_child(self, tag: str | None = None) -> Any:
        """Return the manager for runs inside this one; ``tag`` is put on them, and not on the runs inside those."""
        manager = self.manager_class(handlers=[], parent_run_id=self.run_id)
        manager.set_handlers(self.inheritable_handlers)
        manager.add_tags(self.inheritable_tags)
        manager.add_metadata(self.inheritable_metadata)
        if tag is not None:
            manager.add_tags([tag], inherit=False)
        return manager

    def _listeners(self, name: str) -> list[Listener]:
        """Return who listens to events of this name: found out at the first."""
        heard = self._heard.get(name)
        if heard is None:
            heard = self._heard[name] = listeners(self.runtime, self.handlers, name)
        return heard

    def _waits(self, name: str) -> bool:
        """Whether telling the handlers of such an event may take time."""
        return any([waits for _, _, waits in self._listeners(name)])

    def _tell(self, name: str, /, *args: Any, **details: Any) -> Awaitable[None]:
        """Tell the run's handlers of one event. No coroutine itself, since it is called for every token."""
        heard = self._heard.get(name)
        if heard is None:
            heard = self._listeners(name)
        if not heard:
            return NOTHING
        about = {"run_id": self.run_id, "parent_run_id": self.parent_run_id, "tags": [*self.tags], **details}
        return emit(self.runtime, heard, name, args, about)

    def _tell_token(self, text: str, chunk: Any) -> Awaitable[None]:
        """Tell the run's handlers of a chunk."""
        heard = self._heard.get("on_llm_new_token")
        if heard is None:
            heard = self._listeners("on_llm_new_token")
        about = {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "tags": [*self.tags],
            "chunk": chunk,
        }
        return emit(self.runtime, heard, "on_llm_new_token", (text,), about)

    def _tell_start(self, name: str, args: Sequence[Any], details: Mapping[str, Any]) -> Awaitable[None]:
        """Tell the run's handlers that it starts."""
        about = {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "tags": [*self.tags],
            "metadata": copy_containers(self.metadata),
            **details,
        }
        return emit(self.runtime, self._listeners(name), name, args, about)

    async def _tell_end(self, name: str, /, *args: Any, **details: Any) -> None:
        """Tell the run's handlers of its end, whatever cancels the caller meanwhile; the first end is the only one."""
        if not self.ended:
            self.ended = True
            telling = self._tell(name, *args, **details)
            await (self.runtime.run_shielded(telling) if self._waits(name) else telling)

    def _as(self, cls: type[Any]) -> Any:
        """The same run, seen through another class."""
        other: BaseRunManager = object.__new__(cls)
        other.__dict__.update(self.__dict__, _heard={})
        return other


class AsyncRunManager(BaseRunManager):
    """What every run can say. (LangChain's `AsyncParentRunManager`, too: here every run can be a parent.)"""

    async def on_text(self, text: str, **kwargs: Any) -> None:
        """Tell handlers a free text."""
        await self._tell("on_text", text, **kwargs)

    async def on_retry(self, retry_state: Any, **kwargs: Any) -> None:
        """Tell handlers that another attempt will be made."""
        await self._tell("on_retry", retry_state, **kwargs)


class RunManager(BaseRunManager):
    """What every run can say, for sync code."""

    runtime = BLOCKING

    on_text = sync_face(AsyncRunManager.on_text)
    on_retry = sync_face(AsyncRunManager.on_retry)


AsyncParentRunManager, ParentRunManager = AsyncRunManager, RunManager


class AsyncCallbackManagerForLLMRun(AsyncRunManager):
    """A run of a model."""

    async def on_llm_new_token(
        self, token: str, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, **kwargs: Any
    ) -> None:
        """Tell handlers of a chunk."""
        await self._tell("on_llm_new_token", token, chunk=chunk, **kwargs)

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Tell handlers that the model has answered."""
        await self._tell_end("on_llm_end", response, **kwargs)

    async def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Tell handlers that the run has failed."""
        await self._tell_end("on_llm_error", error, **kwargs)

    async def notify(self, name: str, *args: Any, **details: Any) -> None:
        """Tell handlers of an event that LangChain has no method for."""
        await self._tell(name, *args, **details)

    def get_sync(self) -> "CallbackManagerForLLMRun":
        """Return the same run for sync code."""
        return self._as(CallbackManagerForLLMRun)  # type: ignore[no-any-return]


class CallbackManagerForLLMRun(RunManager):
    """A run of a model, for sync code."""

    on_llm_new_token = sync_face(AsyncCallbackManagerForLLMRun.on_llm_new_token)
    on_llm_end = sync_face(AsyncCallbackManagerForLLMRun.on_llm_end)
    on_llm_error = sync_face(AsyncCallbackManagerForLLMRun.on_llm_error)
    notify = sync_face(AsyncCallbackManagerForLLMRun.notify)


class AsyncCallbackManagerForChainRun(AsyncRunManager):
    """A run of a chain."""

    async def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """Tell handlers that the chain has ended."""
        await self._tell_end("on_chain_end", outputs, **kwargs)

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """Tell handlers that the chain has failed."""
        await self._tell_end("on_chain_error", error, **kwargs)

    async def on_agent_action(self, action: Any, **kwargs: Any) -> None:
        """Tell handlers what an agent has chosen to do."""
        await self._tell("on_agent_action", action, **kwargs)

    async def on_agent_finish(self, finish: Any, **kwargs: Any) -> None:
        """Tell handlers that an agent is done."""
        await self._tell("on_agent_finish", finish, **kwargs)

    def get_sync(self) -> "CallbackManagerForChainRun":
        """Return the same run for sync code."""
        return self._as(CallbackManagerForChainRun)  # type: ignore[no-any-return]


class CallbackManagerForChainRun(RunManager):
    """A run of a chain, for sync code."""

    on_chain_end = sync_face(AsyncCallbackManagerForChainRun.on_chain_end)
    on_chain_error = sync_face(AsyncCallbackManagerForChainRun.on_chain_error)
    on_agent_action = sync_face(AsyncCallbackManagerForChainRun.on_agent_action)
    on_agent_finish = sync_face(AsyncCallbackManagerForChainRun.on_agent_finish)


class AsyncCallbackManagerForToolRun(AsyncRunManager):
    """A run of a tool."""

    async def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        """Tell handlers that the tool has answered."""
        await self._tell_end("on_tool_end", output, **kwargs)

    async def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        """Tell handlers that the tool has failed."""
        await self._tell_end("on_tool_error", error, **kwargs)

    def get_sync(self) -> "CallbackManagerForToolRun":
        """Return the same run for sync code."""
        return self._as(CallbackManagerForToolRun)  # type: ignore[no-any-return]


class CallbackManagerForToolRun(RunManager):
    """A run of a tool, for sync code."""

    on_tool_end = sync_face(AsyncCallbackManagerForToolRun.on_tool_end)
    on_tool_error = sync_face(AsyncCallbackManagerForToolRun.on_tool_error)


class AsyncCallbackManagerForRetrieverRun(AsyncRunManager):
    """A run of a retriever."""

    async def on_retriever_end(self, documents: Sequence[Any], **kwargs: Any) -> None:
        """Tell handlers what was found."""
        await self._tell_end("on_retriever_end", documents, **kwargs)

    async def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        """Tell handlers that the retriever has failed."""
        await self._tell_end("on_retriever_error", error, **kwargs)

    def get_sync(self) -> "CallbackManagerForRetrieverRun":
        """Return the same run for sync code."""
        return self._as(CallbackManagerForRetrieverRun)  # type: ignore[no-any-return]


class CallbackManagerForRetrieverRun(RunManager):
    """A run of a retriever, for sync code."""

    on_retriever_end = sync_face(AsyncCallbackManagerForRetrieverRun.on_retriever_end)
    on_retriever_error = sync_face(AsyncCallbackManagerForRetrieverRun.on_retriever_error)
