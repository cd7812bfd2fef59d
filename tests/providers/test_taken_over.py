"""Messages that official formats and LangChain's packages wrote go on with each provider.

Their contents are the providers' own parts, blocks or items, with the calls beside them or only in them; some say whose
they are, some do not. No text and no call is lost, and no private word of the first provider goes out.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hocket.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage
from hocket.messages.roles import calls_of
from tests.kit.recordings import load_recordings
from tests.providers.test_all_pairs import PROVIDERS, keys_in, model_of

CALL: Any = {"name": "weather", "args": {"city": "Rome"}, "id": "call_1", "type": "tool_call"}
SIGNATURES = "__gemini_function_call_thought_signatures__"


def contents(folder: str) -> Iterator[tuple[str, Any]]:
    """The contents of recorded replies, as each API wrote them."""
    for name, recording in load_recordings(folder).items():
        responses = recording["response"]
        for response in responses if isinstance(responses, list) else [responses]:
            body = response.get("body")
            if not isinstance(body, dict):
                continue
            match folder:
                case "anthropic":
                    found = body.get("content")
                case "gemini":
                    found = [p for one in body.get("candidates", []) for p in one.get("content", {}).get("parts", [])]
                case "openai_responses":
                    found = body.get("output")
                case _:
                    said = body.get("message")
                    found = said.get("content") if isinstance(said, dict) else None
            if isinstance(found, list) and found and all(isinstance(part, dict) for part in found):
                yield name, found


AUTHORS = {"anthropic": "anthropic", "gemini": "google_genai", "openai_responses": "openai", "cohere_v2": "cohere"}
WRITTEN = [
    pytest.param(content, author, id=name) for folder, author in AUTHORS.items() for name, content in contents(folder)
]


def go_on(message: AIMessage) -> list[BaseMessage]:
    results = [ToolMessage("done", tool_call_id=call["id"] or "") for call in calls_of(message)]
    return [HumanMessage("hi"), message, *results, HumanMessage("go on")]


def usual_keys(name: str) -> set[str]:
    """The keys of a request with all that every provider can be told."""
    conversation = go_on(AIMessage("so", tool_calls=[CALL]))
    return keys_in(model_of(name).render(conversation).json)


def check(message: AIMessage, name: str) -> None:
    body = model_of(name).render(go_on(message)).json
    written = json.dumps(body, ensure_ascii=False)
    for text in filter(None, map(str.strip, message.text.split("\n"))):
        assert json.dumps(text, ensure_ascii=False)[1:-1] in written
    for call in calls_of(message):
        assert str(call["name"]) in written
        for value in call["args"].values() if isinstance(call["args"], dict) else ():
            assert str(value) in written
    assert keys_in(body) <= usual_keys(name) | {"type", "text", "content", "parts"}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("beside", [True, False], ids=["calls beside", "calls inside"])
@pytest.mark.parametrize("says", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(("content", "author"), WRITTEN)
def test_a_content_in_anothers_words_goes_on(content: Any, author: str, name: str, says: bool, beside: bool) -> None:
    """To every provider but its own, which gets it back as it came."""
    facts = {"model_provider": author} if says else {}
    calls: Any = [
        {key: value for key, value in block.items() if key != "extras"} | {"id": block.get("id") or f"made-up-{at}"}
        for at, block in enumerate(AIMessage(content).content_blocks)
        if block["type"] == "tool_call"
    ]
    if calls and not beside and not all(block.get("id") for block in AIMessage(content).content_blocks):
        pytest.skip("its calls have no ids that a result could name")
    message = AIMessage(content, tool_calls=calls if beside else [], response_metadata=facts)
    if model_of(name)._provider.removesuffix("_compatible") == author:
        model_of(name).render(go_on(message))
    else:
        check(message, name)


@pytest.mark.parametrize("author", ["deepseek", "cohere", "openai", "google_genai", "ollama", None])
@pytest.mark.parametrize("name", PROVIDERS)
def test_what_langchain_keeps_beside_the_content_goes_on(name: str, author: str | None) -> None:
    """Reasoning, plans, citations and signatures stay with their provider; what was said and called goes on."""
    kwargs: dict[str, Any] = {
        "deepseek": {"reasoning_content": "private-thought"},
        "cohere": {"tool_plan": "private-plan", "citations": [{"start": 0, "end": 1, "text": "I", "sources": []}]},
        "openai": {"tool_calls": [], "reasoning": {"id": "rs_1", "summary": []}},
        "google_genai": {
            SIGNATURES: {"call_1": "cHJpdmF0ZQ=="},
            "function_call": {"name": "weather", "arguments": "{}"},
        },
        "ollama": {"thinking": "private-thought"},
        None: {},
    }[author]
    facts = {} if author is None else {"model_provider": author}
    message = AIMessage("It depends.", tool_calls=[CALL], additional_kwargs=kwargs, response_metadata=facts)
    if model_of(name)._provider == author:
        model_of(name).render(go_on(message))
        return
    check(message, name)
    assert "private" not in json.dumps(model_of(name).render(go_on(message)).json)


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_old_function_call_goes_on(name: str) -> None:
    """From before there were tools: with its result, as a call and a result where the API knows nothing else."""
    old = {"function_call": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    with pytest.deprecated_call():
        result = FunctionMessage("rain", name="weather")
    asked = [HumanMessage("hi"), AIMessage("", additional_kwargs=old), result]
    written = json.dumps(model_of(name).render([*asked, HumanMessage("go on")]).json)
    assert written.index("Rome") < written.index("rain") < written.index("go on")
