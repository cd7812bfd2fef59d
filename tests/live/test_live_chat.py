"""`ChatOpenAI` with a real server: everything that is sent is understood, everything that is said is read."""

import json
from typing import Any

import anyio
import httpx
import pytest

from hocket.errors import AuthenticationError, BlockingCallWarning, ContextLengthExceeded, ResourceNotFound
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from hocket.outputs import ChatGeneration
from hocket.providers.openai import ChatOpenAI
from tests.kit.amount import leave_for_night

QUESTION = [
    SystemMessage("You are a helpful AI assistant named SmolLM."),
    HumanMessage("What is the capital of France?"),
]
CITY = {"type": "string", "enum": ["Paris", "Rome"]}
OBJECT = {"type": "object", "properties": {"city": CITY}, "required": ["city"], "additionalProperties": False}
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather in a city.", "parameters": OBJECT},
}


def chat(server: Any, **options: Any) -> ChatOpenAI:
    """Return a model of the server's that answers briefly."""
    return ChatOpenAI(**{**server.options, "temperature": 0, "max_tokens": 12, **options})


# -- answers


async def test_an_answer(live_server: Any) -> None:
    """Text, usage, and what is said about both."""
    reply = await chat(live_server).ainvoke(QUESTION)

    facts, usage = reply.response_metadata, reply.usage_metadata
    assert isinstance(reply, AIMessage) and isinstance(reply.content, str) and reply.content
    assert (facts["model_name"], facts["finish_reason"] in ("stop", "length")) == ("smollm2", True)
    assert usage is not None
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens"] > 10 and 0 < usage["output_tokens"] <= 12


async def test_a_stream(live_server: Any) -> None:
    """Piece by piece, and as a whole with what a whole answer says."""
    async with chat(live_server).astream(QUESTION) as stream:
        chunks = [chunk async for chunk in stream]

    whole = stream.message
    assert len(chunks) > 2 and all(isinstance(chunk, AIMessageChunk) for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks) == whole.text != ""
    assert len([chunk for chunk in chunks if chunk.usage_metadata]) == 1
    assert whole.usage_metadata is not None
    assert 0 < whole.usage_metadata["output_tokens"] <= 12
    assert whole.response_metadata["finish_reason"] in ("stop", "length")
    assert chunks[-1].chunk_position == "last"


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_limit_on_tokens(live_server: Any, streaming: bool) -> None:
    """It is kept, and said to be the reason."""
    reply = await chat(live_server, max_tokens=2, streaming=streaming).ainvoke("Tell me a long story.")

    assert reply.response_metadata["finish_reason"] == "length"
    assert reply.usage_metadata is not None
    assert reply.usage_metadata["output_tokens"] == 2


async def test_a_stop_string(live_server: Any) -> None:
    """Nothing comes after it, nor it."""
    reply = await chat(live_server).ainvoke("Tell me a long story.", stop=["e", "a"])

    assert not {"e", "a"} & set(reply.text)
    assert reply.response_metadata["finish_reason"] == "stop"


async def test_a_seed(live_server: Any) -> None:
    """The same seed gives the same answer."""
    model = chat(live_server, seed=7, temperature=1.5)
    await model.ainvoke(QUESTION)  # from here on the server has the prompt at hand, which may change the last digits
    first, second = [(await model.ainvoke(QUESTION)).content for _ in range(2)]

    assert first == second


@pytest.mark.parametrize("streaming", [False, True])
async def test_log_probabilities(live_server: Any, streaming: bool) -> None:
    """One entry a token, streamed or not."""
    model = chat(live_server, max_tokens=3, logprobs=True, top_logprobs=2, streaming=streaming)
    reply = await model.ainvoke("Tell me a long story.")

    entries = reply.response_metadata["logprobs"]["content"]
    assert [(entry["logprob"] <= 0, len(entry["top_logprobs"])) for entry in entries] == 3 * [(True, 2)]
    assert "".join(entry["token"] for entry in entries) == reply.text


async def test_several_candidates(live_server: Any) -> None:
    """In one call, each with a reason of its own; the usage is told once."""
    result = await chat(live_server, n=2, max_tokens=3).agenerate([QUESTION])

    (candidates,) = result.generations
    messages = [candidate.message for candidate in candidates if isinstance(candidate, ChatGeneration)]
    assert [message.response_metadata["finish_reason"] for message in messages] == ["length", "length"]
    assert [bool(getattr(message, "usage_metadata", None)) for message in messages] == [True, False]


# -- tools and schemas


