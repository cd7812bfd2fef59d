"""Whatever is written where a message is expected becomes that message, or an error that says what was wrong."""

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from hocket.errors import InvalidInput, LoadError
from hocket.load import dumpd
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    convert_to_messages,
)
from hocket.prompt_values import ChatPromptValue, StringPromptValue

pytestmark = pytest.mark.filterwarnings("ignore:FunctionMessage:DeprecationWarning")

CALL = {"name": "f", "args": {"a": 1}, "id": "1", "type": "tool_call"}
RAW = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
BAD = {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{"}}


def one(like: Any) -> BaseMessage:
    (message,) = convert_to_messages([like])
    return message


@pytest.mark.parametrize(
    ("role", "cls"),
    [
        ("human", HumanMessage),
        ("user", HumanMessage),
        ("ai", AIMessage),
        ("assistant", AIMessage),
        ("system", SystemMessage),
    ],
)
def test_roles(role: str, cls: type[BaseMessage]) -> None:
    """As a pair, as a list, and as a mapping with `role` or `type`."""
    for like in ((role, "hi"), [role, "hi"], {"role": role, "content": "hi"}, {"type": role, "content": "hi"}):
        assert one(like) == cls("hi")


def test_a_string_is_the_users() -> None:
    """As an element of a list, and alone."""
    assert convert_to_messages(["hi", "there"]) == [HumanMessage("hi"), HumanMessage("there")]
    assert convert_to_messages("hi") == [HumanMessage("hi")]


def test_a_single_message_is_a_list_of_one() -> None:
    """A message or a mapping without a list around it is read, not iterated."""
    message = HumanMessage("hi")
    assert convert_to_messages(message) == [message]
    assert convert_to_messages({"role": "user", "content": "hi"}) == [message]


def test_messages_are_handed_on() -> None:
    """Messages of any class are the same objects, in a new list; any iterable is read."""
    messages = [HumanMessage("a"), AIMessageChunk("b"), RemoveMessage("1")]
    converted = convert_to_messages(message for message in messages)
    assert all(one is other for one, other in zip(converted, messages, strict=True))


def test_prompt_values_are_asked() -> None:
    """A prompt value gives its own messages."""
    assert convert_to_messages(StringPromptValue(text="hi")) == [HumanMessage("hi")]
    assert convert_to_messages(ChatPromptValue(messages=[AIMessage("hi")])) == [AIMessage("hi")]


def test_openais_mappings() -> None:
    """Tool calls, tool results, developers, functions and parts, as OpenAI writes them."""
    called = one({"role": "assistant", "content": None, "tool_calls": [RAW, CALL, BAD], "name": None, "refusal": None})
    assert isinstance(called, AIMessage)
    assert (called.content, called.tool_calls) == ("", [CALL, CALL])
    assert [(call["name"], call["args"]) for call in called.invalid_tool_calls] == [("g", "{")]
    assert called.additional_kwargs == {"refusal": None}
    assert one({"role": "assistant", "tool_calls": [RAW]}) == AIMessage("", tool_calls=[CALL])
    assert one({"role": "assistant", "content": "x", "tool_calls": None}) == AIMessage("x")
    assert one({"role": "tool", "tool_call_id": "1", "content": "42", "name": "f"}) == ToolMessage(
        "42", tool_call_id="1", name="f"
    )
    assert one({"role": "developer", "content": "be kind"}) == SystemMessage(
        "be kind", additional_kwargs={"__openai_role__": "developer"}
    )
    assert one({"role": "function", "name": "f", "content": "42"}) == FunctionMessage("42", name="f")
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "https://e.x"}}]
    assert one({"role": "user", "content": parts}).content == parts
    assert one({"type": "message", "role": "user", "content": "hi"}) == HumanMessage("hi")


def test_a_legacy_function_call_is_kept() -> None:
    """The call that older histories have beside the content survives; where there is none, there is none."""
    call = {"name": "f", "arguments": "{}"}
    assert one({"role": "assistant", "content": None, "function_call": call}) == AIMessage(
        "", additional_kwargs={"function_call": call}
    )
    assert AIMessage("").additional_kwargs.get("function_call") is None


def test_other_keys_go_to_additional_kwargs() -> None:
    """What no field takes is kept where providers look for it; what was there already stands."""
    message = one(
        {"role": "assistant", "content": "x", "reasoning_content": "hm", "id": "1", "response_metadata": {"m": 1}}
    )
    assert message == AIMessage("x", id="1", response_metadata={"m": 1}, additional_kwargs={"reasoning_content": "hm"})
    assert message.content_blocks[0] == {"type": "reasoning", "reasoning": "hm"}
    kept = one({"role": "user", "content": "x", "a": 1, "b": 1, "additional_kwargs": {"a": 2}})
    assert kept.additional_kwargs == {"a": 2, "b": 1}


def test_orders_to_remove() -> None:
    """They need an id and no content."""
    assert one({"role": "remove", "id": "1"}) == RemoveMessage("1")


def test_nothing_is_changed() -> None:
    """The mappings that were passed are as they were."""
    like = {"role": "assistant", "content": None, "tool_calls": [dict(RAW)], "additional_kwargs": {"a": 1}, "b": 2}
    before = repr(like)
    message = one(like)
    message.additional_kwargs["c"] = 3
    assert repr(like) == before


