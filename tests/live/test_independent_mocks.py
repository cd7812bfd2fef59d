"""Our models against servers that speak their formats and were not written by us: what both hold must be the format.

``aimock`` answers as its fixtures say; ``llmock`` repeats the question, calls what it is offered, and fails when it is told
to. Neither is the real thing: what they get wrong themselves is noted where it shows.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from hocket import AIMessage, CohereEmbeddings, HumanMessage, OpenAIEmbeddings, ToolMessage, init_chat_model
from hocket.errors import InvalidReply, LLMError, ProviderUnavailable, RateLimitError, StreamTruncated
from hocket.http.clients import ClientSettings
from hocket.http.exchange import send
from hocket.http.request import HTTPRequest, json_request
from tests.live.mocks import aimock, llmock, start

SAID = "Blue scatters most, so the sky is blue."
THOUGHT = "Rayleigh, of course."
ARGUMENTS = [{"city": "Oslo"}, {"city": "Rome"}]
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "It is cold."}},
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "get_weather", "arguments": json.dumps(args)} for args in ARGUMENTS]},
    },
    {
        "match": {"userMessage": "too many"},
        "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 7},
    },
    {"match": {"userMessage": "forbidden"}, "response": {"error": {"message": "not for you"}, "status": 403}},
    {
        "match": {"userMessage": "think"},
        "response": {"content": SAID, "reasoning": THOUGHT, "reasoningSignature": "c2lnbmF0dXJl"},
    },
    {"match": {"userMessage": "sky"}, "response": {"content": SAID}},
]
TOOL: Any = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class Place(NamedTuple):
    """Where a provider's API is on each server, below its address; None: it does not speak it. And what a model needs."""

    aimock: str | None
    llmock: str | None
    options: Mapping[str, str] = MappingProxyType({})


PLACES = {
    "anthropic": Place("", "/anthropic"),
    "cohere": Place("", "/cohere"),
    "google": Place("", "/gemini", {"api_version": "v1beta"}),
    "mistral": Place(None, "/mistral/v1"),
    "ollama": Place("", None),
    "openai": Place("/v1", "/v1"),
}
SPOKEN_BY_AIMOCK = [name for name, place in PLACES.items() if place.aimock is not None]
SPOKEN_BY_LLMOCK = [name for name, place in PLACES.items() if place.llmock is not None]
VERBS = ["ainvoke", "astream"]


@pytest.fixture(scope="session")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an ``aimock``."""
    folder = tmp_path_factory.mktemp("aimock")
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    with start(aimock(folder / "fixtures.json"), folder / "log") as address:
        yield address


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an ``llmock``."""
    with start([*llmock(), "--response-style", "echo"], tmp_path_factory.mktemp("llmock") / "log") as address:
        yield address


def model(provider: str, address: str, place: str | None) -> Any:
    """Return a model of a provider's, asked once."""
    options: dict[str, Any] = {"base_url": f"{address}{place}", "api_key": "sk-test", "retry": None}
    return init_chat_model("test-model", model_provider=provider, **options, **PLACES[provider].options)


async def ask(asked: Any, verb: str, messages: Any) -> AIMessage:
    """Return an answer, whole or folded."""
    if verb == "ainvoke":
        answer: AIMessage = await asked.ainvoke(messages)
        return answer
    async with asked.astream(messages) as stream:
        async for _ in stream:
            pass
    folded: AIMessage = stream.message
    return folded


# -- aimock


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_AIMOCK)
async def test_an_answer_is_read(provider: str, verb: str, fixed: str) -> None:
    """Text and reason; what it cost, as a number."""
    answer = await ask(model(provider, fixed, PLACES[provider].aimock), verb, "Why is the sky blue?")
    assert answer.text == SAID
    assert answer.response_metadata["normalized_finish_reason"] == "stop"
    assert answer.usage_metadata is None or answer.usage_metadata["total_tokens"] >= 0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_AIMOCK)
async def test_tools_are_called_and_their_results_taken(provider: str, verb: str, fixed: str) -> None:
    """Two calls at once, each with an id of its own; the server knows the results for results."""
    asked = model(provider, fixed, PLACES[provider].aimock).bind_tools([TOOL])
    question = HumanMessage("How is the weather?")
    answer = await ask(asked, verb, [question])
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("get_weather", args) for args in ARGUMENTS]
    assert len({call["id"] for call in answer.tool_calls}) == 2
    reason = "other" if provider == "google" else "tool_calls"  # aimock says FUNCTION_CALL, no word of Gemini's
    assert answer.response_metadata["normalized_finish_reason"] == reason

    results = [ToolMessage("3 degrees", tool_call_id=str(call["id"])) for call in answer.tool_calls]
    assert (await ask(asked, verb, [question, answer, *results])).text == "It is cold."


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", [name for name in SPOKEN_BY_AIMOCK if name != "cohere"])  # as a text, by aimock
async def test_reasoning_is_no_text(provider: str, verb: str, fixed: str) -> None:
    """It is a block of its own, and goes back without harm."""
    asked = model(provider, fixed, PLACES[provider].aimock)
    question = HumanMessage("think")
    answer = await ask(asked, verb, [question])
    assert answer.text == SAID
    blocks: list[Any] = answer.content_blocks
    assert [block["reasoning"] for block in blocks if block["type"] == "reasoning"] == [THOUGHT]
    assert (await ask(asked, verb, [question, answer, HumanMessage("Why is the sky blue?")])).text == SAID


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_AIMOCK)
async def test_a_refusal_is_an_error(provider: str, verb: str, fixed: str) -> None:
    """With the server's words, its status, and when to come back."""
    asked = model(provider, fixed, PLACES[provider].aimock)
    with pytest.raises(RateLimitError, match="slow down") as caught:
        await ask(asked, verb, "too many")
    assert (caught.value.status, caught.value.retryable, caught.value.retry_after) == (429, True, 7)
    with pytest.raises(LLMError, match="not for you") as caught:
        await ask(asked, verb, "forbidden")
    assert (caught.value.status, caught.value.retryable) == (403, False)


