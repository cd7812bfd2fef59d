"""Exchanges recorded with Google's official SDK."""

import json
import re
from typing import Any

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.google import ChatGoogleGenerativeAI
from tests.kit.recordings import Recording, load_recordings, parametrize_by


def is_request(case: Recording) -> bool:
    return "enerateContent" in case["request"]["path"] and "batch" not in case["case"]


pytest_generate_tests = parametrize_by(
    load_recordings("gemini"),
    chat_request=is_request,
    chat_answer=lambda case: is_request(case) and "body" in case["response"] and "sdk_parsed" in case,
)


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
