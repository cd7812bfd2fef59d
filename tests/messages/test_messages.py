"""The message classes: their fields, their short cut past validation, their copies and their looks."""

import copy
import functools
import gc
import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Self
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, TypeAdapter, field_validator

from hocket.errors import InvalidInput
from hocket.load import dumps, loads
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
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
    count_tokens_approximately,
    create_image_block,
    create_text_block,
    get_msg_title_repr,
    merge_message_runs,
    tool_call,
)
from hocket.messages.base import copy_message, copy_with_id, rebuild
from hocket.prompt_values import ChatPromptValue

pytestmark = pytest.mark.filterwarnings("ignore:FunctionMessage:DeprecationWarning")

REQUIRED: dict[type[BaseMessage], dict[str, Any]] = {
    HumanMessage: {},
    HumanMessageChunk: {},
    AIMessage: {},
    AIMessageChunk: {},
    SystemMessage: {},
    SystemMessageChunk: {},
    ToolMessage: {"tool_call_id": "1"},
    ToolMessageChunk: {"tool_call_id": "1"},
    ChatMessage: {"role": "Moderator"},
    ChatMessageChunk: {"role": "Moderator"},
    FunctionMessage: {"name": "f"},
    FunctionMessageChunk: {"name": "f"},
}
CLASSES = pytest.mark.parametrize("cls", REQUIRED, ids=lambda cls: cls.__name__)
SPOKEN = pytest.mark.parametrize("cls", [cls for cls in REQUIRED if not REQUIRED[cls]], ids=lambda cls: cls.__name__)


def make(cls: type[BaseMessage], content: Any = "x", **fields: Any) -> BaseMessage:
    return cls(content, **{**REQUIRED[cls], **fields})


def state(message: BaseMessage) -> Any:
    """All that there is to a message."""
    return {
        "class": type(message),
        "fields": list(vars(message).items()),
        "given": message.model_fields_set,
        "extra": message.__pydantic_extra__,
        "private": message.__pydantic_private__,
    }


# fields


@CLASSES
def test_what_every_message_has(cls: type[BaseMessage]) -> None:
    """Content by position or by name, text, type, and LangChain's defaults."""
    message = make(cls)
    assert message == cls(content="x", **REQUIRED[cls])
    assert (message.content, message.text, message.id) == ("x", "x", None)
    assert (message.additional_kwargs, message.response_metadata) == ({}, {})
    assert message.name == REQUIRED[cls].get("name")


@CLASSES
def test_chunks_are_messages_of_their_class(cls: type[BaseMessage]) -> None:
    """Each class has one chunk class, which is a subclass of it."""
    if not issubclass(cls, BaseMessageChunk):
        (chunk,) = [each for each in REQUIRED if each.__name__ == f"{cls.__name__}Chunk"]
        assert issubclass(chunk, cls)
        assert issubclass(chunk, BaseMessageChunk)


def test_types_tell_the_classes_apart() -> None:
    """Every class has a `type` of its own: those of the messages are LangChain's words."""
    types = {cls: cls.model_fields["type"].default for cls in (*REQUIRED, RemoveMessage)}
    assert len(set(types.values())) == len(types)
    words = {"human", "ai", "system", "tool", "chat", "function", "remove"}
    assert words == {word for cls, word in types.items() if not issubclass(cls, BaseMessageChunk)}
    assert all(word == cls.__name__ for cls, word in types.items() if issubclass(cls, BaseMessageChunk))
    with pytest.raises(ValueError, match="human"):
        HumanMessage("x", type="ai")


@CLASSES
def test_messages_survive_the_journey(cls: type[BaseMessage]) -> None:
    """As a dict, as JSON, by pickle and by `dumps`: equal, with everything that was given."""
    message = make(
        cls,
        ["a", {"type": "text", "text": "b"}],
        id="1",
        additional_kwargs={"a": [1]},
        response_metadata={"b": None},
        note={"c": 1},
    )
    assert cls.model_validate(message.model_dump()) == message
    assert cls.model_validate_json(message.model_dump_json()) == message
    assert pickle.loads(pickle.dumps(message)) == message
    assert loads(dumps(message)) == message


