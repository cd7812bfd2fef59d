"""Exchanges recorded with Anthropic's official SDK, and no key of this machine."""

from typing import Any

import pytest

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tests.kit.recordings import Recording, load_recordings, parametrize

RECORDINGS = load_recordings("anthropic")

KINDS = {
    "chat_request": lambda case: case["request"]["path"] == "/v1/messages",
    "chat_answer": lambda case: "content" in _body_of(case) and "sdk_parsed" in case,
    "chat_stream": lambda case: "sse" in case["response"],
    "failure": lambda case: isinstance(case["response"], dict) and case["response"].get("status", 200) >= 400,
}


def _body_of(case: Recording) -> dict[str, Any]:
    response = case["response"]
    return response.get("body") or {} if isinstance(response, dict) else {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, RECORDINGS, KINDS)


def conversation_in(body: dict[str, Any]) -> list[BaseMessage]:
    """A recorded prompt as messages, whose contents stay in the API's own words."""
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    system = [SystemMessage(body["system"])] if "system" in body else []
    return [*system, *(kinds[turn["role"]](turn["content"]) for turn in body["messages"])]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
