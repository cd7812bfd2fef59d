"""Exchanges recorded with Mistral's official SDK, and no key of this machine."""

import json
from typing import Any

import pytest

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from tests.kit.recordings import load_recordings, parametrize

RECORDINGS = load_recordings("mistral")

KINDS = {
    "chat_request": lambda case: case["request"]["path"].endswith("/chat/completions"),
    "chat_answer": lambda case: "choices" in case["response"].get("body", {}) and "sdk_parsed" in case,
    "chat_stream": lambda case: "sse" in case["response"],
    "failure": lambda case: case["response"].get("status", 200) >= 400,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, RECORDINGS, KINDS)


def conversation_in(body: dict[str, Any]) -> list[BaseMessage]:
    """A recorded prompt as messages, whose contents stay in the API's own words."""
    return [_read(message) for message in body["messages"]]


def _read(message: dict[str, Any]) -> BaseMessage:
    content = message["content"]
    match message["role"]:
        case "system":
            return SystemMessage(content)
        case "user":
            return HumanMessage(content)
        case "tool":
            return ToolMessage(content, tool_call_id=message["tool_call_id"])
        case _:
            calls: Any = [
                {"name": call["function"]["name"], "args": json.loads(call["function"]["arguments"]), "id": call["id"]}
                for call in message.get("tool_calls", ())
            ]
            return AIMessage(content, tool_calls=calls)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("API_KEY", "BASE_URL"):
        monkeypatch.delenv(f"MISTRAL_{name}", raising=False)
