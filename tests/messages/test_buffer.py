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


# XML


def test_an_element_a_message() -> None:
    """Its type is the role in lower case, or the speaker's own name; what it says is escaped."""
    assert get_buffer_string([*TALK, HumanMessage('is 5 < 10 & "so"?')], format="xml", human_prefix="USER") == (
        '<message type="system">be kind</message>\n'
        '<message type="user">hi</message>\n'
        '<message type="ai">hello</message>\n'
        '<message type="tool">42</message>\n'
        '<message type="Moderator">order!</message>\n'
        '<message type="user">is 5 &lt; 10 &amp; "so"?</message>'
    )


def test_calls_are_elements() -> None:
    """With their ids, cut at 64 characters; or else a legacy function call."""
    call = {"name": "f", "args": {"a": "é<"}, "id": "1" * 65, "type": "tool_call"}
    assert get_buffer_string([AIMessage("x", tool_calls=[call])], format="xml") == (
        '<message type="ai">\n  <content>x</content>\n'
        f'  <tool_call id="{"1" * 64}..." name="f">{{"a": "é&lt;"}}</tool_call>\n</message>'
    )
    function = {"name": "g", "arguments": "{}"}
    assert get_buffer_string([AIMessage("", additional_kwargs={"function_call": function})], format="xml") == (
        '<message type="ai">\n  <function_call name="g">{}</function_call>\n</message>'
    )


def test_blocks_are_elements_or_left_out() -> None:
    """Any provider's; never their data, and of long documents and results the beginning."""
    content = [
        "a",
        {"type": "text", "text": "b<"},
        {"type": "thinking", "thinking": "hm"},
        {"type": "image_url", "image_url": {"url": "https://e.x/?a&b"}},
        {"type": "image", "file_id": "f"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}},
        {"type": "audio", "base64": "aaaa", "mime_type": "audio/wav"},
        {"type": "video", "url": "https://e.x"},
        {"type": "text-plain", "text": "t" * 501, "mime_type": "text/plain"},
        {"type": "server_tool_call", "id": "1", "name": "n", "args": {"q": 1}},
        {"type": "server_tool_result", "tool_call_id": "1", "status": "success", "output": ["o" * 600]},
        {"type": "hologram"},
    ]
    text = get_buffer_string([HumanMessage(content)], format="xml")
    assert text == (
        '<message type="human">a b&lt; <reasoning>hm</reasoning> <image url="https://e.x/?a&amp;b" /> '
        '<image file_id="f" /> <video url="https://e.x" /> '
        f"{'t' * 500}... "
        '<server_tool_call id="1" name="n">{"q": 1}</server_tool_call> '
        f'<server_tool_result tool_call_id="1" status="success">["{"o" * 498}...</server_tool_result></message>'
    )


def test_a_format_that_does_not_exist() -> None:
    """It is refused by name."""
    with pytest.raises(InvalidInput, match="'json' is unknown"):
        get_buffer_string([], format="json")  # type: ignore[arg-type]
