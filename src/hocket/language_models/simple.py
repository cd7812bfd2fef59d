"""Chat models that answer with a text, and folding a stream by hand."""

from abc import ABC
from collections.abc import AsyncIterator, Iterable
from typing import Any, ClassVar

from hocket._pipeline.hooks import Hooks, default_hook
from hocket._runtime.mode import ASYNC
from hocket.errors import EmptyResponse
from hocket.language_models.call_hooks import CALL_HOOKS, add_run_manager, check_text, find_hooks
from hocket.language_models.chat_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, Collector
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

__all__ = ["SimpleChatModel", "agenerate_from_stream", "generate_from_stream"]


class SimpleChatModel(BaseChatModel, ABC):
    """A chat model that answers with a text: define `_acall` (async) or `_call` (sync)."""

    _hook_names: ClassVar[str] = CALL_HOOKS

    @default_hook
    async def _acall(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer. By default `_call`, in a worker thread."""
        return await ASYNC.call_sync(self._call, messages, stop, **kwargs)

    @default_hook
    def _call(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer, in sync code."""
        raise NotImplementedError

    @default_hook
    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: object = None, **kwargs: Any
    ) -> ChatResult:
        arguments = add_run_manager(self, "_acall", run_manager, kwargs)
        return _answer(check_text(self, "_acall", await self._acall(messages, stop=stop, **arguments)))

    @default_hook
    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: object = None, **kwargs: Any
    ) -> ChatResult:
        arguments = add_run_manager(self, "_call", run_manager, kwargs)
        return _answer(check_text(self, "_call", self._call(messages, stop=stop, **arguments)))

    @classmethod
    def _find_hooks(cls) -> Hooks:
        return find_hooks(cls)


def _answer(text: str) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


async def agenerate_from_stream(stream: AsyncIterator[ChatGenerationChunk]) -> ChatResult:
    """Fold a stream into the result that it makes.

    Raises:
        EmptyResponse: there was no chunk.
    """
    return generate_from_stream([chunk async for chunk in stream])


def generate_from_stream(stream: Iterable[ChatGenerationChunk]) -> ChatResult:
    """Fold a stream into the result that it makes: the sync form of `agenerate_from_stream`."""
    collector, info = Collector(), dict[str, Any]()
    for chunk in stream:
        if isinstance(chunk.message, AIMessageChunk):
            collector.add(chunk.message)
        info.update(chunk.generation_info or {})
    if not collector:
        raise EmptyResponse("No generations found in stream.")
    return ChatResult(generations=[ChatGeneration(message=collector.message(), generation_info=info or None)])
