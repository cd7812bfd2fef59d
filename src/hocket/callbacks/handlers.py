"""What a user writes to watch runs: a class with a method for each event that it cares about.

Names and arguments are LangChain's, so that a handler written for it works after a change of import. Every method does
nothing by default, and hocket never calls one that a handler has not overridden: a handler of one event costs nothing at
the others, where LangChain sends each to a thread. Handlers are given copies; they cannot change what the caller sees.
"""

import warnings
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hocket.errors.hints import near_name
from hocket.messages import BaseMessage, UsageMetadata
from hocket.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

__all__ = ["AsyncCallbackHandler", "BaseCallbackHandler", "Metadata", "Serialized"]

Metadata = dict[str, Any]
"""What the application notes on a run: anything, by its own keys."""

Serialized = dict[str, Any]
"""The object that a run belongs to, as data: its class, by name, and its fields."""


class BaseCallbackHandler:
    """Watches runs. Every event names its run by ``run_id`` and the one it belongs to by ``parent_run_id``.

    Attributes:
        raise_error: let this handler's exceptions fail the run, after the handlers behind it were told; a run that has
            failed already keeps its own error.
        errors: how many exceptions it has raised. The first of them is logged at WARNING, the others at DEBUG.
        run_inline: call this handler's sync methods in the event loop instead of a worker thread: for quick ones.
        background: do not have runs wait for this handler: under an event loop it is told in order, but later, from a
            queue of 1,000 events (`flush`). It cannot fail a run, and should not look at context variables. Sync verbs
            tell it at once.
        only_measures: what it hears of chunks it shows nobody, so that an attempt that failed after some of them may be
            made again, as if nobody had heard them.
    """

    raise_error: bool = False
    run_inline: bool = False
    background: bool = False
    only_measures: bool = False
    errors: int = 0

    ignore_llm: bool = False
    ignore_chat_model: bool = False
    ignore_chain: bool = False
    ignore_agent: bool = False
    ignore_retriever: bool = False
    ignore_embeddings: bool = False
    ignore_retry: bool = False
    ignore_custom_event: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Warn of a method whose name is nearly that of an event: it would never be called, silently."""
        super().__init_subclass__(**kwargs)
        events = [name for name in dir(BaseCallbackHandler) if name.startswith("on_")]
        for name in vars(cls):
            if name.startswith("on_") and name not in events and (near := near_name(name, events, 0.85)):
                warnings.warn(
                    f"{cls.__name__}.{name} is no event, and is never called; did you mean {near}?", stacklevel=2
                )

    # -- models

    def on_llm_start(
        self,
        serialized: Serialized,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> object:
        """A text model starts; a chat model too, for a handler that has no `on_chat_model_start`.

        ``kwargs``: ``invocation_params``, ``options``, ``name``, ``batch_size``, ``stream`` (whether the model is asked to
        stream), and for a model behind HTTP ``server_address`` (a host) and ``server_port``.
        """

    def on_chat_model_start(
        self,
        serialized: Serialized,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> object:
        """A chat model starts. Raising NotImplementedError asks for `on_llm_start` instead. ``kwargs`` as there."""

    def on_llm_new_token(
        self,
        token: str,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> object:
        """A chunk has come, and its consumer does not have it yet. ``token`` is its text.

        ``chunk`` is copied at the first look, in here: one that is kept, and looked at later, may show the consumer's edits.
        """

    def on_llm_end(
        self,
        response: LLMResult,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> object:
        """A model has answered. ``closed=True``: the consumer left the stream early, and this is what came until then."""

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> object:
        """A run has failed or was cancelled. ``response``: an `LLMResult` of what came until then."""

    def on_first_token(
        self, seconds: float, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """The first chunk of a stream has come, ``seconds`` after the run started."""

    def on_cache_hit(self, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """The answer comes from a cache (``shared=True``: from an equal call in flight); nothing was sent or billed."""

    def on_limiter_wait(
        self, seconds: float, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """The run waited ``seconds`` for the rate limiter, or for one of the model's places (``max_in_flight``)."""

    def on_offload(self, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """The model has only a sync hook for this, which goes to a worker thread; the event loop is not held up."""

    def on_downgrade(
        self,
        provider: str,
        *,
        block_types: list[str],
        count: int,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> object:
        """``count`` blocks of these types, from replies of other providers, are left out of what ``provider`` is told.

        They are reasoning, and what ran on the other's servers. It is told once a request, before that is sent.
        """

    # -- embeddings

    def on_embeddings_start(
        self,
        serialized: Serialized,
        texts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: object,
    ) -> object:
        """An embedding model starts, with all texts of one call. (LangChain has no events for these models.)

        ``metadata`` names provider and model, as that of other models does. ``kwargs``: ``name``, and for a model behind
        HTTP ``server_address`` (a host) and ``server_port``.
        """

    def on_embeddings_end(
        self,
        usage: UsageMetadata | None,
        *,
        count: int,
        dimensions: int | None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> object:
        """An embedding model has answered with ``count`` vectors of ``dimensions`` numbers each (None: with none).

        ``usage``: the tokens of all its requests; None: the server did not say, or there is none.
        """

    def on_embeddings_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: object
    ) -> object:
        """An embedding model has failed, or was cancelled."""

    # -- chains, tools, retrievers, agents

    def on_chain_start(
        self,
        serialized: Serialized,
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> object:
        """A chain starts."""

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """A chain has ended."""

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A chain has failed."""

    def on_chain_chunk(self, chunk: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """A chain that is streamed has made a piece of its output, and its consumer does not have it yet."""

    def on_tool_start(
        self,
        serialized: Serialized,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> object:
        """A tool starts."""

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """A tool has answered."""

    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A tool has failed."""

    def on_retriever_start(
        self,
        serialized: Serialized,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> object:
        """A retriever starts."""

    def on_retriever_end(
        self, documents: Sequence[Any], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A retriever has found ``documents``."""

    def on_retriever_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A retriever has failed."""

    def on_agent_action(self, action: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """An agent has chosen what to do."""

    def on_agent_finish(self, finish: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """An agent is done."""

    # -- anything

    def on_text(self, text: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """Free text about a run."""

    def on_retry(self, retry_state: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """An attempt failed and another will be made; ``retry_state`` is tenacity's.

        ``kwargs``: ``attempt`` (its number, from 1), ``error``, ``delay`` (seconds until the next), ``status`` (of the HTTP
        reply, or None), and for a model ``response``, an `LLMResult` of what came until it failed.
        """

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> object:
        """Something that the application says of itself (`dispatch_custom_event`)."""


class AsyncCallbackHandler(BaseCallbackHandler):
    """A handler whose methods are coroutines: awaited in the run's own event loop, in order."""

    async def on_llm_start(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_llm_new_token(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_llm_end(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_llm_error(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_first_token(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_cache_hit(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_limiter_wait(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_offload(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_downgrade(self, *args: object, **kwargs: object) -> object: ...
    async def on_embeddings_start(self, *args: Any, **kwargs: object) -> object: ...
    async def on_embeddings_end(self, *args: Any, **kwargs: object) -> object: ...
    async def on_embeddings_error(self, *args: Any, **kwargs: object) -> object: ...
    async def on_chain_start(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_chain_end(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_chain_error(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_chain_chunk(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_tool_start(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_tool_end(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_tool_error(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_retriever_start(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_retriever_end(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_retriever_error(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_agent_action(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_agent_finish(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_text(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_retry(self, *args: Any, **kwargs: Any) -> object: ...
    async def on_custom_event(self, *args: Any, **kwargs: Any) -> object: ...
