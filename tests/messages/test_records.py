"""Messages as data: LangChain's dictionaries and hocket's stored records, of this version and all before."""

import json
import math
import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, SecretStr

from hocket.documents import Document
from hocket.errors import InvalidInput, LoadError
from hocket.load import dumpd, dumps, loads
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
    dump_message,
    dumps_message,
    load_message,
    loads_message,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
    tool_call_chunk,
)
from hocket.messages.records import RECORD_VERSION, _warn_once

pytestmark = pytest.mark.filterwarnings("ignore:FunctionMessage:DeprecationWarning")

FIXTURES = Path(__file__).parent.parent / "fixtures" / "messages"


def golden_messages() -> dict[str, BaseMessage]:
    """The messages whose records lie under ``tests/fixtures/messages``; the README there tells how they were written."""
    call = {"name": "read_sensor", "args": {"bed": 2, "units": ["%"], "lc": 1}, "id": "call_1", "type": "tool_call"}
    bad = {"name": "read_sensor", "args": '{"bed": 4', "id": "call_2", "error": "cut short"}
    usage = {
        "input_tokens": 120,
        "output_tokens": 30,
        "total_tokens": 150,
        "input_token_details": {"cache_read": 64},
        "output_token_details": {"reasoning": 12},
    }
    reply: Any = {"tool_calls": [call], "invalid_tool_calls": [bad], "usage_metadata": usage}
    return {
        "human": HumanMessage("Which beds need water?"),
        "human_blocks": HumanMessage(
            [
                {"type": "text", "text": "And this?"},
                {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
            ],
            name="ada",
            id="run-1",
        ),
        "system": SystemMessage("You keep a garden diary.", additional_kwargs={"__openai_role__": "developer"}),
        "ai": AIMessage(
            [
                {"type": "thinking", "thinking": "Beds two and four.", "signature": "EqQB+/=="},
                {"type": "redacted_thinking", "data": "EmwK"},
                "Let me look. Ünïcödé ✓",
            ],
            id="run-2",
            additional_kwargs={"reasoning_content": "short"},
            response_metadata={"model_name": "m", "finish_reason": "stop", "lc": {"type": "constructor"}},
            **reply,
        ),
        "tool": ToolMessage("31 %", tool_call_id="call_1", name="read_sensor", status="error"),
        "tool_artifact": ToolMessage(
            "31 %",
            tool_call_id="call_1",
            artifact={
                "bytes": b"\x00\xff",
                "when": datetime(2026, 11, 22, 5, 30, tzinfo=UTC),
                "day": date(2026, 11, 22),
                "for": timedelta(hours=2),
                "id": UUID(int=7),
                "price": Decimal("1.50"),
                "beds": {"north", "south", "east", "west"},
                "by_number": {1: "dry", 2: "wet"},
                "far": math.inf,
                "text": "a\x00b\ud83d",
                "said": [HumanMessage("so", id="h")],
                "user_data": {"lc": 1, "type": "secret", "id": ["PATH"]},
                "zero": 0,
                "none": None,
            },
        ),
        "chat": ChatMessage("The hose is on the left.", role="gardener"),
        "function": FunctionMessage("12", name="count_beds"),
        "remove": RemoveMessage(id="run-1"),
        "extras": HumanMessage("hi", mood="sunny", seen=[1, None]),
        "human_chunk": HumanMessageChunk("Wh"),
        "system_chunk": SystemMessageChunk("You"),
        "ai_chunk": AIMessageChunk(
            "Bed ", id="run-3", tool_call_chunks=[tool_call_chunk(name="read_sensor", args='{"bed": ', id="c", index=0)]
        ),
        "ai_chunk_last": AIMessageChunk("", chunk_position="last", response_metadata={"finish_reason": "stop"}),
        "tool_chunk": ToolMessageChunk("31", tool_call_id="call_1"),
        "chat_chunk": ChatMessageChunk("The", role="gardener"),
        "function_chunk": FunctionMessageChunk("1", name="count_beds"),
        **{f"full_{message.type}": message for message in full_messages(reply)},
    }


def full_messages(reply: dict[str, Any]) -> list[BaseMessage]:
    """A message of every class with every field, with the contents and calls of a ``reply``."""
    said: dict[str, Any] = {
        "content": ["Text, ", {"type": "text", "text": "and a block.", "extras": {"signature": "EqQB+/=="}}],
        "additional_kwargs": {"seen": b"\x00", "lc": 1},
        "response_metadata": {"model_name": "m"},
        "name": "ada",
        "id": "run-4",
    }
    result: dict[str, Any] = {"tool_call_id": "call_1", "artifact": [1, {"wet": True}], "status": "error"}
    streamed: Any = {
        "tool_call_chunks": [tool_call_chunk(name="f", args="{}", id="c", index=0)],
        "chunk_position": "last",
    }
    removed = {name: value for name, value in said.items() if name != "content"}
    return [
        HumanMessage(**said),
        SystemMessage(**said),
        AIMessage(**said, **reply),
        ToolMessage(**said, **result),
        ChatMessage(**said, role="gardener"),
        FunctionMessage(**said),
        RemoveMessage(**removed),
        HumanMessageChunk(**said),
        SystemMessageChunk(**said),
        AIMessageChunk(**said, **reply, **streamed),
        ToolMessageChunk(**said, **result),
        ChatMessageChunk(**said, role="gardener"),
        FunctionMessageChunk(**said),
    ]


# Golden files


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("v*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_records_of_every_version_load(path: Path) -> None:
    """What any version wrote still loads, as the message that was stored."""
    message = loads_message(path.read_bytes())
    expected = golden_messages()[path.stem]
    assert type(message) is type(expected)
    assert message == expected
    assert loads_message(path.read_text(encoding="utf-8")) == expected


def test_records_of_this_version_are_written_the_same() -> None:
    """Byte for byte: sets, dictionaries and floats too, in every process."""
    folder = FIXTURES / f"v{RECORD_VERSION}"
    written = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    assert {name: dumps_message(message) + "\n" for name, message in golden_messages().items()} == written


def test_every_field_of_every_class_is_in_a_golden_file() -> None:
    """A field that is new needs a message with it."""
    used: dict[type[BaseMessage], set[str]] = {cls: {"type"} for cls in OF_CLASS}
    for path in (FIXTURES / f"v{RECORD_VERSION}").glob("full_*.json"):
        text = path.read_text(encoding="utf-8")
        used[type(loads_message(text))] |= {*json.loads(text)["data"]}
    for cls, names in used.items():
        assert {*cls.model_fields} - names <= ({"content"} if cls is RemoveMessage else set()), cls


def test_a_record_is_readable_and_compact() -> None:
    """A record says its version and its type, and of the fields only those that say something."""
    assert dumps_message(HumanMessage("hi")) == '{"v":1,"type":"human","data":{"content":"hi"}}'
    assert [*dump_message(AIMessage("", id="1", name="bot"))["data"]] == ["content", "name", "id"]
    assert dump_message(ToolMessage("", tool_call_id="1", artifact=0))["data"] == {
        "content": "",
        "tool_call_id": "1",
        "artifact": 0,
    }


def test_the_order_of_fields_is_that_of_their_declaration() -> None:
    """However a message came about: equal messages give equal bytes."""
    made = AIMessage("ab", id="1", name="n", response_metadata={"model_name": "m"})
    folded = message_chunk_to_message(
        AIMessageChunk("a", name="n") + AIMessageChunk("b", response_metadata={"model_name": "m"}, id="1")
    )
    assert folded == made
    assert dumps_message(folded) == dumps_message(made)


# LangChain's forms

LANGCHAIN = json.loads((FIXTURES / "langchain" / "langchain-core-1.7.2.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("at", range(len(LANGCHAIN["dumpd"])))
def test_what_langchain_wrote_loads(at: int) -> None:
    """Its dictionaries and its dumps give the same message, which `message_to_dict` writes as LangChain does."""
    as_dict, dumped = LANGCHAIN["message_to_dict"][at], LANGCHAIN["dumpd"][at]
    message = load_message(as_dict)
    assert type(message).__name__ == dumped["id"][-1]
    assert load_message(dumped) == message
    assert loads(json.dumps(dumped), allowed_objects="messages") == message
    assert message_to_dict(message) == as_dict
    assert load_message(dump_message(message)) == message


@pytest.mark.parametrize(
    "path",
    [["langchain", "schema"], ["langchain_core", "messages"], ["langchain_core", "messages", "ai"]],
    ids=".".join,
)
def test_ids_of_older_langchains_load(path: list[str]) -> None:
    """Dumps of 2023, of langchain-core's first versions and of its JavaScript twin name the same classes otherwise."""
    node = {"lc": 1, "type": "constructor", "id": [*path, "AIMessage"], "kwargs": {"content": "hi", "example": False}}
    assert load_message(node).text == "hi"


def test_langchain_could_read_a_record() -> None:
    """A record is LangChain's dictionary with a version: type and data, and the data are a constructor's arguments."""
    record = dump_message(AIMessage("hi", id="1"))
    assert AIMessage(**record["data"]) == AIMessage("hi", id="1")
    assert record.keys() == {"v", "type", "data"}


def test_lists_of_dictionaries() -> None:
    """`messages_from_dict` undoes `messages_to_dict`, reads records too, and says which entry is at fault."""
    messages = [message for name, message in golden_messages().items() if name != "tool_artifact"]
    assert messages_from_dict(messages_to_dict(messages)) == messages
    assert messages_from_dict([dump_message(message) for message in messages]) == messages
    with pytest.raises(LoadError, match="message 1 of the list: unknown type of message 'zzz'"):
        messages_from_dict([{"type": "human", "data": {"content": ""}}, {"type": "zzz", "data": {}}])


def test_values_of_a_dictionary_stay_what_they_are() -> None:
    """LangChain's form escapes nothing, so nothing in it is taken for more than data."""
    node = {"lc": 1, "type": "constructor", "id": ["hocket", "messages", "HumanMessage"], "kwargs": {"content": "x"}}
    message = load_message({"type": "human", "data": {"content": "hi", "additional_kwargs": {"a": node}}})
    assert message.additional_kwargs == {"a": node}


# What cannot be read


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"type": "zzz", "data": {"content": "hi"}}, "unknown type of message 'zzz'"),
        ({"v": 1, "type": "zzz", "data": {"content": "hi"}}, "unknown type of message 'zzz'"),
        ({"v": 2, "type": "human", "data": {"content": "hi"}}, "version 2 .* reads up to version 1: upgrade"),
        ({"v": "1", "type": "human", "data": {"content": "hi"}}, "version '1'"),
        ({"type": "human"}, "these keys came: \\['type'\\]"),
        ({"role": "user", "content": "hi"}, "these keys came"),
        ({"v": 1, "type": "human", "data": {"content": "hi"}, "more": 1}, "these keys came"),
        ([], "cannot read list"),
        ({"type": "human", "data": {"content": 3}}, "'human'.* cannot be built"),
        ({"v": 1, "type": "tool", "data": {"content": "x"}}, "tool_call_id"),
        ({"v": 1, "type": "human", "class": ["os", "system"], "data": {"content": "x"}}, "import its module first"),
        ({"v": 1, "type": "human", "class": 3, "data": {"content": "x"}}, "import its module first"),
        (
            {"v": 1, "type": "ai", "class": ["hocket", "messages", "HumanMessage"], "data": {"content": ""}},
            "registered",
        ),
        (
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"], "kwargs": {}},
            "no class",
        ),
        (
            {
                "lc": 1,
                "type": "constructor",
                "id": ["hocket", "messages", "BaseMessage"],
                "kwargs": {"content": "", "type": "zzz"},
            },
            "known type",
        ),
        ({"lc": 1, "type": "value", "id": ["bytes"], "value": "AA=="}, "stands for bytes"),
        ({"lc": 2}, "no node of version 1"),
    ],
)
def test_what_is_no_message_is_refused(record: Any, said: str) -> None:
    """Unknown types, later versions and damage are errors that say so; nothing is guessed."""
    with pytest.raises(LoadError, match=said):
        load_message(record)