@CLASSES
def test_defaults_are_nobody_elses(cls: type[BaseMessage]) -> None:
    """No two messages share a container."""
    one, other = make(cls), make(cls)
    for name, value in vars(one).items():
        if isinstance(value, dict | list):
            assert value is not getattr(other, name)
    one.additional_kwargs["a"] = 1
    assert other.additional_kwargs == make(cls).additional_kwargs == {}


def test_parts_keep_their_order() -> None:
    """Texts and blocks of one message stay in order; its text is that of strings and texts, Gemini's without a type too."""
    parts = ["a", create_image_block(url="https://e.x"), create_text_block("b"), {"type": "zzz"}, {"text": "untyped"}]
    message = HumanMessage(parts)
    assert message.content == parts
    assert message.text == "abuntyped"
    assert HumanMessage([create_text_block(text) for text in "abc"]).text == "abc"
    assert HumanMessage([{"type": "text", "text": None}, {"type": "text"}]).text == ""


def test_ids_become_text() -> None:
    """Numbers are taken as ids; a tool call's id may be a UUID or a number too."""
    assert HumanMessage("x", id=5).id == "5"
    uuid = UUID(int=7)
    assert [ToolMessage("x", tool_call_id=id_).tool_call_id for id_ in (uuid, 7, 7.5, "7")] == [
        str(uuid),
        "7",
        "7.5",
        "7",
    ]


def test_tool_results() -> None:
    """The call's id is required, the rest is not; what a tool returned becomes content somehow."""
    with pytest.raises(ValueError, match="tool_call_id"):
        ToolMessage("x")
    message = ToolMessage("x", tool_call_id="1")
    assert (message.name, message.artifact, message.status) == (None, None, "success")
    with pytest.raises(ValueError, match="status"):
        ToolMessage("x", tool_call_id="1", status="maybe")
    artifact = object()
    assert ToolMessage("x", tool_call_id="1", artifact=artifact).artifact is artifact
    assert "artifact" not in ToolMessage("x", tool_call_id="1").text
    contents: list[Any] = [42, None, ("a", 1), ["a", {"b": 1}, 2.5], {"a": 1}]
    assert [ToolMessage(content=each, tool_call_id="1").content for each in contents if each is not None] == [
        "42",
        ["a", "1"],
        ["a", {"b": 1}, "2.5"],
        "{'a': 1}",
    ]


def test_speakers_of_ones_own() -> None:
    """A role of any name survives; without one there is no such message."""
    message = ChatMessage("order!", role="Moderator", name="Ann")
    assert ChatMessage.model_validate_json(message.model_dump_json()) == message
    assert (message.role, message.name) == ("Moderator", "Ann")
    with pytest.raises(ValueError, match="role"):
        ChatMessage("order!")


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_function_messages_are_deprecated() -> None:
    """Making one warns, at the line that does it; handing one on does not. The name is required."""
    with pytest.warns(DeprecationWarning, match="use ToolMessage") as caught:
        message = FunctionMessage("x", name="f")
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="name"):
        FunctionMessage("x")
    assert ChatPromptValue(messages=[message]).messages == [message]


@pytest.mark.filterwarnings("error")
def test_handing_a_function_message_on_does_not_warn() -> None:
    """Only who makes one is warned, not who validates something that has one in it."""
    with pytest.warns(DeprecationWarning):
        message = FunctionMessage("x", name="f")
    assert TypeAdapter(list[FunctionMessage]).validate_python([message]) == [message]
    assert copy.deepcopy(message) == pickle.loads(pickle.dumps(message)) == message


def test_orders_to_remove() -> None:
    """An id, by position, and no content."""
    assert (RemoveMessage("1").id, RemoveMessage(id="1").content) == ("1", "")
    assert RemoveMessage("1", content="").type == "remove"
    with pytest.raises(ValueError, match="no content"):
        RemoveMessage("1", content="x")
    assert pickle.loads(pickle.dumps(RemoveMessage("1"))) == loads(dumps(RemoveMessage("1"))) == RemoveMessage("1")


@pytest.mark.parametrize("fields", [{}, {"content": 5}, {"content": [5]}, {"content": "x", "id": []}])
def test_what_is_no_message(fields: dict[str, Any]) -> None:
    """The error says which field."""
    with pytest.raises(ValueError, match=r"content|id"):
        HumanMessage(**fields)


