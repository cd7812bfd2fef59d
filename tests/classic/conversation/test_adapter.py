"""`MessageAdapter`: another application's messages as hocket's, and back, with nothing lost."""

import enum
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.classic.conversation import MessageAdapter
from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"place": "北京"}'}}
PNG = "iVBORw0KGgo="


class Role(enum.Enum):
    """Roles, as applications have them."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass
class Function:
    name: str
    arguments: str


@dataclass
class Call:
    id: str
    function: Function
    type: str = "function"


@dataclass
class Message:
    """A message, as applications have it."""

    role: Any
    content: str | None = None
    tool_calls: list[Any] | None = None
    name: str | None = None
    tool_call_id: str | None = None
    base64_image: str | None = None


ROLES: list[tuple[dict[str, Any], Any]] = [
    ({"role": "user", "content": "hi"}, HumanMessage("hi")),
    ({"role": "system", "content": "be brief"}, SystemMessage("be brief")),
    (
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        AIMessage("", tool_calls=[{"id": "c1", "name": "look", "args": {"place": "北京"}, "type": "tool_call"}]),
    ),
    (
        {"role": "tool", "content": "rain", "tool_call_id": "c1", "name": "look"},
        ToolMessage("rain", tool_call_id="c1", name="look"),
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), ROLES, ids=[theirs["role"] for theirs, _ in ROLES])
def test_the_four_roles(theirs: dict[str, Any], ours: Any) -> None:
    """There and back, as mappings and as objects."""
    assert MessageAdapter.to_langchain(theirs) == ours
    assert MessageAdapter.to_langchain(Message(**theirs)) == ours
    assert MessageAdapter.from_langchain(ours) == theirs
    assert MessageAdapter.from_langchain(ours, Message) == Message(**theirs)


def test_lists() -> None:
    """In order."""
    theirs = [theirs for theirs, _ in ROLES]
    ours = MessageAdapter.batch_to_langchain(theirs)
    assert ours == [ours for _, ours in ROLES]
    assert MessageAdapter.batch_from_langchain(ours) == theirs
    assert MessageAdapter.batch_from_langchain(ours, Message) == [Message(**one) for one in theirs]


def test_objects_with_enums_and_objects_inside() -> None:
    """Roles that are enums, and calls that are objects. None is no text."""
    theirs = Message(Role.ASSISTANT, None, [Call("c1", Function("look", '{"place": "北京"}'))])
    assert MessageAdapter.to_langchain(theirs) == ROLES[2][1]
    assert MessageAdapter.to_langchain(Message(Role.USER, None)) == HumanMessage("")


def test_a_message_of_ours_is_one_already() -> None:
    """And a role of one's own comes back."""
    ours = ChatMessage("hi", role="critic")
    assert MessageAdapter.to_langchain(ours) is ours
    assert MessageAdapter.from_langchain(ours) == {"role": "critic", "content": "hi"}


def test_arguments_that_are_no_json_are_kept() -> None:
    """As they came, in their place among the calls."""
    broken = {"id": "c0", "type": "function", "function": {"name": "look", "arguments": '{"place": '}}
    theirs = {"role": "assistant", "content": "", "tool_calls": [broken, CALL, {**broken, "id": "c2"}]}
    ours = MessageAdapter.to_langchain(theirs)
    assert isinstance(ours, AIMessage)
    assert [call["id"] for call in ours.tool_calls] == ["c1"]
    assert [(call["id"], call["args"]) for call in ours.invalid_tool_calls] == [
        ("c0", '{"place": '),
        ("c2", '{"place": '),
    ]
    assert MessageAdapter.from_langchain(ours) == theirs


@pytest.mark.parametrize("content", ["", "look at this"])
@pytest.mark.parametrize(
    ("image", "mime_type"), [(PNG, "image/png"), ("/9j/4AAQ", "image/jpeg"), ("AAAA", "image/jpeg")], ids=str
)
def test_an_image_is_a_block(content: str, image: str, mime_type: str) -> None:
    """Behind the text; what format it has is read off it."""
    for more in ({"role": "user"}, {"role": "tool", "tool_call_id": "c1"}):
        theirs = {**more, "content": content, "base64_image": image}
        ours = MessageAdapter.to_langchain(theirs)
        block = {"type": "image", "base64": image, "mime_type": mime_type}
        assert ours.content_blocks[-1] == block and ours.text == content
        assert MessageAdapter.from_langchain(ours) == theirs


