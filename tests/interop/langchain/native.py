"""A chat model of LangChain's own, by script: what a package of a provider's is."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


class Native(BaseChatModel):
    """Answers the turns of a script, one a call: a text, a message, an error."""

    script: list[Any]
    temperature: float = 0
    model_name: str = "native-1"
    asked: list[dict[str, Any]] = Field(default_factory=list, exclude=True)
    closed: list[str] = Field(default_factory=list, exclude=True)
    pause: float = 0

    @property
    def _llm_type(self) -> str:
        return "native"

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Runnable[Any, Any]:
        chosen = {} if tool_choice is None else {"tool_choice": tool_choice}
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **chosen, **kwargs)

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.asked.append({"messages": messages, **options})
        turn = self.script[len(self.asked) - 1]
        if isinstance(turn, Exception):
            raise turn
        if isinstance(turn, AIMessage):
            return turn
        return AIMessage(
            turn, usage_metadata=USAGE, response_metadata={"model_name": "native-1", "finish_reason": "stop"}
        )

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, {"stop": stop, **kwargs}))])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self._generate(messages, stop, run_manager, **kwargs)

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        whole = self._next(messages, {"stop": stop, **kwargs})
        for word in whole.text.split():
            yield ChatGenerationChunk(message=AIMessageChunk(word + " "))
        for index, call in enumerate(whole.tool_calls):
            piece = {"name": call["name"], "args": "{", "id": call["id"], "index": index, "type": "tool_call_chunk"}
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))
            rest = str(call["args"]).replace("'", '"')[1:]
            piece = {"name": None, "args": rest, "id": None, "index": index, "type": "tool_call_chunk"}
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))
        yield ChatGenerationChunk(
            message=AIMessageChunk("", usage_metadata=USAGE, response_metadata={"finish_reason": "stop"})
        )

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        try:
            for chunk in self._stream(messages, stop, run_manager, **kwargs):
                await asyncio.sleep(self.pause)
                yield chunk
        finally:
            self.closed.append("closed")
