"""Providers with a fault, and the exam that each has to fail, in the one test that is for it.

Run by `test_broken_providers.py`, in a suite of its own, on asyncio.
"""

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import current_token
from pydantic import PrivateAttr

from hocket._runtime.detached import spawn
from hocket.errors import AuthenticationError, ConnectionFailed, RateLimitError, StreamTruncated
from hocket.http.exchange import open_stream
from hocket.http.failures import classify_error
from hocket.http.request import HTTPReply
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.providers.openai import ChatOpenAI
from hocket.testing.conformance import RemoteChatModelConformance
from hocket.testing.server import OpenAIFormat


class Exam(RemoteChatModelConformance):
    """The exam of the class attribute ``provider``."""

    format = OpenAIFormat()
    patience = 3
    provider: type[ChatOpenAI]

    def make(self, server_url: str) -> ChatOpenAI:
        return self.provider(model="test-model", base_url=server_url, api_key=self.api_key)


class LosesAChunk(ChatOpenAI):
    """It takes a chunk that says the same as the one before for a repetition."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        last = ""
        async for chunk in super()._astream(*args, **kwargs):
            if not chunk.text or chunk.text != last:
                yield chunk
            last = chunk.text


class SwallowsCancellation(ChatOpenAI):
    """It writes its books when the answer has come, and lets nothing disturb it."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        result = await super()._agenerate(*args, **kwargs)
        with suppress(BaseException):
            await anyio.sleep(0.001)
        return result


class LeavesATask(ChatOpenAI):
    """It has something run beside the request, which it forgets if the request does not come to its end."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        beside = spawn(partial(anyio.sleep, 3600))
        result = await super()._agenerate(*args, **kwargs)
        beside.cancel()
        return result


class InventsAFinishReason(ChatOpenAI):
    """It takes the end of the body for the end of the answer, once something was said."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        text = ""
        try:
            async for chunk in super()._astream(*args, **kwargs):
                text += chunk.text
                yield chunk
        except StreamTruncated:
            if not text:
                raise
            yield ChatGenerationChunk(message=AIMessageChunk("", response_metadata={"finish_reason": "stop"}))


class LeaksAConnection(ChatOpenAI):
    """It closes its stream at the end, and only there."""

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[Any]:
        key: Any = self.api_key
        request = self._write(messages, self._merge_options(stop, kwargs), stream=True)
        headers = {**request.headers, **self._make_key_headers(key.get_secret_value())}
        stream = await open_stream(replace(request, headers=headers), self._client_settings())
        if stream.status != 200:
            said = await stream.read()
            raise classify_error(
                stream.status, stream.headers, said, provider="leaky", secrets=[key.get_secret_value()]
            )
        if "json" in stream.headers["content-type"]:
            for item in self._decode_as_stream(HTTPReply(stream.status, stream.headers, await stream.read())):
                yield item
            return
        decoder = self._decoder(stream.headers)
        with suppress(ConnectionFailed):
            async for data in stream:
                for item in decoder.feed(data):
                    yield item
        for item in decoder.close():
            yield item
        await stream.aclose()


class MixesAnswers(ChatOpenAI):
    """It keeps what it is asked in the model, which answers several at once."""

    _asked: Any = PrivateAttr(None)

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        self._asked = messages
        await anyio.sleep(0.001)
        return await super()._agenerate(self._asked, stop, **kwargs)


class CountsUsageTwice(ChatOpenAI):
    """It reports the tokens of the answer by themselves, too."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in super()._astream(*args, **kwargs):
            usage = chunk.message.usage_metadata
            if usage is not None:
                count = usage["output_tokens"]
                part: Any = {"input_tokens": 0, "output_tokens": count, "total_tokens": count}
                yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=part))
            yield chunk


class SlowDown(Exception):
    """An error of somebody's own."""


class HasErrorsOfItsOwn(ChatOpenAI):
    """It says in its own way that there were too many requests."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        try:
            return await super()._agenerate(*args, **kwargs)
        except RateLimitError as error:
            raise SlowDown("slow down") from error


class BlocksTheLoop(ChatOpenAI):
    """It counts tokens by an algorithm that was fast enough for short texts."""

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        time.sleep(len(messages[0].text) / 100_000)  # noqa: ASYNC251
        return await super()._agenerate(messages, stop, **kwargs)


class Lively:
    """A decoder to which a ping is a sign of life."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self._has_begun = False

    @property
    def done(self) -> bool:
        return self._decoder.done

    @property
    def ended(self) -> bool:
        return self._decoder.ended

    def feed(self, data: bytes) -> Iterator[ChatGenerationChunk]:
        for chunk in self._decoder.feed(data):
            self._has_begun = True
            yield chunk
        if self._has_begun and b": ping" in data:
            yield ChatGenerationChunk(message=AIMessageChunk(""))

    def close(self) -> Any:
        return self._decoder.close()


class TakesPingsForChunks(ChatOpenAI):
    """It hands out what says nothing, so that a stream that has fallen silent looks alive."""

    def _decoder(self, headers: Any) -> Any:
        return Lively(super()._decoder(headers))


class Hasty(Lively):
    """A decoder that takes what comes for whole characters."""

    def feed(self, data: bytes) -> Iterator[ChatGenerationChunk]:
        yield from self._decoder.feed(data.decode(errors="replace").encode())


class BreaksCharacters(ChatOpenAI):
    """It decodes text before it knows where the characters end."""

    def _decoder(self, headers: Any) -> Any:
        return Hasty(super()._decoder(headers))


class DropsStop(ChatOpenAI):
    """It has no stop texts, and does not say so."""

    def _request(self, messages: Any, options: Any, *, stream: bool) -> Any:
        return super()._request(messages, options.model_copy(update={"stop": None}), stream=stream)


class DropsTheSeed(ChatOpenAI):
    """An option has no effect."""

    def _request(self, messages: Any, options: Any, *, stream: bool) -> Any:
        return super()._request(messages, options.model_copy(update={"seed": None}), stream=stream)


class ShowsTheKey(ChatOpenAI):
    """It wants to help."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        try:
            return await super()._agenerate(*args, **kwargs)
        except AuthenticationError as error:
            key: Any = self.api_key
            error.message += f" (the key is {key.get_secret_value()})"
            raise


class AsksAgain(ChatOpenAI):
    """It takes a new event loop for a lost connection, and sends its request once more."""

    _loops: dict[threading.Thread, Any] = PrivateAttr(default_factory=dict)
    _astream = ChatOpenAI._astream  # else streams would be answered by the next method, in one piece

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        loop, thread = current_token().native_token, threading.current_thread()
        if self._loops.setdefault(thread, loop) is not loop:
            await super()._agenerate(*args, **kwargs)
        return await super()._agenerate(*args, **kwargs)

    def __getstate__(self) -> Any:
        self._loops.clear()
        return super().__getstate__()


# Several faults that have nothing to do with one another share an exam, to save time.


class Careless(LosesAChunk, SwallowsCancellation, DropsStop, DropsTheSeed): ...


class Inventive(InventsAFinishReason, HasErrorsOfItsOwn, BreaksCharacters): ...


class Forgetful(LeaksAConnection, MixesAnswers, ShowsTheKey): ...


class Busy(CountsUsageTwice, BlocksTheLoop, LeavesATask): ...


class Nervous(TakesPingsForChunks, AsksAgain): ...


class TestCareless(Exam):
    provider = Careless


class TestInventive(Exam):
    provider = Inventive


class TestForgetful(Exam):
    provider = Forgetful


class TestBusy(Exam):
    provider = Busy


class TestNervous(Exam):
    provider = Nervous