@pytest.mark.parametrize("streaming", [True, *leave_for_night(False)])
async def test_a_tool_call(live_server: Any, streaming: bool) -> None:
    """Its arguments are parsed, and its result can be sent back."""
    model = chat(live_server, max_tokens=120, streaming=streaming)
    question = HumanMessage("What is the weather in Paris?")
    asked = await model.bind_tools([WEATHER], tool_choice="required").ainvoke([question])

    (call,) = asked.tool_calls
    assert (call["name"], call["args"]["city"] in ("Paris", "Rome"), bool(call["id"])) == ("get_weather", True, True)
    assert asked.response_metadata["finish_reason"] == "tool_calls"

    answer = await model.ainvoke([question, asked, ToolMessage("sunny", tool_call_id=call["id"])], max_tokens=8)
    assert answer.text


async def test_a_schema(live_server: Any) -> None:
    """The answer keeps to it."""
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": OBJECT}}
    reply = await chat(live_server, max_tokens=60).ainvoke(QUESTION, response_format=form)

    assert json.loads(reply.text)["city"] in ("Paris", "Rome")


# -- errors


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_too_long_a_conversation(live_server: Any, verb: str) -> None:
    """It is refused as what it is, with the numbers that the server gives."""
    with pytest.raises(ContextLengthExceeded) as caught:
        await ask(chat(live_server), verb, "word " * 2 * live_server.n_ctx)

    error = caught.value
    assert (error.status, error.retryable, error.details["n_ctx"]) == (400, False, live_server.n_ctx)


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_bad_key(live_server: Any, verb: str) -> None:
    """It is not repeated in the error."""
    with pytest.raises(AuthenticationError) as caught:
        await ask(chat(live_server, api_key="sk-wrong-one"), verb, "hi")

    assert (caught.value.status, "sk-wrong-one" in repr(caught.value)) == (401, False)


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_wrong_path(live_server: Any, verb: str) -> None:
    """As of a base URL that lacks its end."""
    with pytest.raises(ResourceNotFound):
        await ask(chat(live_server, base_url=f"{live_server.root}/nothing"), verb, "hi")


async def ask(model: ChatOpenAI, verb: str, text: str) -> None:
    """Ask, and take what comes."""
    if verb == "ainvoke":
        await model.ainvoke(text)
    else:
        async for _ in model.astream(text):
            pass


# -- many, and none


@pytest.mark.parametrize("leave", ["break", "cancel"])
@pytest.mark.both_loops
async def test_a_stream_that_is_left_frees_its_slot(live_server: Any, leave: str) -> None:
    """Long before the answer would have ended: the server stops computing."""
    model = chat(live_server, max_tokens=1500, logit_bias={"2": -100})  # 2: the token that ends an answer
    with anyio.CancelScope() as scope:
        async with model.astream("Count from one to a thousand, in words.") as stream:
            async for _ in stream:
                assert await busy_slots(live_server) == 1
                if leave == "break":
                    break
                scope.cancel()

    with anyio.fail_after(30):
        while await busy_slots(live_server):  # noqa: ASYNC110 (it is another process that changes)
            await anyio.sleep(0.05)


async def test_ten_streams_at_once(live_server: Any) -> None:
    """The server answers two at a time; each gets its own answer, whole."""
    model = chat(live_server, max_tokens=4)
    reasons: list[str] = []

    async def one(number: int) -> None:
        async with model.astream(f"{number}. Tell me a long story.") as stream:
            async for _ in stream:
                pass
        reasons.append(stream.message.response_metadata["finish_reason"])

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(one, number)

    assert reasons == ["length"] * 10


def test_sync_verbs(live_server: Any) -> None:
    """In a script: no loop is needed."""
    model = chat(live_server, max_tokens=4)

    assert model.invoke("hi").text
    assert "".join(chunk.text for chunk in model.stream("hi"))
    assert [bool(reply.text) for reply in model.batch(["hi", "ho"])] == [True, True]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_sync_verbs_in_a_running_loop(live_server: Any, backend: str) -> None:
    """As in a notebook; elsewhere a warning says that the loop stands still."""

    async def main() -> str:
        return chat(live_server, max_tokens=4).invoke("hi").text

    with pytest.warns(BlockingCallWarning):
        assert anyio.run(main, backend=backend)


async def busy_slots(server: Any) -> int:
    """Return how many requests the server is working on."""
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.get(f"{server.root}/slots", headers={"authorization": f"Bearer {server.api_key}"})
    return sum(slot["is_processing"] for slot in reply.json())