def test_blocks_instead_of_content() -> None:
    """`content_blocks=` is content; a reply's calls among them are its calls, unless others are given."""
    call: Any = {"type": "tool_call", "name": "f", "args": {}, "id": "1"}
    message = AIMessage(content_blocks=[create_text_block("a"), call])
    assert (message.text, message.tool_calls) == ("a", [call])
    assert AIMessage(content_blocks=[call], tool_calls=[]).tool_calls == [call]
    other: Any = {**call, "id": "2"}
    assert AIMessage(content_blocks=[call], tool_calls=[other]).tool_calls == [other]
    assert HumanMessage(content_blocks=[]).content == []
    with pytest.raises(TypeError, match="not both"):
        HumanMessage("x", content_blocks=[])


# replies


def test_a_reply_may_say_nothing_but_calls() -> None:
    """Empty content with calls is valid; their order and ids stay."""
    calls = [tool_call(name="f", args={}, id="1"), tool_call(name="g", args={"a": 1}, id="2")]
    message = AIMessage("", tool_calls=calls)
    assert message.tool_calls == calls
    assert [block["type"] for block in message.content_blocks] == ["tool_call", "tool_call"]


def test_raw_calls_are_parsed() -> None:
    """OpenAI's calls in `additional_kwargs` are read, one good and one bad, unless calls are given."""
    raw = [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": '{"a" 1}'}},
    ]
    message = AIMessage("", additional_kwargs={"tool_calls": raw})
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("f", {"a": 1})]
    (invalid,) = message.invalid_tool_calls
    assert (invalid["args"], "line 1 column" in (invalid["error"] or "")) == ('{"a" 1}', True)
    chunk = AIMessageChunk("", additional_kwargs={"tool_calls": raw})
    assert [piece["args"] for piece in chunk.tool_call_chunks] == ['{"a": 1}', '{"a" 1}']
    other = tool_call(name="h", args={}, id="3")
    assert AIMessage("", additional_kwargs={"tool_calls": raw}, tool_calls=[other]).tool_calls == [other]


def test_calls_get_their_type() -> None:
    """A call written without its type has one in the message, as in LangChain."""
    message = AIMessage(
        "",
        tool_calls=[{"name": "f", "args": {}, "id": None}],
        invalid_tool_calls=[{"name": "g", "args": "{", "id": None, "error": None}],
    )
    assert message.tool_calls[0]["type"] == "tool_call"
    assert message.invalid_tool_calls[0]["type"] == "invalid_tool_call"
    chunk = AIMessageChunk("", tool_call_chunks=[{"name": None, "args": "", "id": None}])
    assert chunk.tool_call_chunks[0]["type"] == "tool_call_chunk"


def test_reasoning_is_not_text() -> None:
    """Neither as a block nor beside the content."""
    block = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "42"}])
    beside = AIMessage("42", additional_kwargs={"reasoning_content": "hm"})
    assert block.text == beside.text == "42"
    assert block.content_blocks == beside.content_blocks
    assert beside.content_blocks[0] == {"type": "reasoning", "reasoning": "hm"}


# the short cut


@SPOKEN
@given(content=st.text())
def test_the_short_cut_gives_what_validation_gives(cls: type[BaseMessage], content: str) -> None:
    """A message made from one string alone is, to the last slot, the one that pydantic would have made."""
    quick, validated = cls(content), cls.model_validate({"content": content})
    assert state(quick) == state(validated) == state(cls(content=content))
    assert quick == validated
    assert repr(quick) == repr(validated)
    for dump in (cls.model_dump, cls.model_dump_json, functools.partial(cls.model_dump, exclude_unset=True)):
        assert dump(quick) == dump(validated)
    assert state(pickle.loads(pickle.dumps(quick))) == state(validated)
    assert state(loads(dumps(quick))) == state(loads(dumps(validated)))
    assert state(copy.copy(quick)) == state(copy.deepcopy(quick)) == state(quick.model_copy()) == state(validated)


CHANGES: dict[str, Callable[[BaseMessage], Any]] = {
    "set a field": lambda message: setattr(message, "id", "1"),
    "set an extra": lambda message: setattr(message, "note", 1),
    "set the content": lambda message: setattr(message, "content", "y"),
    "edit in place": lambda message: message.additional_kwargs.update(a=1),
    "copy with changes": lambda message: message.model_copy(update={"name": "me", "note": 1}),
    "delete and set": lambda message: (delattr(message, "name"), setattr(message, "name", "me")),
}


