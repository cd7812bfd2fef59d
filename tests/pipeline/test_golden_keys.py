"""Keys of earlier versions: a key that changes empties every cache that somebody keeps on disk, so it must not happen
unnoticed. If it is meant to, say so in the changelog and write the new keys down in `cache_keys.json`."""

import json
from pathlib import Path
from typing import Any

import pytest

from hocket._pipeline.cache_key import prompt_key
from hocket.language_models import FakeListChatModel, FakeListLLM
from hocket.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

GOLDEN: dict[str, str] = json.loads(Path(__file__).with_name("cache_keys.json").read_text())

CALL = {"name": "get_weather", "args": {"city": "Malmö", "days": 3}, "id": "call_1", "type": "tool_call"}
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}

PROMPTS: dict[str, str | list[BaseMessage]] = {
    "text": "Why is the sky blue?",
    "one message": [HumanMessage("Why is the sky blue?")],
    "conversation": [SystemMessage("Be brief."), HumanMessage("Hi"), AIMessage("Hello!"), HumanMessage("Grüß Gott 🎶")],
    "names and extras": [HumanMessage("Hi", name="bob", additional_kwargs={"b": 1, "a": [True, None, 1.5]})],
    "blocks": [
        HumanMessage([{"type": "text", "text": "What?"}, {"type": "image", "url": "https://example.org/a.png"}])
    ],
    "tool call": [AIMessage("", tool_calls=[CALL]), ToolMessage("sunny", tool_call_id="call_1", status="success")],
    "role": [ChatMessage("No.", role="critic")],
}

CHAT = FakeListChatModel(responses=["a"])
CALLS: dict[str, tuple[list[str] | None, dict[str, Any]]] = {
    "bare": (None, {}),
    "stop": (["\n"], {}),
    "arguments": (None, {"temperature": 0.5, "n": 2, "seed": 7, "user": "bob"}),
    "tools": (None, {"tools": [TOOL], "tool_choice": "any"}),
}


def keys() -> dict[str, str]:
    """Return the keys of this version."""
    made = {f"prompt: {name}": prompt_key(prompt) for name, prompt in PROMPTS.items()}
    made |= {f"chat model: {name}": CHAT._get_llm_string(stop, **kwargs) for name, (stop, kwargs) in CALLS.items()}
    return made | {"text model: bare": FakeListLLM(responses=["a"])._get_llm_string()}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_key_is_what_it_always_was(name: str) -> None:
    """The same request finds tomorrow what it stores today."""
    assert keys()[name] == GOLDEN[name]


def test_every_key_is_written_down() -> None:
    """A case that is added here is added to the file."""
    assert keys().keys() == GOLDEN.keys()
