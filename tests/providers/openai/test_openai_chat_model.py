"""The model behind hocket's verbs, against a server that speaks the format and misbehaves on command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hocket.errors import (
    AuthenticationError,
    ContextLengthExceeded,
    InvalidInput,
    InvalidReply,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    ResourceNotFound,
    StreamTruncated,
    Unsupported,
)
from hocket.messages import AIMessage, HumanMessage, create_video_block
from hocket.providers.openai import ChatOpenAI
from hocket.testing import Body, Cut, OpenAIFormat, Reply, Status, Stream, serve
from hocket.testing.server import Server
from tests.kit import Recorder

KEY = "k-secret-7c1f2a9d"
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


@asynccontextmanager
async def serving(script: Any, **options: Any) -> AsyncIterator[tuple[ChatOpenAI, Server]]:
    async with serve(OpenAIFormat(), script) as server:
        async with ChatOpenAI(**{"model": "test-model", "base_url": server.url, "api_key": KEY, **options}) as model:
            yield model, server
        assert not server.problems


async def test_ainvoke() -> None:
    """One request, with the key and the model's words for it; the answer with its usage."""
    async with serving(Reply("Hello there", usage={"prompt_tokens_details": {"cached_tokens": 1}})) as (model, server):
        reply = await model.ainvoke("hi", temperature=0)

    assert isinstance(reply, AIMessage) and reply.content == "Hello there"
    assert reply.usage_metadata is not None and reply.usage_metadata["output_tokens"] == 2
    assert reply.response_metadata["finish_reason"] == "stop"
    assert reply.response_metadata["model_name"] == "test-model"
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "model": "test-model",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0,
    }


TALK = {
    "text": "Hello there",
    "reasoning": "hm",
    "tool_calls": [{"name": "weather", "args": {"city": "Rome"}, "id": "1"}],
}


async def test_astream_folds_to_what_ainvoke_returns() -> None:
    """Text, reasoning, calls, usage and facts: the same message, but for the id of the reply and of the request."""
    async with serving(lambda request: Stream(**TALK) if request.json.get("stream") else Reply(**TALK)) as (model, _):
        whole = await model.bind_tools([WEATHER]).ainvoke("hi")
        stream = model.astream("hi", tools=[WEATHER])
        chunks = [chunk async for chunk in stream]
        streamed = stream.message

    assert len(chunks) > 3
    assert streamed is not None and streamed.tool_calls == whole.tool_calls != []
    assert streamed.text == whole.text == "".join(chunk.text for chunk in chunks) == "Hello there"
    assert streamed.content_blocks == whole.content_blocks
    assert streamed.usage_metadata == whole.usage_metadata is not None
    differ = {"id", "request_id"}
    facts = [
        {name: value for name, value in one.response_metadata.items() if name not in differ}
        for one in (streamed, whole)
    ]
    assert facts[0] == facts[1]


def test_sync_faces() -> None:
    """The same answers, without an event loop."""
    with serve(OpenAIFormat(), lambda request: Reply("Hello there")) as server:
        model = ChatOpenAI(model="test-model", base_url=server.url)
        assert model.invoke("hi").content == "Hello there"
        assert "".join(chunk.text for chunk in model.stream("hi")) == "Hello there"
        assert [reply.content for reply in model.batch(["a", "b"])] == ["Hello there"] * 2
        assert "authorization" not in server.requests[0].headers
        assert not server.problems


async def test_abatch_answers_in_order() -> None:
    """Result i answers input i."""
    async with serving(lambda request: Reply(request.json["messages"][0]["content"])) as (model, _):
        replies = await model.abatch([str(number) for number in range(20)], {"max_concurrency": 5})
    assert [reply.content for reply in replies] == [str(number) for number in range(20)]


async def test_several_candidates() -> None:
    """``n`` gives as many, in order, and the usage of all once."""
    async with serving(Reply(["a", "b", "c"])) as (model, server):
        result = await model.agenerate([[HumanMessage("hi")]], n=3)
    assert [one.text for one in result.generations[0]] == ["a", "b", "c"]
    assert server.requests[0].json["n"] == 3
    assert result.llm_output is not None and result.llm_output["token_usage"]["completion_tokens"] == 3


@pytest.mark.parametrize(
    ("behaviour", "error", "retryable"),
    [
        (Status(401, f"bad key {KEY}"), AuthenticationError, False),
        (Status(429, "slow down", headers={"retry-after": "2"}), RateLimitError, True),
        (Status(429, "no", error={"code": "insufficient_quota"}), QuotaExceeded, False),
        (Status(400, "long", error={"code": "context_length_exceeded"}), ContextLengthExceeded, False),
        (Status(503, "sorry"), ProviderUnavailable, True),
        (Body("<html>what?</html>"), InvalidReply, False),
        (Body({"choices": []}), InvalidReply, False),
    ],
    ids=lambda case: getattr(case, "__name__", None),
)
@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_failures(behaviour: Any, error: type[Exception], retryable: bool, verb: str) -> None:
    """Each is one of our errors, which names provider and model and no key, whole or streamed."""
    async with serving(behaviour, retry=None) as (model, _):
        with pytest.raises(error) as caught:
            await (model.ainvoke("hi") if verb == "ainvoke" else anext(aiter(model.astream("hi"))))
    failure: Any = caught.value
    assert (failure.provider, failure.model, failure.retryable) == ("openai_compatible", "test-model", retryable)
    assert KEY not in f"{failure!r} {failure} {failure.details} {failure.__cause__}"


