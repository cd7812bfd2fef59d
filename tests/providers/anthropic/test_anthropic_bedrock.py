"""Anthropic's API on Bedrock: what differs from `ChatAnthropic` on the wire, and what does not."""

import base64
import copy
import pickle
from typing import Any

import pytest
from pydantic_core import to_json

from hocket.clouds import AWSCredentials
from hocket.errors import InvalidReply, LLMError, ProviderUnavailable, RateLimitError, StreamTruncated
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.simple import generate_from_stream
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic, ChatAnthropicBedrock
from hocket.testing import Body, Reply, Status, Vectors, serve
from hocket.testing.server import write_frame
from tests.kit.anthropic_bedrock import AnthropicBedrockFormat, frame_events

NAME = "eu.anthropic.claude-sonnet-4-5-v1:0"
TOOL = {"name": "now", "description": "d", "input_schema": {"type": "object", "properties": {}}}
ASKED = [SystemMessage("be brief"), HumanMessage("Hi")]


def make(**fields: Any) -> ChatAnthropicBedrock:
    return ChatAnthropicBedrock(**{"model": NAME, "region_name": "eu-west-1", "api_key": "k", **fields})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.5, "stop": ["x"], "max_tokens": 7},
        {"reasoning_effort": "high", "max_tokens": 9000},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "tools": [TOOL], "tool_choice": "auto"},
        {"prompt_cache": True, "extra_body": {"top_k": 3}},
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_body_is_that_of_anthropics_own_api_but_for_model_stream_and_version(
    options: dict[str, Any], stream: bool
) -> None:
    """The model is in the path, how to answer is its verb, and the version of the API is Bedrock's."""
    own = ChatAnthropic(model=NAME, api_key="k").render(ASKED, stream=stream, **options)
    there = make().render(ASKED, stream=stream, **options)
    verb = "invoke-with-response-stream" if stream else "invoke"
    address = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-v1%3A0"
    assert there.url == f"{address}/{verb}"
    said = {name: value for name, value in own.json.items() if name not in ("model", "stream")}
    assert there.json == {"anthropic_version": "bedrock-2023-05-31", **said}
    assert "anthropic-version" not in there.headers and own.json.get("stream", False) is stream


def test_betas_and_the_version_are_in_the_body() -> None:
    """Those of the model, of the call and of the headers, in one order."""
    model = make(betas=["c"], default_headers={"anthropic-beta": "a"}, anthropic_version="next")
    body = model.render("Hi", betas=["b"]).json
    assert body["anthropic_beta"] == ["a", "b", "c"] and body["anthropic_version"] == "next"
    assert "anthropic_beta" not in make().render("Hi").json


async def test_a_conversation_goes_on_with_it_and_back() -> None:
    """Reasoning with its signature, calls and results go back as they came, whoever of both said them."""
    calls: Any = [{"name": "now", "args": {}, "id": "t1"}]
    script = [Reply("Well.", reasoning="Hm.", tool_calls=calls)] * 2
    async with serve(AnthropicBedrockFormat(), script) as server:
        model = make(base_url=server.url, credentials=AWSCredentials("AKIA", "s", "t"), api_key=None)
        whole = await model.ainvoke(ASKED, tools=[TOOL])
        async with model.astream(ASKED, tools=[TOOL]) as stream:
            pieces = [chunk async for chunk in stream]
        assert await model.aget_num_tokens_from_messages(ASKED, [TOOL], exact=True) == 3
        assert model._batch_api(HTTPRequest("POST", server.url, {})) is None and model._relay_format is None
    assert isinstance(whole, AIMessage) and len(pieces) > 3
    assert whole.tool_calls == stream.message.tool_calls == [{**calls[0], "type": "tool_call"}]
    assert whole.response_metadata["model_provider"] == "anthropic" and whole.response_metadata["model_name"] == NAME
    assert whole.usage_metadata == stream.message.usage_metadata
    history = [*ASKED, whole, ToolMessage("noon", tool_call_id="t1")]
    for other in (ChatAnthropic(model=NAME, api_key="k"), make()):
        turn = other.render(history, tools=[TOOL]).json["messages"][1]["content"]
        assert [block["type"] for block in turn] == ["thinking", "text", "tool_use"] and turn[0]["signature"]
    assert server.requests[0].headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIA/")


def read(*frames: bytes) -> AIMessage:
    decoder = make()._decoder({})
    body = b"".join(frames)
    chunks = [chunk for at in range(0, len(body), 7) for chunk in decoder.feed(body[at : at + 7])]
    message = generate_from_stream([*chunks, *decoder.close()]).generations[0].message
    assert isinstance(message, AIMessage)
    return message


def chunk(**event: Any) -> bytes:
    return frame_events(b"data: " + to_json(event))


START = chunk(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
TEXT = chunk(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"})
END = chunk(type="message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1})


@pytest.mark.parametrize(
    ("frame", "error", "told"),
    [
        (write_frame({"message": "slow down"}, "throttlingException", "exception"), RateLimitError, "slow down"),
        (write_frame({"message": "oh"}, "modelStreamErrorException", "exception"), ProviderUnavailable, "oh"),
        (chunk(type="error", error={"type": "overloaded_error", "message": "busy"}), ProviderUnavailable, "busy"),
        (write_frame({"bytes": "no base64!"}, "chunk"), InvalidReply, "no event in base64"),
        (write_frame({"other": 1}, "chunk"), InvalidReply, "no event in base64"),
        (write_frame([1], "chunk"), InvalidReply, "no event in base64"),
        (write_frame(b"{", "chunk"), InvalidReply, "no event in base64"),
        (write_frame({"bytes": base64.b64encode(b"{").decode()}, "chunk"), InvalidReply, "is not JSON"),
        (b"", StreamTruncated, "not whole"),
    ],
)
def test_a_stream_that_fails_ends_in_an_error(frame: bytes, error: type[LLMError], told: str) -> None:
    """AWS's exceptions, Anthropic's errors within a chunk, chunks that hold no event, and a cut."""
    assert read(START, TEXT, write_frame({}, "somethingNew"), END).text == "Hi"
    with pytest.raises(error, match=told):
        read(START, TEXT, frame)


async def test_its_models_are_listed_by_the_service_beside_it() -> None:
    """Those of Anthropic's alone."""
    listed = {"modelSummaries": [{"modelId": "anthropic.a"}, {"modelId": "anthropic.b"}]}
    async with serve(AnthropicBedrockFormat(), [Body(listed), Status(404), Vectors()]) as server:
        assert await make(base_url=server.url).alist_models() == ["anthropic.a", "anthropic.b"]
    assert (server.requests[0].path, server.requests[0].query) == ("/foundation-models", "byProvider=anthropic")


def test_it_is_copied_and_pickled_with_all_that_it_needs() -> None:
    """As every model is; what reads its replies is not part of it."""
    model = make(betas=["a"], api_key=None, credentials=AWSCredentials("AKIA", "s"))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other == model and other.credentials == model.credentials
    reply = HTTPReply(200, {}, to_json({"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}))
    assert model._decode(reply).generations[0].message.text == "Hi"
