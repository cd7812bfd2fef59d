"""Runs, and the managers that start them: LangChain's classes, each for async and for sync code.

Both in one file, since they name each other: a manager starts runs, and a run gives the manager for the runs inside it.
The async classes have the code, and the sync ones are their faces; telling handlers is in `BaseRunManager`, once.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Self, TypeVar
from uuid import UUID

from hocket import globals as settings
from hocket._runtime.clock import new_run_id
from hocket._runtime.mode import ASYNC, BLOCKING, Mode
from hocket.callbacks.base_manager import BaseCallbackManager, Callbacks, as_own_manager, list_handlers
from hocket.callbacks.events import emit, listeners
from hocket.callbacks.handler_mixins import Metadata, Serialized
from hocket.callbacks.run_listeners import BaseRunManager, ambient_handlers, has_ambient_handlers, is_silent, sync_face
from hocket.callbacks.stdout import DebugCallbackHandler, StdOutCallbackHandler
from hocket.messages import BaseMessage
from hocket.messages.base import copy_containers
from hocket.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

__all__ = [
    "AsyncCallbackManager",
    "AsyncCallbackManagerForChainRun",
    "AsyncCallbackManagerForLLMRun",
    "AsyncCallbackManagerForRetrieverRun",
    "AsyncCallbackManagerForToolRun",
    "AsyncParentRunManager",
    "AsyncRunManager",
    "CallbackManager",
    "CallbackManagerForChainRun",
    "CallbackManagerForLLMRun",
    "CallbackManagerForRetrieverRun",
    "CallbackManagerForToolRun",
    "ParentRunManager",
    "RunManager",
]

R = TypeVar("R", bound=BaseRunManager)


class AsyncRunManager(BaseRunManager):
    """What every run can say. (LangChain's `AsyncParentRunManager`, too: here every run can be a parent.)"""

    def get_child(self, tag: str | None = None) -> "AsyncCallbackManager":
        """Return the manager for runs inside this one; ``tag`` is put on them, and not on the runs inside those."""
        return _child_manager(AsyncCallbackManager, self, tag)

    async def on_text(self, /, text: str, **kwargs: object) -> None:
        """Tell handlers a free text."""
        await self.emit("on_text", text, **kwargs)

    async def on_retry(self, /, retry_state: object, **kwargs: object) -> None:
        """Tell handlers that another attempt will be made."""
        await self.emit("on_retry", retry_state, **kwargs)


class RunManager(BaseRunManager):
    """What every run can say, for sync code."""

    mode: ClassVar[Mode] = BLOCKING

    def get_child(self, tag: str | None = None) -> "CallbackManager":
        """Return the manager for runs inside this one: as in `AsyncRunManager`."""
        return _child_manager(CallbackManager, self, tag)

    on_text: Final = sync_face(AsyncRunManager.on_text)
    on_retry: Final = sync_face(AsyncRunManager.on_retry)


AsyncParentRunManager = AsyncRunManager
"""LangChain's other name of `AsyncRunManager`."""

ParentRunManager = RunManager
"""LangChain's other name of `RunManager`."""


class AsyncCallbackManagerForLLMRun(AsyncRunManager):
    """A run of a model."""

    async def on_llm_new_token(
        self, /, token: str, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, **kwargs: object
    ) -> None:
        """Tell handlers of a chunk."""
        await self.emit("on_llm_new_token", token, chunk=chunk, **kwargs)

    async def on_llm_end(self, /, response: LLMResult, **kwargs: object) -> None:
        """Tell handlers that the model has answered."""
        await self.emit_end("on_llm_end", response, **kwargs)

    async def on_llm_error(self, /, error: BaseException, **kwargs: object) -> None:
        """Tell handlers that the run has failed."""
        await self.emit_end("on_llm_error", error, **kwargs)

    async def notify(self, /, name: str, *args: object, **details: object) -> None:
        """Tell handlers of an event that LangChain has no method for."""
        await self.emit(name, *args, **details)

    def get_sync(self) -> "CallbackManagerForLLMRun":
        """Return the same run for sync code."""
        return self.view_as(CallbackManagerForLLMRun)


class CallbackManagerForLLMRun(RunManager):
    """A run of a model, for sync code."""

    on_llm_new_token: Final = sync_face(AsyncCallbackManagerForLLMRun.on_llm_new_token)
    on_llm_end: Final = sync_face(AsyncCallbackManagerForLLMRun.on_llm_end)
    on_llm_error: Final = sync_face(AsyncCallbackManagerForLLMRun.on_llm_error)
    notify: Final = sync_face(AsyncCallbackManagerForLLMRun.notify)


class AsyncCallbackManagerForChainRun(AsyncRunManager):
    """A run of a chain."""

    async def on_chain_end(self, /, outputs: object, **kwargs: object) -> None:
        """Tell handlers that the chain has ended."""
        await self.emit_end("on_chain_end", outputs, **kwargs)

    async def on_chain_error(self, /, error: BaseException, **kwargs: object) -> None:
        """Tell handlers that the chain has failed."""
        await self.emit_end("on_chain_error", error, **kwargs)

    async def on_agent_action(self, /, action: object, **kwargs: object) -> None:
        """Tell handlers what an agent has chosen to do."""
        await self.emit("on_agent_action", action, **kwargs)

    async def on_agent_finish(self, /, finish: object, **kwargs: object) -> None:
        """Tell handlers that an agent is done."""
        await self.emit("on_agent_finish", finish, **kwargs)

    def get_sync(self) -> "CallbackManagerForChainRun":
        """Return the same run for sync code."""
        return self.view_as(CallbackManagerForChainRun)


class CallbackManagerForChainRun(RunManager):
    """A run of a chain, for sync code."""

    on_chain_end: Final = sync_face(AsyncCallbackManagerForChainRun.on_chain_end)
    on_chain_error: Final = sync_face(AsyncCallbackManagerForChainRun.on_chain_error)
    on_agent_action: Final = sync_face(AsyncCallbackManagerForChainRun.on_agent_action)
    on_agent_finish: Final = sync_face(AsyncCallbackManagerForChainRun.on_agent_finish)


class AsyncCallbackManagerForToolRun(AsyncRunManager):
    """A run of a tool."""

    async def on_tool_end(self, /, output: object, **kwargs: object) -> None:
        """Tell handlers that the tool has answered."""
        await self.emit_end("on_tool_end", output, **kwargs)

    async def on_tool_error(self, /, error: BaseException, **kwargs: object) -> None:
        """Tell handlers that the tool has failed."""
        await self.emit_end("on_tool_error", error, **kwargs)

    def get_sync(self) -> "CallbackManagerForToolRun":
        """Return the same run for sync code."""
        return self.view_as(CallbackManagerForToolRun)


class CallbackManagerForToolRun(RunManager):
    """A run of a tool, for sync code."""

    on_tool_end: Final = sync_face(AsyncCallbackManagerForToolRun.on_tool_end)
    on_tool_error: Final = sync_face(AsyncCallbackManagerForToolRun.on_tool_error)


class AsyncCallbackManagerForRetrieverRun(AsyncRunManager):
    """A run of a retriever."""

    async def on_retriever_end(self, /, documents: Sequence[object], **kwargs: object) -> None:
        """Tell handlers what was found."""
        await self.emit_end("on_retriever_end", documents, **kwargs)

    async def on_retriever_error(self, /, error: BaseException, **kwargs: object) -> None:
        """Tell handlers that the retriever has failed."""
        await self.emit_end("on_retriever_error", error, **kwargs)

    def get_sync(self) -> "CallbackManagerForRetrieverRun":
        """Return the same run for sync code."""
        return self.view_as(CallbackManagerForRetrieverRun)


class CallbackManagerForRetrieverRun(RunManager):
    """A run of a retriever, for sync code."""

    on_retriever_end: Final = sync_face(AsyncCallbackManagerForRetrieverRun.on_retriever_end)
    on_retriever_error: Final = sync_face(AsyncCallbackManagerForRetrieverRun.on_retriever_error)


class _Manager(BaseCallbackManager):
    """What both managers do."""

    mode: ClassVar[Mode] = ASYNC

    @classmethod
    def configure(
        cls,
        inheritable_callbacks: Callbacks = None,
        local_callbacks: Callbacks = None,
        verbose: bool = False,
        inheritable_tags: list[str] | None = None,
        local_tags: list[str] | None = None,
        inheritable_metadata: Metadata | None = None,
        local_metadata: Metadata | None = None,
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
        if is_silent.get():
            return cls([])
        handed_on = None if type(inheritable_callbacks) is list else as_own_manager(inheritable_callbacks)
        if handed_on is not None:
            manager = handed_on.copy_as(cls)
        else:
            handlers = list_handlers(inheritable_callbacks)
            distinct = [*handlers] if len(handlers) < 2 else [*{id(one): one for one in handlers}.values()]
            manager = cls(distinct, distinct.copy())
        if local_callbacks:
            for handler in list_handlers(local_callbacks):
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
        if settings.get_debug() and not any(isinstance(one, DebugCallbackHandler) for one in self.handlers):
            self.add_handler(DebugCallbackHandler())
        elif verbose and not any(isinstance(one, StdOutCallbackHandler) for one in self.handlers):
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

    async def _start_run(self, cls: type[R], name: str, run_id: UUID | None, /, *args: object, **details: object) -> R:
        run = self.new_run(cls, run_id)
        await run.emit_start(name, args, details)
        return run


class AsyncCallbackManager(_Manager):
    """Starts runs under an event loop."""

    is_async = True

    llm_run_class: type[AsyncCallbackManagerForLLMRun] = AsyncCallbackManagerForLLMRun
    chain_run_class: type[AsyncCallbackManagerForChainRun] = AsyncCallbackManagerForChainRun
    tool_run_class: type[AsyncCallbackManagerForToolRun] = AsyncCallbackManagerForToolRun
    retriever_run_class: type[AsyncCallbackManagerForRetrieverRun] = AsyncCallbackManagerForRetrieverRun

    async def on_llm_start(
        self, /, serialized: Serialized | None, prompts: list[str], run_id: UUID | None = None, **kwargs: object
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """Start a run for each prompt; ``run_id`` is the first one's."""
        ids = [run_id, *[None] * (len(prompts) - 1)]
        return [
            await self._start_run(self.llm_run_class, "on_llm_start", id_, serialized or {}, [prompt], **kwargs)
            for id_, prompt in zip(ids, prompts, strict=False)
        ]

    async def on_chat_model_start(
        self,
        /,
        serialized: Serialized | None,
        messages: list[list[BaseMessage]],
        run_id: UUID | None = None,
        **kwargs: object,
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """Start a run for each conversation; ``run_id`` is the first one's."""
        ids = [run_id, *[None] * (len(messages) - 1)]
        return [
            await self._start_run(
                self.llm_run_class, "on_chat_model_start", id_, serialized or {}, [conversation], **kwargs
            )
            for id_, conversation in zip(ids, messages, strict=False)
        ]

    async def on_chain_start(
        self, /, serialized: Serialized | None, inputs: object, run_id: UUID | None = None, **kwargs: object
    ) -> AsyncCallbackManagerForChainRun:
        """Start a run of a chain."""
        return await self._start_run(self.chain_run_class, "on_chain_start", run_id, serialized or {}, inputs, **kwargs)

    async def on_tool_start(
        self,
        /,
        serialized: Serialized | None,
        input_str: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        inputs: Mapping[str, object] | None = None,
        **kwargs: object,
    ) -> AsyncCallbackManagerForToolRun:
        """Start a run of a tool."""
        details = {"inputs": inputs, **kwargs}
        if parent_run_id is not None:
            details["parent_run_id"] = parent_run_id
        return await self._start_run(
            self.tool_run_class, "on_tool_start", run_id, serialized or {}, input_str, **details
        )

    async def on_retriever_start(
        self, /, serialized: Serialized | None, query: str, run_id: UUID | None = None, **kwargs: object
    ) -> AsyncCallbackManagerForRetrieverRun:
        """Start a run of a retriever."""
        return await self._start_run(
            self.retriever_run_class, "on_retriever_start", run_id, serialized or {}, query, **kwargs
        )

    async def on_custom_event(self, /, name: str, data: object, run_id: UUID | None = None, **kwargs: object) -> None:
        """Tell handlers of the application's own event."""
        heard = listeners(self.mode, self.handlers, "on_custom_event")
        if heard:
            details = {
                "run_id": run_id or new_run_id(),
                "tags": list(self.tags),
                "metadata": copy_containers(self.metadata),
            }
            await emit(self.mode, heard, "on_custom_event", (name, data), {**details, **kwargs})


class CallbackManager(_Manager):
    """Starts runs in sync code: the face of `AsyncCallbackManager`."""

    mode: ClassVar[Mode] = BLOCKING

    llm_run_class: type[CallbackManagerForLLMRun] = CallbackManagerForLLMRun
    chain_run_class: type[CallbackManagerForChainRun] = CallbackManagerForChainRun
    tool_run_class: type[CallbackManagerForToolRun] = CallbackManagerForToolRun
    retriever_run_class: type[CallbackManagerForRetrieverRun] = CallbackManagerForRetrieverRun

    on_llm_start: Final = sync_face(AsyncCallbackManager.on_llm_start, list[CallbackManagerForLLMRun])
    on_chat_model_start: Final = sync_face(AsyncCallbackManager.on_chat_model_start, list[CallbackManagerForLLMRun])
    on_chain_start: Final = sync_face(AsyncCallbackManager.on_chain_start, CallbackManagerForChainRun)
    on_tool_start: Final = sync_face(AsyncCallbackManager.on_tool_start, CallbackManagerForToolRun)
    on_retriever_start: Final = sync_face(AsyncCallbackManager.on_retriever_start, CallbackManagerForRetrieverRun)
    on_custom_event: Final = sync_face(AsyncCallbackManager.on_custom_event)


M = TypeVar("M", bound=_Manager)


def _child_manager(cls: type[M], run: BaseRunManager, tag: str | None) -> M:
    manager = cls(handlers=[], parent_run_id=run.run_id)
    manager.set_handlers(run.inheritable_handlers)
    manager.add_tags(run.inheritable_tags)
    manager.add_metadata(run.inheritable_metadata)
    if tag is not None:
        manager.add_tags([tag], inherit=False)
    return manager