@pytest.mark.usefixtures("virtual_clock")
@pytest.mark.parametrize("how", ["end", "eof", "reset"])
async def test_a_cut_stream_is_truncated(how: str) -> None:
    """However the connection ends, the part that came is in the error, also when `ainvoke` folds."""
    behaviour = Stream("one two three", then=how)  # type: ignore[arg-type]
    async with serving(behaviour, streaming=True) as (model, _):
        with pytest.raises(StreamTruncated) as folded:
            await model.ainvoke("hi")
        texts: list[str] = []
        with pytest.raises(StreamTruncated) as streamed:
            async for chunk in model.astream("hi"):
                texts.append(chunk.text)
    assert folded.value.partial.text == streamed.value.partial.text == "".join(texts) == "one two three"


async def test_a_cut_reply_is_invalid() -> None:
    """Half a document is no reply, whoever says that it is all."""
    async with serving(Cut(Reply("Hello there"), at_byte=60, how="end")) as (model, _):
        with pytest.raises(InvalidReply):
            await model.ainvoke("hi")


async def test_an_error_in_a_stream() -> None:
    """It ends the stream with what the server said, and the part that had come."""
    async with serving(Stream("one two", error={"message": "out of memory", "type": "server_error"})) as (model, _):
        with pytest.raises(ProviderUnavailable, match="out of memory") as caught:
            async for _ in model.astream("hi"):
                pass
    assert caught.value.partial.text == "one two"


async def test_a_server_that_will_not_stream() -> None:
    """One JSON document in spite of what was asked is an answer, in one chunk."""
    document = {"id": "c", "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    async with serving(Body(document)) as (model, server):
        assert [chunk.text async for chunk in model.astream("hi")] == ["Hello"]
    assert server.requests[0].json["stream"] is True


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_key_may_be_asked_for(is_async: bool) -> None:
    """Once for each request, so that it may change."""
    asked: list[str] = []

    def key() -> str:
        asked.append(f"key-{len(asked)}-abcdef")
        return asked[-1]

    async def akey() -> str:
        return key()

    async with serving(lambda _: Reply("ok"), api_key=akey if is_async else key) as (model, server):
        await model.arender("hi")
        assert asked == []
        await model.ainvoke("hi")
        assert "".join([chunk.text async for chunk in model.astream("hi")]) == "ok"
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {one}" for one in asked]
    assert len(asked) == 2


async def test_nothing_is_sent_that_cannot_be_meant() -> None:
    """Bad options and content without a place are refused before the server hears of it."""
    async with serving([]) as (model, server):
        with pytest.raises(InvalidInput, match="topk"):
            await model.ainvoke("hi", topk=3)
        with pytest.raises(Unsupported, match="video"):
            await model.ainvoke([HumanMessage([dict(create_video_block(url="https://e.x/v.mp4"))])])
        with pytest.raises(InvalidInput, match="n=2"):
            async for _ in model.astream("hi", n=2):
                pass
    assert server.requests == []


async def test_arender_is_what_is_sent() -> None:
    """The same URL and body to the byte, and the same headers but for the key."""
    async with serving(Reply("ok")) as (model, server):
        rendered = await model.arender("hi", tools=[WEATHER], stop=["x"])
        await model.ainvoke("hi", tools=[WEATHER], stop=["x"])
    (request,) = server.requests
    assert rendered.content == request.body
    assert rendered.url.endswith(request.path)
    sent = {name: request.headers[name] for name in rendered.headers}
    assert sent == {**rendered.headers, "authorization": f"Bearer {KEY}"}
    assert rendered.headers["authorization"] == "Bearer **********"


async def test_handlers_hear_of_model_and_options_and_no_key() -> None:
    """What they are told of the call names the options that are set."""
    recorder = Recorder("on_chat_model_start", run_inline=False)
    async with serving(Reply("ok"), temperature=0.5) as (model, server):
        await model.ainvoke("hi", {"callbacks": [recorder]}, seed=3, extra_headers={"x-api-key": KEY})
    assert server.requests[0].headers["x-api-key"] == KEY
    (start,) = recorder.events
    assert start.details["invocation_params"] == {
        "model_name": "test-model",
        "model": "test-model",
        "temperature": 0.5,
        "seed": 3,
        "stop": None,
        "extra_headers": {"x-api-key": "**********"},
        "_type": "openai-chat",
    }
    assert start.details["metadata"]["ls_provider"] == "openai_compatible"
    assert KEY not in str(start)


async def test_the_servers_models_are_listed() -> None:
    """In the order that it has them."""
    async with serve(OpenAIFormat(models=("b", "a")), []) as server:
        assert await ChatOpenAI(model="?", base_url=server.url).alist_models() == ["b", "a"]


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_a_list_of_models_may_have_some(status: int) -> None:
    """The error says where the list was looked for, without the secrets of the address, and what to do."""
    async with serve(OpenAIFormat(models=None), Status(status)) as server:
        model = ChatOpenAI(model="?", base_url=server.url, default_query={"key": "canary-in-the-mine"})
        with pytest.raises(ResourceNotFound) as caught:
            await model.alist_models()
    assert f"no list of its models at {server.url}/models?key=**********; " in str(caught.value)
    assert str(caught.value).endswith("give model=...") and caught.value.status == status
