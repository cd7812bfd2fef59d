"""`ChatAnthropic` against a server that speaks its format: what is special about this API."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from hocket import init_chat_model
from hocket.errors import AuthenticationError, InvalidInput, LLMError, Overloaded, Unsupported
from hocket.load import dumps, loads
from hocket.messages import HumanMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.testing import AnthropicFormat, Body, Events, Reply, serve
from tests.kit.recordings import load_recordings


class Weather(BaseModel):
    """The weather."""

    celsius: int


def chat(server: Any, **fields: Any) -> ChatAnthropic:
    return ChatAnthropic(**{"model": "claude-opus-5", "base_url": server.url, "api_key": "k", **fields})


@pytest.mark.parametrize(("tokens", "streamed"), [(21_333, False), (21_334, True), (None, True)])
async def test_long_answers_are_streamed_inside(tokens: int | None, streamed: bool) -> None:
    """Above 21,333 tokens, as the profile of a newer model says by default; the caller sees one answer all the same."""
    async with serve(AnthropicFormat(), [Reply("a long story", reasoning="hm")]) as server:
        message = await chat(server, max_tokens=tokens).ainvoke("tell")
        assert bool(server.requests[0].json.get("stream")) is streamed
    assert message.text == "a long story"
    assert message.usage_metadata is not None and message.usage_metadata["output_tokens"] == 4


async def test_streaming_may_be_forbidden() -> None:
    """A server that cannot stream gets one request in one piece, however long the answer may be."""
    async with serve(AnthropicFormat(), ["short"]) as server:
        await chat(server, disable_streaming=True).ainvoke("tell")
        assert "stream" not in server.requests[0].json


async def test_a_paused_turn_goes_on() -> None:
    """The server pauses while its own tools work; its message, sent back, comes out as it came in."""
    paused = load_recordings("anthropic")["anthropic/server_tools_citations_redacted"]["response"]["body"]
    async with serve(AnthropicFormat(), [Body(paused), "done"]) as server:
        model = chat(server, max_tokens=64)
        message = await model.ainvoke("search")
        assert message.response_metadata["normalized_finish_reason"] == "paused"
        assert (await model.ainvoke([HumanMessage("search"), message])).text == "done"
        sent = server.requests[1].json["messages"][1]["content"]
    assert [block["type"] for block in sent] == [block["type"] for block in paused["content"]]
    assert sent[0] == paused["content"][0] and sent[2]["content"][0]["encrypted_content"] == "Eq"


@pytest.mark.parametrize(
    ("name", "fields"),
    [("claude-opus-5", {"output_config"}), ("claude-3-haiku", {"tools", "tool_choice"})],
)
async def test_objects_are_asked_for_in_the_models_best_way(name: str, fields: set[str]) -> None:
    """A schema where the model is held to one; a tool that must be called where it is not."""
    answer = {"celsius": 21}
    said = (
        Reply(json.dumps(answer))
        if "output_config" in fields
        else Reply(tool_calls=[{"name": "Weather", "args": answer}])
    )
    async with serve(AnthropicFormat(), [said]) as server:
        model = chat(server, model=name, max_tokens=64).with_structured_output(Weather)
        assert await model.ainvoke("weather?") == Weather(celsius=21)
        sent = server.requests[0].json
    assert fields <= sent.keys()
    if "output_config" in fields:
        schema = sent["output_config"]["format"]["schema"]
        assert schema["additionalProperties"] is False and schema["required"] == ["celsius"]


def test_plain_json_cannot_be_asked_for() -> None:
    """The API has no word for it; a schema says it better."""
    model = ChatAnthropic(model="claude-opus-5", api_key="k")
    with pytest.raises(Unsupported, match="with_structured_output"):
        model.render("hi", response_format={"type": "json_object"})
    with pytest.raises(InvalidInput, match="json_mode"):
        model.with_structured_output(Weather, method="json_mode")


async def test_an_error_within_a_stream_is_of_its_kind() -> None:
    """The official SDK raises it as an error of status 200; the body's word says what it is."""
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    start = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so"}}
    async with serve(AnthropicFormat(), [Events([start, overloaded])]) as server:
        with pytest.raises(Overloaded) as caught:
            async for _ in chat(server).astream("hi"):
                pass
    assert caught.value.partial is not None and caught.value.partial.text == "so"


async def test_what_the_server_offers_and_counts() -> None:
    """Its models by name, and the tokens of a conversation, with tools, as it counts them."""
    async with serve(AnthropicFormat(models=["a", "b"]), []) as server:
        model = chat(server)
        assert await model.alist_models() == ["a", "b"]
        tools = [{"name": "f", "description": "d", "parameters": {}}]
        assert await model.aget_num_tokens_from_messages([HumanMessage("one two three")], tools, exact=True) == 3
        [_, counted] = server.requests
    assert counted.path == "/v1/messages/count_tokens"
    assert counted.json["tools"] == [
        {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}
    ]
    assert await model.aget_num_tokens_from_messages([HumanMessage("one two three")]) > 0


def test_the_key_is_found_and_kept_to_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment to Anthropic's hosts alone; without one, the error names the variables."""
    with pytest.raises(AuthenticationError, match="ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"):
        ChatAnthropic(model="m")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    assert "x-api-key" in ChatAnthropic(model="m").render("hi").headers
    with pytest.raises(AuthenticationError, match="is not known to belong to anthropic"):
        ChatAnthropic(model="m", base_url="https://elsewhere.example")


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"anthropic_api_url": "https://gateway.example"}, "base_url", "https://gateway.example"),
        ({"max_tokens_to_sample": 7}, "max_tokens", 7),
        ({"stop_sequences": ["x"]}, "stop", ["x"]),
        ({"default_request_timeout": 3}, "timeout", 3),
    ],
)
def test_other_libraries_names_are_understood(given: dict[str, Any], field: str, value: Any) -> None:
    model = ChatAnthropic(**{"model": "m", "anthropic_api_key": "k", **given})
    found: Any = getattr(model, field)
    assert (found.total if field == "timeout" else found) == value


def test_a_model_travels_as_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key as a reference to the variable."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    model = init_chat_model("anthropic:claude-opus-5", thinking={"type": "adaptive"}, betas=["b"])
    assert isinstance(model, ChatAnthropic)
    text = dumps(model)
    assert "sk-ant-1" not in text and "ANTHROPIC_API_KEY" in text
    restored: Any = loads(text, secrets_map={"ANTHROPIC_API_KEY": "sk-ant-1"})
    assert (restored.thinking, restored.betas, restored.model) == ({"type": "adaptive"}, ["b"], "claude-opus-5")


async def test_a_page_instead_of_a_stream_is_an_error() -> None:
    async with serve(AnthropicFormat(), [Body("<html>busy</html>")]) as server:
        with pytest.raises(LLMError):
            await chat(server).ainvoke("hi")
