"""Conversations that began elsewhere or were stored go on, and answers are held to a schema."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from hocket import AIMessage, ChatOllama, HumanMessage, ToolMessage, dumps, loads
from hocket.errors import InvalidInput, Unsupported
from hocket.messages.tool_calls import invalid_tool_call, tool_call
from hocket.testing import OllamaFormat, Reply, serve

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CALL = tool_call(name="f", args={"a": 1}, id="call_1")
SENT_CALL = {"id": "call_1", "function": {"name": "f", "arguments": {"a": 1}}}
OWN = {"model_provider": "ollama"}


def reply_as_sent(reply: AIMessage) -> Any:
    """Return what is sent of a reply, answered where it calls."""
    results = [ToolMessage("1", tool_call_id="call_1")] if CALL in reply.tool_calls or "call_1" in str(reply) else []
    messages = [HumanMessage("hi"), reply, *results, HumanMessage("and?")]
    return ChatOllama(model="m").render(messages).json["messages"][1]


REPLIES: list[tuple[str, AIMessage, dict[str, Any]]] = [
    (
        "its own",
        AIMessage("x", additional_kwargs={"thinking": "why"}, response_metadata=OWN),
        {"content": "x", "thinking": "why"},
    ),
    (
        "langchain-ollama's",
        AIMessage("x", additional_kwargs={"reasoning_content": "why"}, response_metadata=OWN),
        {"content": "x", "thinking": "why"},
    ),
    (
        "langchain-ollama's in standard blocks",
        AIMessage(
            [{"type": "reasoning", "reasoning": "why"}, {"type": "text", "text": "x"}, {**CALL}],
            response_metadata=OWN,
        ),
        {"content": "x", "thinking": "why", "tool_calls": [SENT_CALL]},
    ),
    (
        "its own with a picture",
        AIMessage("", additional_kwargs={"images": [PIXEL]}, response_metadata=OWN),
        {"images": [PIXEL]},
    ),
    ("nobody's", AIMessage("", tool_calls=[CALL]), {"tool_calls": [SENT_CALL]}),
    (
        "with a call that could not be read",
        AIMessage("", invalid_tool_calls=[invalid_tool_call(name="f", args="{", id="call_1", error="?")]),
        {"tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": {"INVALID_JSON": "{"}}}]},
    ),
    (
        "Anthropic's",
        AIMessage(
            [
                {"type": "thinking", "thinking": "why", "signature": "s"},
                {"type": "text", "text": "x"},
                {"type": "tool_use", "id": "call_1", "name": "f", "input": {"a": 1}},
            ],
            response_metadata={"model_provider": "anthropic"},
        ),
        {"content": "x", "tool_calls": [SENT_CALL]},
    ),
    (
        "Gemini's",
        AIMessage(
            [
                {"text": "x", "thoughtSignature": "s"},
                {"functionCall": {"id": "call_1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "s"},
            ],
            tool_calls=[CALL],
            response_metadata={"model_provider": "google"},
        ),
        {"content": "x", "tool_calls": [SENT_CALL]},
    ),
    (
        "DeepSeek's",
        AIMessage(
            "x", additional_kwargs={"reasoning_content": "why"}, response_metadata={"model_provider": "deepseek"}
        ),
        {"content": "x"},
    ),
]


@pytest.mark.parametrize(("whose", "reply", "sent"), REPLIES, ids=[whose for whose, _, _ in REPLIES])
def test_a_reply_goes_on(whose: str, reply: AIMessage, sent: dict[str, Any]) -> None:
    """What Ollama can use of it, as it was stored: its own reasoning, never another's."""
    assert reply_as_sent(loads(dumps(reply))) == {"role": "assistant", **sent}


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_an_answer_goes_back_as_it_came(verb: str) -> None:
    """Stored and read again, whole or streamed: text, reasoning and calls with their ids."""
    script = [Reply("Let me see.", reasoning="Hm, hm.", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "call_1"}])]
    async with serve(OllamaFormat(), script) as server:
        model = ChatOllama(model="m", base_url=server.url)
        if verb == "ainvoke":
            answer = await model.ainvoke("hi")
        else:
            async with model.astream("hi") as stream:
                async for _ in stream:
                    pass
            answer = stream.message
    sent = {"role": "assistant", "content": "Let me see.", "thinking": "Hm, hm.", "tool_calls": [SENT_CALL]}
    assert reply_as_sent(loads(dumps(answer))) == sent


class City(BaseModel):
    """A city."""

    name: str
    mayor: str | None = None


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_an_answer_is_held_to_a_schema(verb: str) -> None:
    """By the server, which is given the schema itself: what is optional stays so."""
    async with serve(OllamaFormat(), Reply('{"name": "Oslo"}')) as server:
        structured = ChatOllama(model="m", base_url=server.url).with_structured_output(City)
        if verb == "ainvoke":
            answer: Any = await structured.ainvoke("hi")
        else:
            answer = [item async for item in structured.astream("hi")][-1]
    assert answer == City(name="Oslo")
    form = server.requests[0].json["format"]
    assert form["required"] == ["name"]
    assert json.dumps(form) and set(form["properties"]) == {"name", "mayor"}


async def test_json_of_any_kind_can_be_asked_for() -> None:
    """In Ollama's word."""
    async with serve(OllamaFormat(), Reply('{"name": "Oslo"}')) as server:
        model = ChatOllama(model="m", base_url=server.url).with_structured_output(City, method="json_mode")
        assert await model.ainvoke("hi") == City(name="Oslo")
    assert server.requests[0].json["format"] == "json"


def test_a_schema_is_no_tool() -> None:
    """A call cannot be demanded, so that the method is none here; the others are named."""
    with pytest.raises(InvalidInput, match=r"json_schema.*json_mode"):
        ChatOllama(model="m").with_structured_output(City, method="function_calling")


def test_what_another_model_drew_goes_on_as_data_and_what_it_spoke_does_not() -> None:
    """A picture has a place in any message; a recording has none, and is refused by name."""
    picture: Any = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    recording: Any = {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}
    facts = {"model_provider": "openai"}
    assert reply_as_sent(AIMessage([picture], response_metadata=facts)) == {"role": "assistant", "images": [PIXEL]}
    with pytest.raises(Unsupported, match="audio"):
        reply_as_sent(AIMessage([recording], response_metadata=facts))
