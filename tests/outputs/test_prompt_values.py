"""Prompts that can be read as messages and as text."""

import pickle

import pytest

from hocket.load import dumps, loads
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from hocket.prompt_values import (
    ChatPromptValue,
    ChatPromptValueConcrete,
    ImagePromptValue,
    PromptValue,
    StringPromptValue,
)


def test_a_text_as_messages() -> None:
    """A text is itself, and one message of the user's."""
    value = StringPromptValue(text="hi")
    assert value.to_string() == "hi"
    assert value.to_messages() == [HumanMessage("hi")]


def test_messages_as_text() -> None:
    """Messages are themselves, in a list of the caller's own, and one line each."""
    messages = [SystemMessage("be kind"), HumanMessage("hi"), AIMessageChunk("he") + AIMessageChunk("llo")]
    value = ChatPromptValue(messages=messages)
    assert value.to_string() == "System: be kind\nHuman: hi\nAI: hello"
    assert value.to_messages() == messages
    value.to_messages().clear()
    assert value.to_messages() == messages


def test_an_image_as_messages() -> None:
    """An image is its URL, and one message of the user's with a block that every reader knows."""
    value = ImagePromptValue(image_url={"url": "https://e.x/i.png", "detail": "low"})
    assert value.to_string() == "https://e.x/i.png"
    [message] = value.to_messages()
    assert message.content_blocks == [{"type": "image", "url": "https://e.x/i.png", "extras": {"detail": "low"}}]
    assert message.type == "human"


def test_a_schema_of_messages() -> None:
    """Concrete messages are named one by one, so that a schema tells what they hold."""
    schema = ChatPromptValueConcrete.model_json_schema()
    assert {"HumanMessage", "AIMessage", "ToolMessage"} <= schema["$defs"].keys()


@pytest.mark.parametrize(
    "value",
    [
        StringPromptValue(text="hi"),
        ChatPromptValue(messages=[HumanMessage("hi"), AIMessage("x", id="1")]),
        ChatPromptValueConcrete(messages=[HumanMessage("hi"), AIMessage("x", id="1")]),
        ImagePromptValue(image_url={"url": "u"}),
    ],
)
def test_prompts_survive_the_journey(value: PromptValue) -> None:
    """By pickle and by `dumps`, with the classes of their messages."""
    assert pickle.loads(pickle.dumps(value)) == value
    assert loads(dumps(value)) == value


def test_there_is_no_prompt_in_general() -> None:
    """Only a prompt that can be read can be made."""
    with pytest.raises(TypeError, match="abstract"):
        PromptValue()  # type: ignore[abstract]
    with pytest.raises(ValueError, match="text"):
        StringPromptValue(text=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="messages"):
        ChatPromptValue(messages=["hi"])  # type: ignore[list-item]