@pytest.mark.parametrize("text", ["", "{", "nonsense", b"\xff", '{"v":1,"type":"human"', "[" * 100_000])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    """Half a line of a file that broke off is a `LoadError`, like any other damage."""
    with pytest.raises(LoadError):
        loads_message(text)


@pytest.mark.parametrize(
    "node",
    [
        {"lc": 1, "type": "constructor", "id": ["hocket", "providers", "openai", "ChatOpenAI"], "kwargs": {}},
        {"lc": 1, "type": "constructor", "id": ["hocket", "outputs", "LLMResult"], "kwargs": {"generations": []}},
        {"lc": 1, "type": "secret", "id": ["PATH"]},
        {"lc": 1, "type": "not_implemented", "id": ["x"], "repr": None},
    ],
)
def test_a_record_builds_nothing_but_messages(node: dict[str, Any]) -> None:
    """A stored record cannot make models, results or secrets, wherever it puts them."""
    with pytest.raises(LoadError):
        load_message({"v": 1, "type": "human", "data": {"content": "x", "additional_kwargs": {"a": [node]}}})
    with pytest.raises(LoadError):
        loads_message(
            json.dumps({"v": 1, "type": "tool", "data": {"content": "x", "tool_call_id": "1", "artifact": node}})
        )


def test_errors_leave_out_what_was_said() -> None:
    """The text of a damaged message may be private; the error does not repeat it."""
    with pytest.raises(LoadError) as error:
        load_message({"v": 1, "type": "human", "data": {"content": ["private words", 3], "name": 4}})
    assert "private" not in str(error.value)


