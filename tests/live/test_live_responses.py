"""`ChatOpenAI(use_responses_api=True)` with a real server: llama.cpp speaks the Responses API, too."""

from typing import Any

import pytest

from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.openai import ChatOpenAI
from tests.kit.amount import leave_for_night

QUESTION = [SystemMessage("You are a helpful AI assistant."), HumanMessage("What is the capital of France?")]
CITY = {"type": "string", "enum": ["Paris", "Rome"]}
OBJECT = {"type": "object", "properties": {"city": CITY}, "required": ["city"], "additionalProperties": False}
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather in a city.", "parameters": OBJECT},
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The network is the same on trio, and the model slow."""
    return "asyncio"


def chat(server: Any, **options: Any) -> ChatOpenAI:
    """Return a model of the server's that answers briefly."""
    return ChatOpenAI(**{**server.options, "temperature": 0, "max_tokens": 12, "use_responses_api": True, **options})


async def test_an_answer(live_server: Any) -> None:
    """Text, usage, and what is said about both; and the conversation goes on."""
    model = chat(live_server)
    reply = await model.ainvoke(QUESTION)
    again = await model.ainvoke([*QUESTION, reply, HumanMessage("And of Italy?")])

    for answer in (reply, again):
        facts, usage = answer.response_metadata, answer.usage_metadata
        assert isinstance(answer, AIMessage) and answer.text
        assert isinstance(answer.content, list) and answer.content[0]["type"] == "message"  # type: ignore[index]
        assert (facts["model_name"], facts["normalized_finish_reason"]) == ("smollm2", "stop")
        assert usage is not None and usage["input_tokens"] > 10 and 0 < usage["output_tokens"] <= 12


async def test_a_stream(live_server: Any) -> None:
    """Piece by piece, and as a whole what a whole answer is."""
    async with chat(live_server).astream(QUESTION) as stream:
        chunks = [chunk async for chunk in stream]

    assert sum(bool(chunk.text) for chunk in chunks) > 2
    assert "".join(chunk.text for chunk in chunks) == stream.message.text != ""
    assert stream.message.usage_metadata is not None
    [item] = stream.message.content
    assert isinstance(item, dict) and (item["type"], item["status"]) == ("message", "completed")


@pytest.mark.parametrize("verb", ["astream", *leave_for_night("ainvoke")])
async def test_a_tool_is_called_and_answered(live_server: Any, verb: str) -> None:
    """Its arguments fit the schema, and what comes back is understood."""
    model = chat(live_server, max_tokens=60)
    bound = model.bind_tools([WEATHER], tool_choice="required")
    question = HumanMessage("What is the weather in Paris?")
    if verb == "ainvoke":
        reply = await bound.ainvoke([question])
    else:
        async with bound.astream([question]) as stream:
            [chunk async for chunk in stream]
        reply = stream.message

    [call] = reply.tool_calls
    assert (call["name"], call["args"].keys()) == ("get_weather", {"city"}) and call["id"]
    answer = await chat(live_server).ainvoke([question, reply, ToolMessage("sunny", tool_call_id=call["id"])])
    assert answer.text


async def test_an_answer_in_a_form(live_server: Any) -> None:
    """It fits the schema of the tool that is called for it: with this API the server does not heed ``text.format``."""
    model = chat(live_server, max_tokens=60).with_structured_output(OBJECT, method="function_calling")
    answer: Any = await model.ainvoke("Name a city.")
    assert answer["city"] in CITY["enum"]
