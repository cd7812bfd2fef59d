"""Chat models that answer with a text, and folding a stream by hand."""

from abc import ABC
from collections.abc import AsyncIterator, Iterable
from typing import Any

from hocket._runtime.runtime import ASYNC
from hocket.errors import EmptyResponse
from hocket.language_models.chat_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, Collector
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.pipeline.hook import Hooks, default_hook, defines, takes_run_manager

__all__ = ["SimpleChatModel", "agenerate_from_stream", "generate_from_stream"]


class SimpleChatModel(BaseChatModel, ABC):
    """A chat model that answers with a text: define `_acall` (async) or `_call` (sync)."""

    @default_hook
    async def _acall(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer. By default `_call`, in a worker thread."""
        return await ASYNC.sync(self._call, messages, stop, **kwargs)

    @default_hook
    def _call(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer, in sync code."""
        raise NotImplementedError

    @default_hook
    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if takes_run_manager(type(self), "_acall"):
            kwargs["run_manager"] = run_manager
        return _answer(await self._acall(messages, stop=stop, **kwargs))

    @default_hook
    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if takes_run_manager(type(self), "_call"):
            kwargs["run_manager"] = run_manager
        return _answer(self._call(messages, stop=stop, **kwargs))

    @classmethod
    def _find_hooks(cls) -> Hooks:
        hooks = Hooks.of(cls)
        return hooks._replace(
            agenerate=hooks.agenerate or defines(cls, "_acall"), generate=hooks.generate or defines(cls, "_call")
        )


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
