"""Managers: where runs are started.

`BaseManager` has the code; `AsyncCallbackManager` and `CallbackManager` are the two faces that LangChain's users know.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, cast
from uuid import UUID

from hocket import globals as settings
from hocket._runtime.ids import new_run_id as new_run_id
from hocket._runtime.runtime import ASYNC, BLOCKING
from hocket.callbacks.ambient import ambient_handlers, has_ambient_handlers
from hocket.callbacks.base_manager import BaseCallbackManager, Callbacks
from hocket.callbacks.events import emit, listeners
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.callbacks.run_managers import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    AsyncCallbackManagerForRetrieverRun,
    AsyncCallbackManagerForToolRun,
    AsyncRunManager,
    BaseRunManager,
    CallbackManagerForChainRun,
    CallbackManagerForLLMRun,
    CallbackManagerForRetrieverRun,
    CallbackManagerForToolRun,
    RunManager,
    sync_face,
)
from hocket.callbacks.stdout import DebugCallbackHandler, StdOutCallbackHandler
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.messages.base import copy_containers

__all__ = ["AsyncCallbackManager", "CallbackManager"]

R = TypeVar("R", bound=BaseRunManager)


class _Manager(BaseCallbackManager):
    """What both managers do."""

    runtime: Any = ASYNC

    @classmethod
    def configure(
        cls,
        inheritable_callbacks: Callbacks = None,
        local_callbacks: Callbacks = None,
        verbose: bool = False,
        inheritable_tags: list[str] | None = None,
        local_tags: list[str] | None = None,
        inheritable_metadata: dict[str, Any] | None = None,
        local_metadata: dict[str, Any] | None = None,
    ) -> Self:
        """Return the manager for one call.

        Args:
            inheritable_callbacks: given with the call; the runs inside it get them too.
            local_callbacks: the object's own; only its run gets them.
            verbose: print to standard output.
            inheritable_tags, inheritable_metadata: given with the call.
            local_tags, local_metadata: the object's own; its metadata comes over the call's.

        Raises:
            InvalidInput: callbacks are neither a list of handlers nor a manager.
        """
        if isinstance(inheritable_callbacks, BaseCallbackManager):
            manager = cast("Self", inheritable_callbacks._copied_as(cls))  # pyright: ignore[reportPrivateUsage]
        else:
            handlers = _handlers(inheritable_callbacks)
            distinct = [*handlers] if len(handlers) < 2 else [*{id(one): one for one in handlers}.values()]
            manager = cls(distinct, distinct.copy())
        if local_callbacks:
            for handler in _handlers(local_callbacks):
                manager.add_handler(handler, inherit=False)
        if has_ambient_handlers():
            for handler, inherit in ambient_handlers(manager.handlers):
                manager.add_handler(handler, inherit=inherit)
        if verbose or settings.get_debug():
            manager._add_printers(verbose)
        if inheritable_tags:
            manager.add_tags(inheritable_tags)
        if local_tags:
            manager.add_tags(local_tags, inherit=False)
        if inheritable_metadata:
            manager.add_metadata(inheritable_metadata)
        if local_metadata:
            manager.add_metadata(local_metadata, inherit=False)
        return manager

    def _add_printers(self, verbose: bool) -> None:
        if settings.get_debug() and not any(isinstance(held, DebugCallbackHandler) for held in self.handlers):
            self.add_handler(DebugCallbackHandler())
        elif verbose and not any(isinstance(held, StdOutCallbackHandler) for held in self.handlers):
            self.add_handler(StdOutCallbackHandler(), inherit=False)

    def new_run(self, cls: type[R], run_id: UUID | None = None) -> R:
        """Make a run without telling anybody: `start` does."""
        return cls(  # by position: keywords would cost more than all the rest, and every call that is watched pays
            run_id or new_run_id(),
            self.handlers,
            self.inheritable_handlers,
            self.parent_run_id,
            self.tags,
            self.inheritable_tags,
            self.metadata,
            self.inheritable_metadata,
        )

    async def _started(self, cls: type[R], name: str, run_id: UUID | None, /, *args: Any, **details: Any) -> R:
        run = self.new_run(cls, run_id)
        await run._tell_start(name, args, details)
        return run


class AsyncCallbackManager(_Manager):
    """Starts runs under an event loop."""

    is_async = True

    _llm_run: type[Any] = AsyncCallbackManagerForLLMRun
    _chain_run: type[Any] = AsyncCallbackManagerForChainRun
    _tool_run: type[Any] = AsyncCallbackManagerForToolRun
    _retriever_run: type[Any] = AsyncCallbackManagerForRetrieverRun

    async def on_llm_start(
        self, serialized: dict[str, Any] | None, prompts: list[str], run_id: UUID | None = None, **kwargs: Any
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """Start a run for each prompt; ``run_id`` is the first one's."""
        ids = [run_id, *[None] * (len(prompts) - 1)]
        return [
            await self._started(self._llm_run, "on_llm_start", id_, serialized or {}, [prompt], **kwargs)
            for id_, prompt in zip(ids, prompts, strict=False)
        ]

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """Start a run for each conversation; ``run_id`` is the first one's."""
        ids = [run_id, *[None] * (len(messages) - 1)]
        return [
            await self._started(self._llm_run, "on_chat_model_start", id_, serialized or {}, [conversation], **kwargs)
            for id_, conversation in zip(ids, messages, strict=False)
        ]

    async def on_chain_start(
        self, serialized: dict[str, Any] | None, inputs: Any, run_id: UUID | None = None, **kwargs: Any
    ) -> AsyncCallbackManagerForChainRun:
        """Start a run of a chain."""
        run = await self._started(self._chain_run, "on_chain_start", run_id, serialized or {}, inputs, **kwargs)
        return cast(AsyncCallbackManagerForChainRun, run)

    async def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncCallbackManagerForToolRun:
        """Start a run of a tool."""
        details = {"inputs": inputs, **kwargs}
        if parent_run_id is not None:
            details["parent_run_id"] = parent_run_id
        run = await self._started(self._tool_run, "on_tool_start", run_id, serialized or {}, input_str, **details)
        return cast(AsyncCallbackManagerForToolRun, run)

    async def on_retriever_start(
        self, serialized: dict[str, Any] | None, query: str, run_id: UUID | None = None, **kwargs: Any
    ) -> AsyncCallbackManagerForRetrieverRun:
        """Start a run of a retriever."""
        run = await self._started(self._retriever_run, "on_retriever_start", run_id, serialized or {}, query, **kwargs)
        return cast(AsyncCallbackManagerForRetrieverRun, run)

    async def on_custom_event(self, name: str, data: Any, run_id: UUID | None = None, **kwargs: Any) -> None:
        """Tell handlers of the application's own event."""
        heard = listeners(self.runtime, self.handlers, "on_custom_event")
        if heard:
            details = {
                "run_id": run_id or new_run_id(),
                "tags": list(self.tags),
                "metadata": copy_containers(self.metadata),
            }
            await emit(self.runtime, heard, "on_custom_event", (name, data), {**details, **kwargs})