@pytest.mark.parametrize("provider", ["anthropic", "ollama", "openai"])  # the others' lists are OpenAI's there
async def test_models_are_listed(provider: str, fixed: str) -> None:
    """By their names."""
    assert "gpt-4o" in await model(provider, fixed, PLACES[provider].aimock).alist_models()


@pytest.mark.parametrize(("kind", "place"), [(OpenAIEmbeddings, "/v1"), (CohereEmbeddings, "")])
async def test_texts_become_vectors(kind: Any, place: str, fixed: str) -> None:
    """One for each, the same for the same text. (Those of Ollama and Gemini have another shape there than really.)"""
    first, second, again = await kind(model="m", base_url=f"{fixed}{place}", api_key="k").aembed_documents(
        ["one", "two", "one"]
    )
    assert first == again != second


# -- llmock


async def arm(address: str, *behaviors: dict[str, Any]) -> None:
    """Tell the server what to do with the next requests, and nothing else with later ones."""
    url = f"{address}/_llmock/scenario"
    requests = [HTTPRequest("DELETE", url, {}), *([json_request(url, {"behaviors": behaviors})] if behaviors else [])]
    for request in requests:
        reply = await send(request, ClientSettings())
        assert reply.status < 300, reply.content


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_LLMOCK)
async def test_the_question_comes_back(provider: str, verb: str, faulty: str) -> None:
    """So the request was read as it was meant."""
    await arm(faulty)
    answer = await ask(model(provider, faulty, PLACES[provider].llmock), verb, "Why is the sky blue?")
    assert "Why is the sky blue?" in answer.text
    assert answer.response_metadata["normalized_finish_reason"] == "stop"
    assert answer.usage_metadata is None or answer.usage_metadata["output_tokens"] > 0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_LLMOCK)
async def test_offered_tools_are_called(provider: str, verb: str, faulty: str) -> None:
    """The call is read, and its result ends the calling."""
    await arm(faulty, {"type": "reply", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]})
    asked = model(provider, faulty, PLACES[provider].llmock).bind_tools([TOOL])
    question = HumanMessage("How is the weather?")
    answer = await ask(asked, verb, [question])
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("get_weather", {"city": "Oslo"})]

    result = ToolMessage("3 degrees", tool_call_id=str(answer.tool_calls[0]["id"]))
    last = await ask(asked, verb, [question, answer, result])
    assert last.text and not last.tool_calls


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_LLMOCK)
async def test_when_to_come_back_is_read(provider: str, verb: str, faulty: str) -> None:
    """From a server that has too much to do, and from one that has failed."""
    asked = model(provider, faulty, PLACES[provider].llmock)
    await arm(faulty, {"type": "fail", "status": 429, "retry_after": 2}, {"type": "fail", "status": 503})
    with pytest.raises(RateLimitError) as caught:
        await ask(asked, verb, "hi")
    assert (caught.value.retryable, caught.value.retry_after) == (True, 2)
    with pytest.raises(ProviderUnavailable):
        await ask(asked, verb, "hi")


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
@pytest.mark.parametrize("provider", SPOKEN_BY_LLMOCK)
async def test_a_stream_that_breaks_is_no_answer(provider: str, kind: str, faulty: str) -> None:
    """However it breaks; what came is not lost."""
    await arm(faulty, {"type": "stream_fault", "kind": kind, "after_chunks": 2})
    pieces: list[str] = []
    with pytest.raises((StreamTruncated, InvalidReply)) as caught:
        async for chunk in model(provider, faulty, PLACES[provider].llmock).astream("one two three four five six"):
            pieces.append(chunk.text)
    assert "".join(pieces) == (caught.value.partial.text if caught.value.partial else "")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("provider", SPOKEN_BY_LLMOCK)
async def test_arguments_that_are_no_json_are_an_invalid_call(provider: str, verb: str, faulty: str) -> None:
    """Never an exception, and never a call; an object, as some formats have it, is always one."""
    await arm(faulty, {"type": "tool_fault", "kind": "malformed_arguments"})
    answer = await ask(model(provider, faulty, PLACES[provider].llmock).bind_tools([TOOL]), verb, "How is the weather?")
    # Elsewhere they are an object.
    are_text = provider in ("cohere", "mistral", "openai") or (provider, verb) == (
        "anthropic",
        "astream",
    )  # elsewhere an object
    assert bool(answer.invalid_tool_calls) == are_text
