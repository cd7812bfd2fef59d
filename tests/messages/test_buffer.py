"""Conversations as text."""

import pytest

from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    get_buffer_string,
)

TALK: list[BaseMessage] = [
    SystemMessage("be kind"),
    HumanMessage("hi"),
    AIMessage("hello"),
    ToolMessage("42", tool_call_id="1"),
    ChatMessage("order!", role="Moderator"),
]


def test_one_line_a_message() -> None:
    """Each with its role; a speaker of one's own naming under that name."""
    assert get_buffer_string(TALK) == "System: be kind\nHuman: hi\nAI: hello\nTool: 42\nModerator: order!"


def test_prefixes_and_separator() -> None:
    """Every role can be renamed, except one that has its own name."""
    with pytest.warns(DeprecationWarning):
        function = FunctionMessage("7", name="f")
    assert get_buffer_string(
        [*TALK, function],
        human_prefix="H",
        ai_prefix="A",
        system_prefix="S",
        tool_prefix="T",
        function_prefix="F",
        message_separator=" | ",
    ) == ("S: be kind | H: hi | A: hello | T: 42 | Moderator: order! | F: 7")
    assert get_buffer_string([HumanMessage("a"), AIMessage("b")], "Q", "A") == "Q: a\nA: b"


def test_only_text_is_text() -> None:
    """Blocks that are no text are left out; chunks read like messages; message-likes are taken."""
    image = {"type": "image", "url": "https://e.x"}
    talk = [HumanMessageChunk(["a", image, {"type": "text", "text": "b"}]), AIMessageChunk("c") + AIMessageChunk("d")]
    assert get_buffer_string(talk) == "Human: ab\nAI: cd"
    assert get_buffer_string(["hi", ("ai", "hello")]) == "Human: hi\nAI: hello"
    assert get_buffer_string([]) == ""


def test_calls_follow_the_text() -> None:
    """Tool calls, or else a legacy function call, without a gap, as in LangChain; null is no call."""
    call = {"name": "f", "args": {"a": 1}, "id": "1", "type": "tool_call"}
    function = {"name": "g", "arguments": "{}"}
    assert get_buffer_string([AIMessage("x", tool_calls=[call])]) == f"AI: x{[call]}"
    assert get_buffer_string([AIMessage("x", additional_kwargs={"function_call": function})]) == f"AI: x{function}"
    assert get_buffer_string([AIMessage("x", additional_kwargs={"function_call": None})]) == "AI: x"


def test_an_order_to_remove_has_no_text() -> None:
    """A message of a class without a role is refused, by its name."""
    with pytest.raises(InvalidInput, match="RemoveMessage of type 'remove'"):
        get_buffer_string([RemoveMessage("1")])