@SPOKEN
@pytest.mark.parametrize("change", CHANGES)
def test_quick_messages_change_like_others(cls: type[BaseMessage], change: str) -> None:
    """What is done to a quickly made message stays with it, and has the usual outcome."""
    untouched, quick, validated = cls("x"), cls("x"), cls.model_validate({"content": "x"})
    outcomes = [CHANGES[change](quick), CHANGES[change](validated)]
    assert state(quick) == state(validated)
    assert outcomes[0] == outcomes[1]
    if isinstance(outcomes[0], BaseMessage):
        assert state(outcomes[0]) == state(outcomes[1])
    assert state(untouched) == state(cls("x")) == state(cls.model_validate({"content": "x"}))


def test_subclasses_are_validated() -> None:
    """Whoever adds fields or validators to a message gets them, made from one string too."""

    class Loud(HumanMessage, init=False):
        volume: int = 11
        marks: list[str] = Field(default_factory=list)

        @field_validator("content")
        @classmethod
        def _shout(cls, content: Any) -> Any:
            return content.upper()

    message = Loud("hi")
    assert (message.content, message.volume, message.marks) == ("HI", 11, [])
    assert Loud("hi").marks is not message.marks


@SPOKEN
def test_only_strings_take_the_short_cut(cls: type[BaseMessage]) -> None:
    """A subclass of str, a list, or anything more than the content is validated."""

    class Shout(str):
        __slots__ = ()

    assert state(cls(Shout("x")))["given"] == {"content"}
    assert cls(Shout("x")) == cls("x")
    assert cls(["x"]).content == ["x"]
    assert state(cls("x", id=1)) == state(cls.model_validate({"content": "x", "id": 1}))
    with pytest.raises(ValueError, match="content"):
        cls(5)


# copies


@CLASSES
def test_an_isolated_copy_shares_no_container(cls: type[BaseMessage]) -> None:
    """Lists and mappings are copied all the way down, extras included; the rest is equal."""
    message = make(
        cls, [{"type": "text", "text": "a", "extras": {"b": [1]}}], response_metadata={"c": [{}]}, note={"d": []}
    )
    copied = copy_message(message)
    assert state(copied)["fields"] == state(message)["fields"]
    assert (copied, type(copied)) == (message, cls)
    before = copy.deepcopy(message)
    copied.content[0]["extras"]["b"].append(2)  # type: ignore[index, call-overload]
    copied.response_metadata["c"][0]["x"] = 1
    copied.note["d"].append(1)  # type: ignore[attr-defined]
    copied.additional_kwargs["e"] = 1
    assert message == before


def test_an_isolated_copy_with_changes() -> None:
    """Changes are those of the copy; foreign objects are shared."""
    artifact = object()
    message = ToolMessage("x", tool_call_id="1", artifact=artifact)
    changed = copy_message(message, id="2", content="y")
    assert (changed.id, changed.content, changed.artifact) == ("2", "y", artifact)
    assert (message.id, message.content) == (None, "x")


def test_rebuilding_keeps_extras_and_private_attributes() -> None:
    """A rebuilt message has the fields it is given, and the rest of the message it is made from."""
    message = HumanMessage("x", note=1)
    made = rebuild(message, {**vars(message), "type": "HumanMessageChunk"}, HumanMessageChunk)
    assert made == HumanMessageChunk("x", note=1)
    made.note = 2  # type: ignore[attr-defined]
    assert message.note == 1  # type: ignore[attr-defined]


def test_messages_without_a_type() -> None:
    """``model_construct`` makes them, of classes that give none: they hold what they were given."""
    message = BaseMessage.model_construct(content="a", additional_kwargs={"b": 1})
    assert repr(message) == "BaseMessage(content='a', additional_kwargs={'b': 1}, response_metadata={})"
    assert not hasattr(message, "type")
    reply = AIMessage("a", additional_kwargs={"b": 1})
    del reply.type
    assert vars(reply)["additional_kwargs"] == {"b": 1}


def test_copies_are_made_as_their_class_makes_instances() -> None:
    """A class of one's own may have a ``__new__``."""

    class Counted(AIMessage):
        made: ClassVar[int] = 0

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            cls.made += 1
            return super().__new__(cls)

    message = Counted("a")
    assert type(copy_message(message)) is type(copy_with_id(message, "b")) is Counted
    assert Counted.made == 3


