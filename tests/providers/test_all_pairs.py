"""A conversation that any provider began goes on with any other, and nothing that was said or called is lost.

Each provider's scripted server answers with reasoning, a text and two calls; the message that comes of it is given, with
the results, to each other provider, whose scripted server then has to be content with it.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from hocket.chat_history import open_history
from hocket.load import dumps, loads
from hocket.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    merge_message_runs,
    messages_from_dict,
    messages_to_dict,
    trim_messages,
)
from hocket.remote import RemoteChatModel
from hocket.testing import (
    Reply,
    serve,
)
from hocket.testing.server import ScriptedToolCall
from tests.kit.providers import PROVIDERS

THOUGHT, SAID = "because-of-the-clouds", "Let me look that up."
CALLS: list[ScriptedToolCall] = [
    {"name": "weather", "args": {"city": "Zürich"}, "id": "call_long-and-unlike-any_1"},
    {"name": "clock", "args": {"zone": "CET"}, "id": "call_long-and-unlike-any_2"},
]
RESULTS = ["rain-at-nine", "half-past-eight"]
TOOLS: list[Any] = [
    {"name": name, "description": "d", "parameters": {"type": "object", "properties": {key: {"type": "string"}}}}
    for name, key in (("weather", "city"), ("clock", "zone"))
]


def model_of(name: str, url: str = "http://localhost:9") -> RemoteChatModel:
    return PROVIDERS[name].make(model="test-model", base_url=url, api_key="k")


async def answer_of(name: str, verb: str) -> AIMessage:
    """What a model of this provider answers, stored and read again, as a history does."""
    script = [Reply(SAID, reasoning=THOUGHT, tool_calls=CALLS)]
    async with serve(PROVIDERS[name].format, script) as server:
        model = model_of(name, server.url).bind_tools(TOOLS)
        if verb == "ainvoke":
            answer = await model.ainvoke("Should I go out?")
        else:
            async with model.astream("Should I go out?") as stream:
                async for _ in stream:
                    pass
            answer = stream.message
    restored: AIMessage = loads(dumps(answer))
    return restored


def conversation(answer: AIMessage) -> list[BaseMessage]:
    results = [
        ToolMessage(text, tool_call_id=call["id"]) for text, call in zip(RESULTS, answer.tool_calls, strict=True)
    ]
    return [SystemMessage("Be brief."), HumanMessage("Should I go out?"), answer, *results, HumanMessage("So?")]


def keys_in(value: Any) -> set[str]:
    """All keys of JSON, at every depth, but for those of arguments and results."""
    if isinstance(value, list):
        return {key for item in value for key in keys_in(item)}
    if not isinstance(value, dict):
        return set()
    free = {"input", "args", "arguments", "response"}
    return set(value) | {key for name, item in value.items() if name not in free for key in keys_in(item)}


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(PROVIDERS, PROVIDERS)))
async def test_a_conversation_goes_on(first: str, second: str, verb: str) -> None:
    """Text, calls and results arrive; reasoning and the first one's own words do not; and the second one answers."""
    answer, own = await answer_of(first, verb), await answer_of(second, verb)
    async with serve(PROVIDERS[second].format, [Reply("Stay in."), Reply("Stay in.")]) as server:
        model = model_of(second, server.url)
        assert (await model.ainvoke(conversation(answer))).text == "Stay in."
        await model.ainvoke(conversation(own))
        sent, usual = (json.loads(request.body) for request in server.requests)
    written = json.dumps(sent, ensure_ascii=False)
    for text in (SAID, *RESULTS, "Zürich", "CET", "Be brief.", "So?"):
        assert written.count(text) == 1, text
    assert "weather" in written and "clock" in written
    if first != second:
        assert THOUGHT not in written
        assert keys_in(sent) <= keys_in(usual)
    check_order(written)
    check_ids(sent)


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_own_reply_goes_back_the_same_wherever_it_was(name: str, verb: str, tmp_path: Path) -> None:
    """Through a history's file, records, trimming and merging: what is sent is what would have been sent at once."""
    messages = conversation(await answer_of(name, verb))
    model = model_of(name)
    expected = model.render(messages).json
    async with open_history(str(tmp_path / "history.jsonl")) as history:
        await history.aadd_messages(messages)
        stored = await history.aget_messages()
    kept = trim_messages(messages, max_tokens=10**6, token_counter="approximate")
    for ways in (stored, messages_from_dict(messages_to_dict(messages)), kept, merge_message_runs(messages)):
        assert model.render(ways).json == expected


def check_order(written: str) -> None:
    """The calls come before their results, and these before the next question."""
    places = [written.index(text) for text in (SAID, "Zürich", "CET", *RESULTS, "So?")]
    assert places == sorted(places)


def check_ids(sent: Any) -> None:
    """Each id stands in a call and in its result, where the format has ids at all."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            is_call = "call_id" not in value and {"name", "function", "functionCall", "functionResponse"} & value.keys()
            found.extend(
                text
                for key, text in value.items()
                if isinstance(text, str)
                and (key in ("tool_use_id", "tool_call_id", "call_id") or (key == "id" and is_call))
            )
            for item in value.values():
                walk(item)

    walk(sent)
    assert all(found.count(id) == 2 for id in found), found
