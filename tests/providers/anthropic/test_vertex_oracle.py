"""Requests of Anthropic's own client for Vertex AI, and ours: to one local server, equal in path and body."""

from typing import Any

import pytest
from anthropic import AnthropicVertex

from hocket import ChatAnthropicVertex
from hocket.messages import HumanMessage, SystemMessage
from hocket.testing import AnthropicFormat, Body, Reply, Stream, serve

TOOL = {"name": "look", "description": "d", "input_schema": {"type": "object", "properties": {}}}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "options": ({"stop_sequences": ["x"], "metadata": {"user_id": "u"}}, {"stop": ["x"], "user_id": "u"}),
    "tools": ({"tools": [TOOL], "tool_choice": {"type": "any"}}, {"tools": [TOOL], "tool_choice": "any"}),
    "stream": ({"stream": True}, {}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("model", ["claude-sonnet-4-5@20250929", "odd/name?"])
def test_requests_are_those_of_the_official_client(name: str, model: str) -> None:
    """But for the version, of which newer clients send another than older ones."""
    theirs, ours = CASES[name]
    said: Any = {"model": model, "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "hi"}]}
    with serve(AnthropicFormat(), [Stream("a") if name == "stream" else Reply("a")] * 2) as server:
        place: dict[str, Any] = {"project_id": "p", "region": "us-east5", "base_url": f"{server.url}/v1"}
        with AnthropicVertex(**place, access_token="t", max_retries=0) as client:
            answer: Any = client.messages.create(**said, **theirs)
            _ = list(answer)
        fields: dict[str, Any] = {
            "base_url": f"{server.url}/v1",
            "project": "p",
            "location": "us-east5",
            "api_key": "t",
        }
        asked = ChatAnthropicVertex(model=model, max_tokens=9, retry=None, **fields)
        messages = [SystemMessage("s"), HumanMessage("hi")]
        _ = list(asked.stream(messages)) if name == "stream" else asked.invoke(messages, **ours)
        first, second = server.requests
    assert first.path == second.path
    bodies: list[Any] = [first.json, second.json]
    versions = [body.pop("anthropic_version") for body in bodies]
    assert bodies[0] == bodies[1]
    assert versions[1] == "vertex-2023-10-16"
    for header in ("authorization", "content-type"):
        assert first.headers[header] == second.headers[header]
    assert "anthropic-version" not in first.headers and "anthropic-version" not in second.headers


def test_counts_are_those_of_the_official_client() -> None:
    with serve(AnthropicFormat(), [Body({"input_tokens": 3})] * 2) as server:
        place: dict[str, Any] = {"project_id": "p", "region": "global", "base_url": f"{server.url}/v1"}
        with AnthropicVertex(**place, access_token="t", max_retries=0) as client:
            client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "hi"}])
        fields: dict[str, Any] = {"base_url": server.url, "project": "p", "api_key": "t"}
        ChatAnthropicVertex(model="m", **fields).get_num_tokens_from_messages([HumanMessage("hi")], exact=True)
        first, second = server.requests
    assert first.path == second.path
    assert {**first.json, "anthropic_version": ""} == {**second.json, "anthropic_version": ""}
