"""`ChatAnthropic` with a real server: llama.cpp speaks Anthropic's messages API, too."""

from typing import Any

import pytest

from hocket.messages import HumanMessage, SystemMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic
from tests.kit.amount import leave_for_night

QUESTION = [SystemMessage("You are a helpful AI assistant."), HumanMessage("What is the capital of France?")]
CITY = {"type": "string", "enum": ["Paris", "Rome"]}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": CITY}, "required": ["city"]},
    },
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The network is the same on trio, and the model slow."""
    return "asyncio"


def chat(server: Any, **options: Any) -> ChatAnthropic:
    """Return a model of the server's that answers briefly. Its ``base_url`` is without the version."""
    fields = {**server.options, "base_url": server.options["base_url"].removesuffix("/v1"), "temperature": 0}
    return ChatAnthropic(**{"api_key": "none", "max_tokens": 12, **fields, **options})


async def test_an_answer(live_server: Any) -> None:
    """Text, usage, and what is said about both; and the conversation goes on."""
    model = chat(live_server)
    reply = await model.ainvoke(QUESTION)
    again = await model.ainvoke([*QUESTION, reply, HumanMessage("And of Italy?")])

    for answer in (reply, again):
        facts, usage = answer.response_metadata, answer.usage_metadata
        assert answer.text and facts["model_provider"] == "anthropic" and facts["model_name"]
        assert facts["normalized_finish_reason"] in ("stop", "length")
        assert usage is not None and usage["input_tokens"] > 10 and 0 < usage["output_tokens"] <= 12


async def test_a_stream(live_server: Any) -> None:
    """Piece by piece, and as a whole what the pieces say."""
    async with chat(live_server).astream(QUESTION) as stream:
        chunks = [chunk async for chunk in stream]

    assert sum(bool(chunk.text) for chunk in chunks) > 2
    assert "".join(chunk.text for chunk in chunks) == stream.message.text != ""
    assert stream.message.usage_metadata is not None


@pytest.mark.parametrize("verb", ["astream", *leave_for_night("ainvoke")])
async def test_a_tool_is_called_and_answered(live_server: Any, verb: str) -> None:
    """Its arguments fit the schema, and what comes back is understood."""
    bound: Any = chat(live_server, max_tokens=60).bind_tools([WEATHER], tool_choice="any")
    question = HumanMessage("What is the weather in Paris?")
    if verb == "ainvoke":
        reply = await bound.ainvoke([question])
    else:
        async with bound.astream([question]) as stream:
            [chunk async for chunk in stream]
        reply = stream.message

    [call] = reply.tool_calls
    assert (call["name"], set(call["args"])) == ("get_weather", {"city"}) and call["id"]
    answer = await chat(live_server).ainvoke([question, reply, ToolMessage("sunny", tool_call_id=call["id"])])
    assert answer.text


async def test_tokens_are_counted(live_server: Any) -> None:
    """By the server, which counts what it has read of a question later on."""
    model = chat(live_server)
    counted = await model.aget_num_tokens_from_messages(QUESTION, exact=True)
    usage = (await model.ainvoke(QUESTION)).usage_metadata
    assert usage is not None and counted == usage["input_tokens"]
