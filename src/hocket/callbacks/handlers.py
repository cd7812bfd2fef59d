"""What a user writes to watch runs: a class with a method for each event that it cares about.

Names and arguments are LangChain's, so that a handler written for it works after a change of import. Every method does
nothing by default, and hocket never calls one that a handler has not overridden: a handler of one event costs nothing at
the others, where LangChain sends each to a thread. Handlers are given copies; they cannot change what the caller sees.
"""

import warnings
from typing import Any
from uuid import UUID

from hocket.callbacks.handler_mixins import (
    CallbackManagerMixin,
    ChainManagerMixin,
    LLMManagerMixin,
    Metadata,
    RetrieverManagerMixin,
    RunManagerMixin,
    Serialized,
    ToolManagerMixin,
)
from hocket.errors.hints import near_name
from hocket.messages import UsageMetadata

__all__ = ["AsyncCallbackHandler", "BaseCallbackHandler"]


class BaseCallbackHandler(
    LLMManagerMixin,
    ChainManagerMixin,
    ToolManagerMixin,
    RetrieverManagerMixin,
    CallbackManagerMixin,
    RunManagerMixin,
):
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

    # -- what LangChain has no events for: models, embeddings, chains that are streamed

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
        """``count`` blocks of these types are left out of what ``provider`` is told.

        They are from replies of other providers: reasoning, and what ran on their servers. Or they are parts of tools'
        results that ``provider`` cannot take; a text stands for each. It is told once a request, before that is sent.
        """

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

    def on_chain_chunk(self, chunk: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """A chain that is streamed has made a piece of its output, and its consumer does not have it yet."""


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
