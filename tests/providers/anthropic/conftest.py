"""Exchanges recorded with Anthropic's official SDK."""

from typing import Any

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tests.kit.recordings import Recording, load_recordings, parametrize_by


def is_answer(case: Recording) -> bool:
    response = case["response"]
    return isinstance(response, dict) and "content" in (response.get("body") or {}) and "sdk_parsed" in case


pytest_generate_tests = parametrize_by(
    load_recordings("anthropic"),
    chat_request=lambda case: case["request"]["path"] == "/v1/messages",
    chat_answer=is_answer,
)


def conversation_in(body: dict[str, Any]) -> list[BaseMessage]:
    """A recorded prompt as messages, whose contents stay in the API's own words."""
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    system = [SystemMessage(body["system"])] if "system" in body else []
    return [*system, *(kinds[turn["role"]](turn["content"]) for turn in body["messages"])]