# What cannot be written


class Reading(BaseModel):
    """A user's object."""

    percent: float


def endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "'additional_kwargs': it holds an object of type object"),
        (Reading(percent=1), "Reading, which could not be rebuilt: .* model_dump"),
        ({"deep": [Reading(percent=1)]}, "Reading"),
        (lambda: None, "function"),
        (SecretStr("s"), "secret"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(value: Any, said: str) -> None:
    """It is refused before anything is stored, and the error names the field and the way out."""
    message = HumanMessage("x", additional_kwargs={"value": value})
    with pytest.raises(InvalidInput, match=f"a message of type 'human' cannot be stored for its {said}|{said}"):
        dump_message(message)
    with pytest.raises(InvalidInput):
        dumps_message(message)


@pytest.mark.parametrize(
    ("artifact", "said"),
    [
        (Reading(percent=1), "Reading"),
        ([{"deep": Reading(percent=1)}], "Reading"),
        (SecretStr("hidden"), "secret"),
        (endless(), "128 deep"),
        ([Document("x", metadata={"reading": Reading(percent=1)})], "Reading"),
    ],
)
def test_an_artifact_that_cannot_be_written_is_left_out(
    artifact: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The tool's result is the conversation's, and the artifact is not; the log says so once."""
    _warn_once.cache_clear()
    message = ToolMessage("x", tool_call_id="1", artifact=artifact)
    loaded = [loads_message(dumps_message(message)) for _ in range(3)]
    assert loaded == [ToolMessage("x", tool_call_id="1")] * 3
    assert message.artifact is artifact
    [warning] = [record.getMessage() for record in caplog.records]
    assert "the artifact of a tool's result is not stored" in warning and said in warning and "hidden" not in warning


def test_documents_come_back() -> None:
    """They are what a retriever's tool has for an artifact."""
    found = [Document("Bleed it.", id="1", score=0.5, metadata={"at": date(2026, 1, 2), "lc": 1})]
    loaded = cast(ToolMessage, loads_message(dumps_message(ToolMessage("x", tool_call_id="1", artifact=found))))
    assert loaded.artifact == found and loaded.artifact[0].score == 0.5


def test_nothing_but_messages_and_documents_is_built() -> None:
    """A record may come from anywhere."""
    node = {"lc": 1, "type": "constructor", "id": ["hocket", "prompts", "PromptTemplate"], "kwargs": {"template": "x"}}
    record = {"v": 1, "type": "tool", "data": {"content": "x", "tool_call_id": "1", "artifact": node}}
    with pytest.raises(LoadError, match="not allowed"):
        load_message(record)


def test_a_base_message_is_not_written() -> None:
    """It says of no class what it is."""
    with pytest.raises(InvalidInput, match="no class is registered"):
        dump_message(BaseMessage(content="x", type="zzz"))


class Note(HumanMessage):
    """A user's class of messages."""

    mood: str = "fine"


def test_a_class_of_ones_own_comes_back() -> None:
    """Its record names the class, which the program must have defined; LangChain's form gives the class it extends."""
    note = Note("hi", mood="sunny", id="1")
    record = dump_message(note)
    assert record["class"] == Note.lc_id()
    loaded = loads_message(json.dumps(record))
    assert (type(loaded), loaded) == (Note, note)
    assert type(load_message(message_to_dict(note))) is HumanMessage
    nested = ToolMessage("x", tool_call_id="1", artifact=[note])
    assert load_message(dump_message(nested)) == nested


def test_deep_data_survive() -> None:
    """As deep as a record may be, also where every level is escaped, which doubles the depth of the text."""
    value: Any = 1
    for _ in range(128):
        value = {"lc": value}
    message = ToolMessage("x", tool_call_id="1", artifact=value)
    assert loads_message(dumps_message(message)) == message
    deeper = ToolMessage("x", tool_call_id="1", artifact=[value])
    assert loads_message(dumps_message(deeper)) == ToolMessage("x", tool_call_id="1")


def test_nan_survives() -> None:
    """JSON has no NaN; a record has."""
    text = dumps_message(ToolMessage("x", tool_call_id="1", artifact=[math.nan, -math.inf]))
    assert "NaN" not in text
    assert "nan" in repr(loads_message(text).artifact)  # type: ignore[attr-defined]
    assert "-inf" in repr(loads_message(text).artifact)  # type: ignore[attr-defined]


def test_numbers_without_end_survive() -> None:
    """Python writes whole numbers of more than 4,300 digits for nobody, and reads none."""
    numbers = [10**4000, -(10**9000)]
    message = ToolMessage("x", tool_call_id="1", artifact=numbers)
    assert loads_message(dumps_message(message)) == message
    assert loads(dumps(numbers)) == numbers


def test_a_number_that_takes_forever_is_refused() -> None:
    """A few bytes of a damaged record must not hold up the program that reads it; nor are they written."""
    node = {"lc": 1, "type": "value", "id": ["decimal"], "value": "1e99999999999"}
    usage = {"input_tokens": node, "output_tokens": 1, "total_tokens": 1}
    with pytest.raises(LoadError):
        load_message({"v": 1, "type": "ai", "data": {"content": "", "usage_metadata": usage}})
    with pytest.raises(InvalidInput, match="exponent beyond 100,000"):
        dump_message(HumanMessage("x", additional_kwargs={"value": Decimal("1e-100001")}))


def test_a_text_in_another_encoding_is_read_the_same() -> None:
    """An editor may have saved it in UTF-16, which JSON may be in."""
    message = golden_messages()["tool_artifact"]
    assert loads_message(dumps_message(message).encode("utf-16")) == message


def test_chunks_that_nobody_looked_at_are_stored_whole() -> None:
    """A sum of chunks is lazy, also after a trip through pickle; its record has everything."""
    pieces = [tool_call_chunk(name="f", args='{"a"', id="1", index=0), tool_call_chunk(args=": 1}", index=0)]
    parts = [AIMessageChunk(text, tool_call_chunks=[piece]) for text, piece in zip("ab", pieces, strict=True)]
    expected = AIMessageChunk("ab", tool_call_chunks=[tool_call_chunk(name="f", args='{"a": 1}', id="1", index=0)])
    assert loads_message(dumps_message(parts[0] + parts[1])) == expected
    pickled = pickle.loads(pickle.dumps(parts[0] + parts[1]))
    assert loads_message(dumps_message(pickled)) == expected


# Properties

TEXTS = st.text(max_size=6) | st.text(
    st.characters(codec=None, categories=None) | st.sampled_from("\x00\ud800"), max_size=4
)
KEYS = st.sampled_from(["lc", "type", "id", "kwargs", "__lc_escaped__", "data", "v"]) | st.text(max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
VALUES = st.recursive(
    JSON | st.binary(max_size=4) | st.datetimes() | st.uuids() | st.frozensets(st.integers(), max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS | st.integers(), inner, max_size=2),
    max_leaves=5,
)
FIELDS = {
    "content": TEXTS | st.lists(TEXTS | st.dictionaries(KEYS, JSON, max_size=3), max_size=2),
    "id": st.none() | st.just("") | TEXTS,
    "name": st.none() | TEXTS,
    "additional_kwargs": st.dictionaries(st.text(max_size=3).map("x{}".format), VALUES, max_size=2),
    "response_metadata": st.dictionaries(KEYS, VALUES, max_size=2),
    "own_extra": VALUES,
}
CALLS = st.lists(
    st.fixed_dictionaries({"name": TEXTS, "args": st.dictionaries(KEYS, JSON, max_size=2), "id": st.none() | TEXTS}),
    max_size=2,
)
REPLY = {
    "tool_calls": CALLS,
    "invalid_tool_calls": st.lists(
        st.fixed_dictionaries({"name": st.none() | TEXTS, "args": TEXTS, "id": st.none() | TEXTS, "error": TEXTS}),
        max_size=1,
    ),
    "usage_metadata": st.none()
    | st.builds(
        lambda a, b: {"input_tokens": a, "output_tokens": b, "total_tokens": a + b}, st.integers(0), st.integers(0)
    ),
}
OF_CLASS: dict[type[BaseMessage], dict[str, Any]] = {
    HumanMessage: {},
    SystemMessage: {},
    AIMessage: REPLY,
    ToolMessage: {"tool_call_id": TEXTS, "artifact": VALUES, "status": st.sampled_from(["success", "error"])},
    ChatMessage: {"role": TEXTS},
    FunctionMessage: {"name": TEXTS},
    RemoveMessage: {"id": TEXTS, "content": st.just("")},
    HumanMessageChunk: {},
    SystemMessageChunk: {},
    AIMessageChunk: {**REPLY, "chunk_position": st.sampled_from([None, "last"])},
    ToolMessageChunk: {"tool_call_id": TEXTS, "artifact": VALUES},
    ChatMessageChunk: {"role": TEXTS},
    FunctionMessageChunk: {"name": TEXTS},
}


@st.composite
def messages(draw: st.DrawFn) -> BaseMessage:
    """Messages of every class, with anything in them that survives."""
    cls = draw(st.sampled_from([*OF_CLASS]))
    own = OF_CLASS[cls]
    wanted = draw(st.sets(st.sampled_from([*FIELDS, *own]))) | {"content", "tool_call_id", "role", "name", "id"}
    fields = {name: draw(values) for name, values in {**FIELDS, **own}.items() if name in wanted}
    return cls(**fields)


def test_every_class_is_drawn() -> None:
    """The property below leaves out no class of messages."""

    def below(cls: type[BaseMessage]) -> set[type[BaseMessage]]:
        return {cls}.union(*(below(each) for each in cls.__subclasses__()))

    ours = {cls for cls in below(BaseMessage) if cls.__module__.startswith("hocket.messages.")}
    assert ours - {BaseMessage, BaseMessageChunk} == {*OF_CLASS}


@given(messages())
def test_every_message_comes_back(message: BaseMessage) -> None:
    """Through a record, through its text, and through LangChain's dictionary: the same class, equal, and stable."""
    record, text = dump_message(message), dumps_message(message)
    assert json.loads(json.dumps(record, allow_nan=False)) == record == json.loads(text)
    text.encode()  # no lone surrogate, which no store takes
    assert "\x00" not in json.dumps(record, ensure_ascii=False)
    for loaded in (load_message(record), loads_message(text), loads_message(text.encode())):
        assert type(loaded) is type(message)
        assert loaded == message
        assert dumps_message(loaded) == text
    assert load_message(message_to_dict(message)) == message
    assert load_message(dumpd(message)) == message
    assert loads_message(dumps(message)) == message
