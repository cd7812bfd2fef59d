"""A text model behind HTTP: two hooks, once for all providers, over pure functions that each provider has of its own.

As `RemoteChatModel`, but for one thing: a request of a text model may hold many prompts.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.call_parts import NOT_SENT
from hocket.language_models.llms import BaseLLM
from hocket.language_models.options import merge_options
from hocket.messages.usage import add_counts
from hocket.outputs import GenerationChunk, LLMResult
from hocket.remote.hooks import check_returned
from hocket.remote.model import RemoteModel
from hocket.remote.stream_decoder import StreamDecoder
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch

__all__ = ["RemoteLLM"]


class RemoteLLM(RemoteModel, BaseLLM, ABC):
    """A text model behind HTTP. A provider defines `_request`, `_decode` and `_decoder`, and inherits the rest.

    `RemoteModel` and `RemoteService` tell further arguments.

    Args:
        batch_size: prompts in one request, at most; 1 for servers that take one. Further requests are made at once.
    """

    batch_size: int = Field(default=20, ge=1)

    _unkeyed = RemoteModel._unkeyed | {"batch_size"}

    @abstractmethod
    def _request(self, prompts: Sequence[str], options: Any, *, stream: bool) -> HTTPRequest:
        """Return the request, but for its key and the headers of the call.

        Args:
            prompts: one, or several for a request in one piece.
            options: of this call, checked, the model's own among them: an instance of ``_options``.
            stream: whether the answer is to come in pieces.

        Raises:
            InvalidInput: options that contradict each other.
            Unsupported: an option that the server has no word for.
        """

    @abstractmethod
    def _decode(self, reply: HTTPReply, count: int) -> LLMResult:
        """Return what a whole reply to ``count`` prompts says.

        Raises:
            LLMError: the reply says that the request has failed. Whatever else is raised becomes an `InvalidReply`.
        """

    @abstractmethod
    def _decoder(self, headers: Mapping[str, str]) -> StreamDecoder[GenerationChunk]:
        """Return a decoder for one stream, given the headers of its reply."""

    async def _agenerate(
        self, prompts: list[str], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> LLMResult:
        size = self.batch_size
        batches = [prompts[start : start + size] for start in range(0, len(prompts), size)]
        requests = [(self._write(batch, stop, kwargs, stream=False), len(batch)) for batch in batches]
        if len(requests) == 1:
            return await self._ask(requests[0])
        return _join(await Batch(self._ask, requests, None, return_exceptions=False).collect())

    async def _ask(self, request: tuple[HTTPRequest, int], config: RunnableConfig | None = None) -> LLMResult:
        return await self._sender.send(request[0], functools.partial(self._decode, count=request[1]))

    def _astream(
        self, prompt: str, stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[GenerationChunk, None]:
        request = self._write([prompt], stop, kwargs, stream=True)
        return self._sender.receive(request, self._decoder, self._decode_as_stream)

    def _write(
        self, prompts: Sequence[str], stop: list[str] | None, params: Mapping[str, Any], *, stream: bool
    ) -> HTTPRequest:
        """Return the request of one call, or of a part of its prompts."""
        options: Any = merge_options(self, params if stop is None else {**params, "stop": stop}, self._call_options)
        request = self._request(prompts, options, stream=stream)
        return self._add_extras(check_returned(self._request, request, HTTPRequest), options)

    def _decode_as_stream(self, reply: HTTPReply) -> list[GenerationChunk]:
        result = self._decode(reply, 1)
        answer = result.generations[0][0]
        info = {**(answer.generation_info or {}), **(result.llm_output or {})}
        return [GenerationChunk(text=answer.text, generation_info=info or None)]

    def _preview(self, input: Any, stop: list[str] | None, params: dict[str, Any], *, stream: bool) -> HTTPRequest:
        sent = {name: value for name, value in params.items() if name not in NOT_SENT}
        stop, sent, _ = self._apply_option_policy(stop, sent, params.get("unsupported"))
        return self._write([self._convert_input(input).to_string()], stop, sent, stream=stream)


def _join(results: list[LLMResult]) -> LLMResult:
    """Return the answers of several requests as one result; token usage is summed, of other facts the last counts."""
    output: dict[str, Any] = {}
    for result in results:
        output = {**output, **(result.llm_output or {})}
    usages = [usage for result in results if (usage := (result.llm_output or {}).get("token_usage"))]
    if usages:
        output["token_usage"] = functools.reduce(add_counts, usages)
    return LLMResult(generations=[one for result in results for one in result.generations], llm_output=output)
