"""Ids of tool calls are such as each provider takes them, in a call and in its result, whoever made them."""

import re
from typing import Any

import pytest

from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.remote import RemoteChatModel
from hocket.testing import Reply, serve
from tests.kit.providers import PROVIDERS
from tests.providers.test_all_pairs import check_ids

FORMS = {
    "openai": re.compile(".{1,40}"),
    "openai_responses": re.compile(".{1,64}"),
    "anthropic": re.compile("[a-zA-Z0-9_-]+"),
    "mistral": re.compile("[a-zA-Z0-9]{9}"),
}
LONG = "toolu_" + "x" * 60
IDS = ["functions.look:0", "functions.look:1", LONG + "1", LONG + "2", "call/1", "é", "call_1", "abcDEF123"]


def model_of(name: str, url: str = "http://localhost:9") -> RemoteChatModel:
    return PROVIDERS[name].make(model="test-model", base_url=url, api_key="k")


def conversation(reply: AIMessage, ids: list[str]) -> list[BaseMessage]:
    return [HumanMessage("q"), reply, *(ToolMessage(f"of {id}", tool_call_id=id) for id in ids)]


def ids_in(value: Any) -> list[str]:
    """The ids that results name."""
    if isinstance(value, list):
        return [id for item in value for id in ids_in(item)]
    if not isinstance(value, dict):
        return []
    is_result = value.get("type") in ("tool_result", "function_call_output") or value.get("role") == "tool"
    own = [value[key] for key in ("tool_use_id", "tool_call_id", "call_id") if is_result and key in value]
    return own + [id for item in value.values() for id in ids_in(item)]


@pytest.mark.parametrize("author", [None, "elsewhere"])
@pytest.mark.parametrize("name", FORMS)
def test_ids_fit_and_none_is_taken_for_another(name: str, author: str | None) -> None:
    """Two that begin with the same forty characters, too. One that fits stays, and each is the same every time."""
    calls: Any = [{"name": "look", "args": {"id": id}, "id": id, "type": "tool_call"} for id in IDS]
    reply = AIMessage("", tool_calls=calls, response_metadata={"model_provider": author} if author else {})
    body = model_of(name).render(conversation(reply, IDS)).json
    check_ids(body)
    found = ids_in(body)
    assert len(set(found)) == len(IDS)
    for id, sent in zip(IDS, found, strict=True):
        assert FORMS[name].fullmatch(sent)
        assert sent == id or not FORMS[name].fullmatch(id)
    alone = AIMessage("", tool_calls=calls[2:3], response_metadata=reply.response_metadata)
    assert ids_in(model_of(name).render(conversation(alone, IDS[2:3])).json) == found[2:3]


@pytest.mark.parametrize("part", ["tool_use", "function_call"])
def test_a_call_in_the_content_alone_fits_too(part: str) -> None:
    """As a stored message of another library may have it, which does not say who wrote it."""
    forms: Any = {
        "tool_use": {"type": "tool_use", "id": LONG + ".", "name": "look", "input": {}},
        "function_call": {"type": "function_call", "call_id": LONG + ".", "name": "look", "arguments": "{}"},
    }
    for name, form in FORMS.items():
        body = model_of(name).render(conversation(AIMessage([forms[part]]), [LONG + "."])).json
        check_ids(body)
        [sent] = ids_in(body)
        assert form.fullmatch(sent)


@pytest.mark.parametrize("first", PROVIDERS)
@pytest.mark.parametrize("second", FORMS)
async def test_ids_of_every_server_fit_every_other(first: str, second: str) -> None:
    call: Any = {"name": "look", "args": {}, "id": "mark7id1a" if first == "mistral" else "functions.look:0"}
    async with serve(PROVIDERS[first].format, [Reply(tool_calls=[call])]) as server:
        reply = await model_of(first, server.url).ainvoke("q")
    body = model_of(second).render(conversation(reply, [str(reply.tool_calls[0]["id"])])).json
    check_ids(body)
    assert all(FORMS[second].fullmatch(id) for id in ids_in(body)) and ids_in(body)