@pytest.mark.parametrize(
    ("prefix", "mime_type", "back"),
    [("data:image/png;base64,", "image/png", PNG), ("data:;base64,", "image/png", PNG)],
)
def test_an_image_may_be_a_data_url(prefix: str, mime_type: str, back: str) -> None:
    """Its prefix is no part of the data: it would be sent twice."""
    ours = MessageAdapter.to_langchain({"role": "user", "base64_image": prefix + PNG})
    assert ours.content == [{"type": "image", "base64": PNG, "mime_type": mime_type}]
    assert MessageAdapter.from_langchain(ours) == {"role": "user", "content": "", "base64_image": back}


def test_the_type_that_a_data_url_names_is_kept() -> None:
    """Also where it is not what the data looks like."""
    ours = MessageAdapter.to_langchain({"role": "user", "base64_image": f"data:image/tiff;base64,{PNG}"})
    assert ours.content == [{"type": "image", "base64": PNG, "mime_type": "image/tiff"}]
    with pytest.raises(InvalidInput, match="base64_image begins with 'data:image/png,x'"):
        MessageAdapter.to_langchain({"role": "user", "base64_image": "data:image/png,x"})


def test_other_content_is_handed_on_as_blocks() -> None:
    """It has no field of its own, and is not lost."""
    blocks: list[Any] = [
        {"type": "text", "text": "hear"},
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"},
    ]
    two = [{"type": "image", "base64": PNG, "mime_type": "image/png"}] * 2
    odd = [{"type": "image", "base64": PNG, "mime_type": "image/tiff"}]
    for content in (blocks, two, odd, []):
        theirs = {"role": "user", "content": content}
        ours = MessageAdapter.to_langchain(theirs)
        assert ours.content == content
        assert MessageAdapter.from_langchain(ours) == theirs


texts = st.text(max_size=20)
calls = st.builds(
    lambda name, arguments, id: {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}},
    st.text(min_size=1, max_size=5),
    st.one_of(
        st.dictionaries(texts, st.one_of(texts, st.integers(), st.none()), max_size=3).map(
            lambda args: json.dumps(args, ensure_ascii=False)
        ),
        st.sampled_from(["{", '{"a": ', "[1]", "nonsense"]),
    ),
    st.text(min_size=1, max_size=5),
)
optional = {"name": st.text(min_size=1, max_size=5), "base64_image": st.sampled_from([PNG, "/9j/4AAQ"])}
messages = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": texts}, optional=optional),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": texts},
        optional={**optional, "tool_calls": st.lists(calls, min_size=1, max_size=4)},
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "content": texts, "tool_call_id": st.text(min_size=1, max_size=5)}, optional=optional
    ),
)


@given(messages)
def test_nothing_is_lost(theirs: dict[str, Any]) -> None:
    """Of any message there and back."""
    assert MessageAdapter.from_langchain(MessageAdapter.to_langchain(theirs)) == theirs


REFUSED: list[tuple[Any, str]] = [
    (
        {"role": "critic", "content": "hi"},
        "the role of a message is 'critic'; it must be user, assistant, system or tool",
    ),
    ({"content": "hi"}, "the role of a message is None"),
    ("hi", "the role of a message is None"),
    ({"role": "tool", "content": "rain"}, "has no tool_call_id"),
    ({"role": "user", "content": 7}, "the content of a message is int"),
    ({"role": "user", "base64_image": b"x"}, "base64_image is bytes"),
    ({"role": "assistant", "tool_calls": "look"}, "tool_calls is str"),
    ({"role": "assistant", "tool_calls": [{"id": "c1"}]}, "tool call 0 has no function"),
]


@pytest.mark.parametrize(("theirs", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(theirs: Any, message: str) -> None:
    """By an error that says what is wrong."""
    with pytest.raises(InvalidInput, match=message):
        MessageAdapter.to_langchain(theirs)


def test_a_message_without_a_role() -> None:
    """Has no place in another application."""
    with pytest.raises(InvalidInput, match="a RemoveMessage has no role in another application"):
        MessageAdapter.from_langchain(RemoveMessage("1"))