class CallbackManager(_Manager):
    """Starts runs in sync code: the face of `AsyncCallbackManager`."""

    runtime = BLOCKING

    _llm_run: type[Any] = CallbackManagerForLLMRun
    _chain_run: type[Any] = CallbackManagerForChainRun
    _tool_run: type[Any] = CallbackManagerForToolRun
    _retriever_run: type[Any] = CallbackManagerForRetrieverRun

    on_llm_start: Callable[..., list[CallbackManagerForLLMRun]] = sync_face(AsyncCallbackManager.on_llm_start)
    on_chat_model_start: Callable[..., list[CallbackManagerForLLMRun]] = sync_face(
        AsyncCallbackManager.on_chat_model_start
    )
    on_chain_start: Callable[..., CallbackManagerForChainRun] = sync_face(AsyncCallbackManager.on_chain_start)
    on_tool_start: Callable[..., CallbackManagerForToolRun] = sync_face(AsyncCallbackManager.on_tool_start)
    on_retriever_start: Callable[..., CallbackManagerForRetrieverRun] = sync_face(
        AsyncCallbackManager.on_retriever_start
    )
    on_custom_event = sync_face(AsyncCallbackManager.on_custom_event)


def _handlers(callbacks: Callbacks) -> Sequence[BaseCallbackHandler]:
    """Return the handlers that ``callbacks`` stands for; what could never be told anything is refused."""
    if not callbacks:
        return ()
    if isinstance(callbacks, BaseCallbackManager):
        return callbacks.handlers
    if not isinstance(callbacks, (list, tuple)):  # every call that is watched comes by
        raise InvalidInput(f"callbacks is {callbacks!r}; it must be a list, [handler], or a callback manager")
    for handler in callbacks:
        if not isinstance(handler, BaseCallbackHandler) and (isinstance(handler, type) or not _is_like(handler)):
            raise InvalidInput(f"callbacks holds {handler!r}; it must be an instance of a BaseCallbackHandler")
    return callbacks


def _is_like(handler: object) -> bool:
    """Whether a handler of another library can be told as ours are: it has the flags."""
    return hasattr(handler, "raise_error") and hasattr(handler, "ignore_llm")


AsyncRunManager.manager_class = AsyncCallbackManager
RunManager.manager_class = CallbackManager
