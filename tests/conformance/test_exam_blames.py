"""The exam tells a fault of its own server, or of the format that it was given, from one of the model."""

from typing import Any

import pytest
from pydantic_core import to_json

from hocket.http.request import json_request
from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIFormat, Reply, Stream
from hocket.testing.conformance import RemoteChatModelConformance
from hocket.testing.server import Format, ReceivedRequest, ReplyContent, ReplyEvents, WholeReply, cut_text, write_event


class ChatFlow(ChatOpenAI):
    """A provider whose requests ask for a stream by a field of their own."""

    def _request(self, *args: Any, stream: bool, **options: Any) -> Any:
        request = super()._request(*args, stream=stream, **options)
        body = {**request.json, "flow": stream}
        body.pop("stream", None)
        return json_request(request.url, body)


class FlowFormat(OpenAIFormat):
    """Its format, which knows that field."""

    def wants_stream(self, request: ReceivedRequest) -> bool:
        return bool(request.json["flow"])


class Exam(RemoteChatModelConformance):
    """The exam of such a provider, with a format that does not know the field."""

    format = OpenAIFormat()

    def make(self, server_url: str) -> ChatOpenAI:
        return ChatFlow(model="m", base_url=server_url, api_key=self.api_key)


async def test_a_format_that_does_not_know_a_stream_is_blamed() -> None:
    """Not the model, though it raises what a server's 500 is; and the way out is named."""
    exam = Exam()
    with pytest.raises(AssertionError, match=r"mend OpenAIFormat.*wants_stream\(request\) says") as caught:
        async with exam.serving(Stream("Hello there")) as model:
            await model.ainvoke("Hi", retry=None)
    assert type(caught.value.__cause__).__name__ == "ProviderUnavailable"
    with pytest.raises(AssertionError, match="mend OpenAIFormat"):  # also where the model's error was expected
        async with exam.serving([]) as model:
            with pytest.raises(Exception, match="the script has 0 behaviours"):
                await model.ainvoke("Hi", retry=None)


async def test_a_format_that_knows_it_is_not() -> None:
    """Whole and streamed."""
    exam = Exam()
    exam.format = FlowFormat()
    async with exam.serving([Reply("Hello there"), Stream("Hello there")]) as model:
        assert (await model.ainvoke("Hi")).text == "Hello there"
        assert "".join([chunk.text async for chunk in model.astream("Hi")]) == "Hello there"


async def test_a_failure_of_the_model_comes_out_as_it_is() -> None:
    """Where the server had no problem."""
    with pytest.raises(ZeroDivisionError):
        async with Exam().serving("Hello there"):
            _ = 1 / 0


class Plain(Format):
    """As little as a format has to say."""

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        return WholeReply({"text": reply.text})

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        return ReplyEvents([write_event(piece) for piece in cut_text(str(reply.text), reply.pieces)], b"")


def test_the_defaults_of_a_format() -> None:
    """Errors in the shape that hocket reads from any server, and no embeddings, no list of models."""
    plain = Plain()
    request = ReceivedRequest("POST", "/talk", "", {}, to_json({"stream": True}))
    assert plain.wants_stream(request) and not plain.wants_stream(ReceivedRequest("GET", "/", "", {}, b""))
    assert plain.unscripted(request) is None
    assert plain.error(429, "slow", {"type": "x"}) == {"error": {"message": "slow", "code": 429, "type": "x"}}
    assert plain.error_event("", {}) == b'data: {"error":{"message":"The server had an error.","code":500}}\n\n'
    assert plain.stream(request, ReplyContent("one two")).rounds == [b'data: "one"\n\n', b'data: " two"\n\n']
    assert write_event(1, "delta") == b"event: delta\ndata: 1\n\n"
