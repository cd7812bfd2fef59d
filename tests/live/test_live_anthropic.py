"""`ChatAnthropic` with a real server: llama.cpp's speaks Anthropic's messages API too, with real tokens."""

from typing import Any

import pytest

from hocket.errors import AuthenticationError, ContextLengthExceeded
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic

QUESTION = [
    SystemMessage("You are a concise English-speaking assistant who states facts plainly."),
    HumanMessage("What is the capital of France?"),
]
CITY = {"type": "string", "enum": ["Paris", "Rome"]}
WEATHER = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": CITY}, "required": ["city"]},
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The network is the same on trio, and the model slow."""
    return "asyncio"


def chat(server: Any, **options: Any) -> ChatAnthropic:
    """Return a model of the server's that answers briefly."""
    fields = {**server.options, "base_url": server.root, "temperature": 0, "max_tokens": 12}
    return ChatAnthropic(**{**fields, **options})


async def test_an_answer(live_server: Any) -> None:
    """Text, usage, and what is said about both, whole and streamed."""
    model = chat(live_server)
    reply = await model.ainvoke(QUESTION)
    assert isinstance(reply.content, str) and "Paris" in reply.content
    assert reply.usage_metadata is not None and reply.usage_metadata["input_tokens"] > 0
    assert reply.response_metadata["normalized_finish_reason"] in ("stop", "length")
    async with model.astream(QUESTION) as stream:
        pieces = [chunk.text async for chunk in stream]
    assert len(pieces) > 2 and "".join(pieces) == stream.message.text == reply.text
    assert stream.message.usage_metadata == reply.usage_metadata


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_tool_is_called_and_its_result_read(live_server: Any, verb: str) -> None:
    """A call that the server makes, and the conversation with its result, which the server takes."""
    model = chat(live_server, max_tokens=60).bind_tools([WEATHER], tool_choice="any")
    if verb == "ainvoke":
        reply = await model.ainvoke("What is the weather in Rome?")
    else:
        async with model.astream("What is the weather in Rome?") as stream:
            async for _ in stream:
                pass
        reply = stream.message
    [call] = reply.tool_calls
    assert call["name"] == "get_weather" and call["args"]["city"] in ("Paris", "Rome") and call["id"]
    result = ToolMessage("rain", tool_call_id=call["id"])
    answer = await chat(live_server).ainvoke([HumanMessage("What is the weather in Rome?"), reply, result])
    assert isinstance(answer, AIMessage)


async def test_tokens_are_counted_by_the_server(live_server: Any) -> None:
    """Its count is what it charges for the prompt."""
    model = chat(live_server)
    count = await model.aget_num_tokens_from_messages(QUESTION, exact=True)
    charged = (await model.ainvoke(QUESTION, max_tokens=1)).usage_metadata
    assert charged is not None and count == charged["input_tokens"]


async def test_what_the_server_refuses(live_server: Any) -> None:
    with pytest.raises(AuthenticationError):
        await chat(live_server, api_key="sk-wrong").ainvoke("hi")
    with pytest.raises(ContextLengthExceeded):
        await chat(live_server).ainvoke("word " * (2 * live_server.n_ctx))
