import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

ROLES = {"system": "house", "human": "guest", "ai": "host"}


class ServerBusy(Exception):
    pass


class ChatEcho(BaseChatModel):
    base_url: str
    timeout: float = 30

    def _body(self, messages: list[BaseMessage]) -> dict[str, Any]:
        return {"prompt": [{"who": ROLES[message.type], "text": message.text} for message in messages]}

    def _check(self, response: httpx.Response) -> None:
        if response.status_code == 503:
            raise ServerBusy("overloaded")
        response.raise_for_status()

    def _chunk(self, line: str) -> tuple[ChatGenerationChunk, bool]:
        data = json.loads(line)
        done = data.get("done", False)
        message = AIMessageChunk(content=data.get("piece", ""))
        if done:
            message.response_metadata = {"finish_reason": "stop"}
            tokens = data["tokens"]
            message.usage_metadata = {"input_tokens": 0, "output_tokens": tokens, "total_tokens": tokens}
        return ChatGenerationChunk(message=message), done

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        done = False
        with httpx.stream(
            "POST", f"{self.base_url}/generate", json=self._body(messages), timeout=self.timeout
        ) as response:
            self._check(response)
            for line in response.iter_lines():
                chunk, done = self._chunk(line)
                if run_manager:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        if not done:
            raise ConnectionError("the stream broke off")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        done = False
        async with (
            httpx.AsyncClient(timeout=self.timeout) as client,
            client.stream("POST", f"{self.base_url}/generate", json=self._body(messages)) as response,
        ):
            self._check(response)
            async for line in response.aiter_lines():
                chunk, done = self._chunk(line)
                if run_manager:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        if not done:
            raise ConnectionError("the stream broke off")

    def _generate(self, messages, stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    @property
    def _llm_type(self) -> str:
        return "echo"
