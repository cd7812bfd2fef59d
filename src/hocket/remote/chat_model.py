"""A chat model behind HTTP: two hooks, once for all providers, over pure functions that each provider has of its own.

A provider says how a request is written, how a reply is read and how a stream is; it neither sends nor waits. What goes
wrong on the way is the business of `RemoteService`; retries, deadlines, caches and limits are the pipeline's.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from pydantic import Field

from hocket._pipeline.chat_call import as_chunk
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.chat_models import BaseChatModel
from hocket.messages import BaseMessage
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.remote.preview import RequestPreview
from hocket.remote.stream_decoder import StreamDecoder
from hocket.retries import RetryPolicy, RetryPolicyLike
from hocket.timeouts import HTTP_TIMEOUT, TimeoutLike

__all__ = ["RemoteChatModel"]


class RemoteChatModel(RequestPreview, BaseChatModel, ABC):
    """A chat model behind HTTP. A provider defines `_request`, `_decode` and `_decoder`, and inherits the rest.

    Args:
        timeout: by default 10 s for a connection, 300 s for the first chunk of a stream, 120 s between two chunks, and
            20 minutes for all of a call.
        retry: by default three attempts in all.
    """

    timeout: TimeoutLike | None = Field(default=HTTP_TIMEOUT, repr=False)
    retry: RetryPolicyLike | None = Field(default=RetryPolicy(), repr=False)

    @abstractmethod
    def _request(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, params: dict[str, Any], *, stream: bool
    ) -> HTTPRequest:
        """Return the request, but for its key.

        Raises:
            InvalidInput: an option that does not exist, or a value outside its limits.
            Unsupported: content that the provider has no place for.
        """

    @abstractmethod
    def _decode(self, reply: HTTPReply) -> ChatResult:
        """Return what a whole reply says.

        Raises:
            InvalidReply: it is not what the format says.
        """

    @abstractmethod
    def _decoder(self, headers: Mapping[str, str]) -> StreamDecoder[ChatGenerationChunk]:
        """Return a decoder for one stream, given the headers of its reply."""

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return await self._send(self._request(messages, stop, kwargs, stream=False), self._decode)

    def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        return self._receive(self._request(messages, stop, kwargs, stream=True), self._decoder, self._as_stream)

    def _as_stream(self, reply: HTTPReply) -> list[ChatGenerationChunk]:
        message = self._decode(reply).generations[0].message
        return [ChatGenerationChunk(message=as_chunk(message))]

    def _rendered(self, input: Any, stop: list[str] | None, params: dict[str, Any], *, stream: bool) -> HTTPRequest:
        messages = self._to_messages(input)
        sent = {name: value for name, value in params.items() if name != "unsupported"}
        stop, sent, _ = self._settle(stop, sent, params.get("unsupported"), messages)
        return self._request(messages, stop, sent, stream=stream)