def test_whoever_comes_second_sees_what_the_first_has_made() -> None:
    """Another thread may make it whole between the look that found nothing and what that look leads to."""
    for message in (AIMessage("a"), AIMessageChunk("a") + AIMessageChunk("b")):
        assert vars(message)  # by the other thread
        for name in ("content", "additional_kwargs", "tool_calls"):
            assert message.__getattr__(name) is getattr(message, name)


def test_messages_are_collected_when_nobody_needs_them() -> None:
    """Making and adding messages leaves nothing behind that refers to itself."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            HumanMessage("x"), (AIMessageChunk("x") + AIMessageChunk("y")).tool_calls
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_messages_in_models_of_ones_own() -> None:
    """A field of a message class takes messages and dumped ones, and gives a JSON schema."""

    class Turn(BaseModel):
        asked: HumanMessage
        said: AIMessage

    turn = Turn(asked=HumanMessage("a"), said=AIMessage("b"))
    assert Turn.model_validate(turn.model_dump()) == Turn.model_validate_json(turn.model_dump_json()) == turn
    streamed = Turn(asked=HumanMessage("a"), said=AIMessageChunk("b") + AIMessageChunk("c"))
    assert streamed.model_dump()["said"]["content"] == "bc"
    assert "tool_calls" in str(Turn.model_json_schema())


# looks


def test_titles() -> None:
    """Eighty columns, bold on demand."""
    title = get_msg_title_repr("Human Message")
    assert title == "=" * 32 + " Human Message " + "=" * 33
    assert get_msg_title_repr("x", bold=True) == "=" * 38 + "\033[1m x \033[0m" + "=" * 39


def test_messages_for_reading(capsys: pytest.CaptureFixture[str]) -> None:
    """Title, name, content; a reply's calls with their arguments, those that could not be read with their error."""
    HumanMessage("hi", name="Ann").pretty_print()
    assert capsys.readouterr().out == f"{get_msg_title_repr('Human Message')}\nName: Ann\n\nhi\n"
    message = AIMessage(
        "Let me see.",
        tool_calls=[{"name": "weather", "args": {"city": "Paris", "days": 2}, "id": "1"}],
        invalid_tool_calls=[{"name": "g", "args": "{", "id": "2", "error": "no JSON"}],
    )
    assert message.pretty_repr().splitlines()[1:] == [
        "",
        "Let me see.",
        "Tool Calls:",
        "  weather (1)",
        " Call ID: 1",
        "  Args:",
        "    city: Paris",
        "    days: 2",
        "Invalid Tool Calls:",
        "  g (2)",
        " Call ID: 2",
        "  Error: no JSON",
        "  Args:",
        "    {",
    ]
    assert AIMessage("").pretty_repr(html=True) == get_msg_title_repr("Ai Message", bold=True)


def nested(depth: int) -> dict[str, Any]:
    """A block with ``depth`` lists and mappings in one another."""
    value: Any = {"type": "x"}
    for _ in range(depth - 1):
        value = {"type": "x", "value": value}
    return {"type": "x", **value}


def test_what_is_nested_too_deep_is_refused() -> None:
    """At the door: counting, merging and folding it would end in a RecursionError, and storing it is refused too."""
    deep = HumanMessage([nested(126)])
    assert count_tokens_approximately(merge_message_runs([deep, deep])) > 0
    assert (HumanMessageChunk(content=[nested(126)]) + HumanMessageChunk(content=["a"])).content
    loop: list[Any] = []
    loop.extend([loop, loop])
    for content in ([nested(300)], [{"type": "x", "value": loop}]):
        with pytest.raises(InvalidInput, match="more than 128 deep"):
            HumanMessage(content)
        with pytest.raises(InvalidInput, match="more than 128 deep"):
            convert_to_messages([{"role": "user", "content": content}])
    with pytest.raises(InvalidInput, match="more than 128 deep"):
        AIMessage("", tool_calls=[{"name": "f", "args": nested(300), "id": "1"}])


def test_names_that_langchain_exports() -> None:
    """A block can be checked, and a manager of callbacks made, from where programs import these."""
    import hocket
    import hocket.messages
    from hocket.callbacks import CallbackManager
    from hocket.messages.content_validate import validate_content_block

    assert hocket.messages.validate_content_block is validate_content_block
    assert hocket.CallbackManager is CallbackManager
