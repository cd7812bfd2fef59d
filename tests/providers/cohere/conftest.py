"""Exchanges recorded with Cohere's official SDK, and no key of this machine."""

import json
from typing import Any

import pytest

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from tests.kit.recordings import load_recordings, parametrize

RECORDINGS = load_recordings("cohere_v2")

KINDS = {
    "chat_request": lambda case: case["request"]["path"] == "/v2/chat",
    "chat_answer": lambda case: "finish_reason" in case["response"].get("body", {}),
    "chat_stream": lambda case: "sse" in case["response"],
    "failure": lambda case: case["response"].get("status", 200) >= 400,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, RECORDINGS, KINDS)


def conversation_in(body: dict[str, Any]) -> list[BaseMessage]:
    """A recorded prompt as messages, whose contents stay in the API's own words."""
    return [_read(message) for message in body["messages"]]


def _read(message: dict[str, Any]) -> BaseMessage:
    content = message.get("content", "")
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
            beside = {name: message[name] for name in ("tool_plan",) if name in message}
            return AIMessage(content, tool_calls=calls, additional_kwargs=beside)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("CO_API_KEY", "COHERE_API_KEY", "CO_API_URL"):
        monkeypatch.delenv(name, raising=False)
