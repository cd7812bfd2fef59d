"""Exchanges recorded with Google's official SDK, and no key of this machine."""

import json
import re
from typing import Any

import pytest

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.google import ChatGoogleGenerativeAI
from tests.kit.recordings import load_recordings, parametrize

RECORDINGS = load_recordings("gemini")

KINDS = {
    "chat_request": lambda case: "enerateContent" in case["request"]["path"] and "batch" not in case["case"],
    "chat_answer": lambda case: (
        "enerateContent" in case["request"]["path"]
        and "batch" not in case["case"]
        and "body" in case["response"]
        and "sdk_parsed" in case
    ),
    "chat_stream": lambda case: "sse" in case["response"],
    "failure": lambda case: case["response"].get("status", 200) >= 400,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, RECORDINGS, KINDS)


def camelize(value: Any) -> Any:
    """A body as the API's reference writes it: the SDK mixes the two ways to write keys."""
    if isinstance(value, list):
        return [camelize(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("_(.)", lambda found: found[1].upper(), key): camelize(item) for key, item in value.items()}


def conversation_in(body: dict[str, Any]) -> list[BaseMessage]:
    """A recorded prompt as messages, whose contents stay in the API's own words; tools' results are messages."""
    messages: list[BaseMessage] = []
    if system := body.get("systemInstruction"):
        messages.append(SystemMessage(system["parts"][0]["text"]))
    for turn in body["contents"]:
        results = [part["functionResponse"] for part in turn["parts"] if "functionResponse" in part]
        if turn["role"] == "model":
            messages.append(AIMessage(turn["parts"]))
        elif results:
            messages += [
                ToolMessage(json.dumps(result["response"]["output"]), tool_call_id=result["id"]) for result in results
            ]
        else:
            messages.append(HumanMessage(turn["parts"]))
    return messages


def model(**fields: Any) -> ChatGoogleGenerativeAI:
    return ChatGoogleGenerativeAI(**{"model": "gemini-3.8-flash", "api_key": "AIza-test", **fields})


def sent(messages: Any = "hi", *, name: str = "gemini-3.8-flash", **options: Any) -> dict[str, Any]:
    """The body of a request."""
    body: dict[str, Any] = model(model=name).render(messages, **options).json
    return body


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
