"""The events of runs by their kinds: what a handler may hear, in the groups that LangChain has them in.

A handler is a `BaseCallbackHandler`, which has them all. The groups are for what stands beside one: a class that brings
the methods for tools to several handlers, say, and annotations that want no more than these.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hocket.messages import BaseMessage
from hocket.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

__all__ = [
    "CallbackManagerMixin",
    "ChainManagerMixin",
    "LLMManagerMixin",
    "Metadata",
    "RetrieverManagerMixin",
    "RunManagerMixin",
    "Serialized",
    "ToolManagerMixin",
]

Metadata = dict[str, Any]
"""What the application notes on a run: anything, by its own keys."""

Serialized = dict[str, Any]
"""The object that a run belongs to, as data: its class, by name, and its fields."""


class LLMManagerMixin:
    """What a handler hears of a model's run after its start."""

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
        """A model has answered. ``closed=True``: the consumer left the stream early, and this is what came until then.

        ``estimated_usage``: about how many tokens a call used that was left, by rule of thumb.
        """

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> object:
        """A run has failed or was cancelled. ``response``: an `LLMResult` of what came until then.

        ``estimated_usage``: about how many tokens it used, by rule of thumb, where its server may have worked for it.
        """


class ChainManagerMixin:
    """What a handler hears of a chain's run after its start, and of an agent's steps."""

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """A chain has ended."""

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A chain has failed."""

    def on_agent_action(self, action: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """An agent has chosen what to do."""

    def on_agent_finish(self, finish: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """An agent is done."""


class ToolManagerMixin:
    """What a handler hears of a tool's run after its start."""

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> object:
        """A tool has answered."""

    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A tool has failed."""


class RetrieverManagerMixin:
    """What a handler hears of a retriever's run after its start."""

    def on_retriever_end(
        self, documents: Sequence[Any], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A retriever has found ``documents``."""

    def on_retriever_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> object:
        """A retriever has failed."""


class CallbackManagerMixin:
    """What a handler hears of the starts of runs."""

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


class RunManagerMixin:
    """What a handler hears of a run of any kind."""

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