@pytest.mark.parametrize(
    ("like", "complaint"),
    [
        (("moderator", "hi"), "unknown role 'moderator'.*ChatMessage"),
        ({"role": "zzz", "content": "hi"}, "unknown role 'zzz'"),
        ({"content": "hi"}, "needs a 'role'.*content"),
        ({"role": 5, "content": "hi"}, "needs a 'role'"),
        ({"role": "user"}, "needs 'content'; role 'user'"),
        ({"role": "user", "text": "hi"}, "needs 'content'.*text"),
        (("user", "a", "b"), r"cannot read tuple \('user', 'a', 'b'\)"),
        ((1, "a"), "cannot read tuple"),
        ({"role": "remove"}, "needs the 'id' of another"),
        ({"role": "assistant", "content": "", "tool_calls": "f"}, "'tool_calls' are a list of mappings, not 'f'"),
        ({"role": "assistant", "content": "", "tool_calls": [None]}, "list of mappings"),
        (5, "cannot read int 5"),
        (None, "cannot read NoneType"),
        (b"x" * 200, "cannot read bytes .*… as a message"),
    ],
)
def test_what_is_no_message_is_refused(like: Any, complaint: str) -> None:
    """The error is a ValueError that names what came and what is taken."""
    with pytest.raises(InvalidInput, match=complaint):
        convert_to_messages([like])


@pytest.mark.parametrize("messages", [5, None, 0.5])
def test_what_is_no_list_is_refused(messages: Any) -> None:
    """So is something that is no list of messages at all."""
    with pytest.raises(InvalidInput, match="cannot read"):
        convert_to_messages(messages)


@pytest.mark.parametrize(
    "like",
    [
        {"role": "tool", "content": "no id"},
        {"role": "function", "content": "no name"},
        {"role": "user", "content": 5},
        {"role": "remove", "id": None},
        {"role": "user", "content": "", "additional_kwargs": 5},
        {"role": "assistant", "content": "", "tool_calls": [{"function": 5, "id": "1"}]},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": "{}", "id": "1"}]},
    ],
)
def test_what_a_message_does_not_allow_is_refused(like: dict[str, Any]) -> None:
    """Validation's own errors are ValueErrors too."""
    with pytest.raises(ValueError):
        convert_to_messages([like])


# dumped messages

ALL: list[BaseMessage] = [
    HumanMessage("a", id="1", name="me"),
    HumanMessageChunk("a"),
    AIMessage("a", tool_calls=[CALL], usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
    AIMessageChunk("a", tool_calls=[CALL], chunk_position="last"),
    SystemMessage("a"),
    SystemMessageChunk("a"),
    ToolMessage("a", tool_call_id="1", artifact=[1], status="error"),
    ToolMessageChunk("a", tool_call_id="1"),
    ChatMessage("a", role="Moderator"),
    ChatMessageChunk("a", role="Moderator"),
]


@pytest.mark.parametrize("message", ALL, ids=lambda message: message.type)
def test_dumped_messages_are_read(message: BaseMessage) -> None:
    """What `model_dump` and `dumpd` write is read as the message, the chunk of one as the whole."""
    for dumped in (message.model_dump(), dumpd(message)):
        read = one(dumped)
        assert type(read) in type(message).__mro__
        kept = {key for key in read.model_dump() if key != "type"}
        assert read.model_dump(include=kept) == message.model_dump(include=kept)


def test_a_dumped_message_has_its_values_back() -> None:
    """Bytes and other values without a JSON form too, and what is no message is refused."""
    message = ToolMessage("a", tool_call_id="1", artifact={"b": b"\x00", "lc": 1, "said": [HumanMessage("x")]})
    assert one(dumpd(message)) == message
    for id in (["hocket", "outputs", "LLMResult"], ["os", "system"], 3):
        with pytest.raises(LoadError):
            convert_to_messages([{"lc": 1, "type": "constructor", "id": id, "kwargs": {"content": "x"}}])


@pytest.mark.parametrize("message", ALL, ids=lambda message: message.type)
def test_any_message_as_a_field(message: BaseMessage) -> None:
    """`AnyMessage` reads dumped messages, chunks included, as what they were, and takes instances as they are."""

    class Conversation(BaseModel):
        messages: list[AnyMessage]

    conversation = Conversation(messages=[message])  # type: ignore[list-item]
    assert conversation.messages[0] is message
    assert Conversation.model_validate(conversation.model_dump()) == conversation
    assert Conversation.model_validate_json(conversation.model_dump_json()) == conversation
    assert TypeAdapter(AnyMessage).json_schema()


def test_any_message_is_one_that_exists() -> None:
    """An unknown type is refused, by its name."""
    adapter: TypeAdapter[Any] = TypeAdapter(AnyMessage)
    with pytest.raises(ValueError, match="zzz"):
        adapter.validate_python({"type": "zzz", "content": "a"})
    functions = [FunctionMessage("a", name="f"), FunctionMessageChunk("a", name="f")]
    assert [adapter.validate_python(function.model_dump()) for function in functions] == functions


@pytest.mark.parametrize(
    ("like", "complaint"),
    [
        ({"role": "tool", "content": "x"}, "role 'tool' needs 'tool_call_id', the id of the call"),
        ({"role": "tool", "content": "x", "tool_call_id": None}, "needs 'tool_call_id'"),
        ({"role": "function", "content": "x"}, "role 'function' needs 'name'"),
        ({"role": "user", "content": 5}, "role 'user' cannot be read: content"),
        (
            {"role": "assistant", "content": "x", "tool_calls": [{"name": 1}]},
            "role 'assistant' cannot be read: tool_calls",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_named(like: dict[str, Any], complaint: str) -> None:
    """hocket's error says which message and which field, not pydantic's."""
    with pytest.raises(InvalidInput, match=complaint):
        convert_to_messages([like])
