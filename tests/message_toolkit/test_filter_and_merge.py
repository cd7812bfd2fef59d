"""Messages picked, and runs of them made one: langchain-core's results, with pairs of calls and results kept whole."""

from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    filter_messages,
    merge_message_runs,
)


def call(id: str) -> Any:
    return {"name": "f", "args": {"id": id}, "id": id, "type": "tool_call"}


def use(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "f", "input": {"id": id}}


TALK: list[BaseMessage] = [
    SystemMessage("s", name="ada", id="1"),
    HumanMessage("h", name="bob", id="2"),
    AIMessage("a", id="3"),
    AIMessage(["b", use("x"), use("y")], tool_calls=[call("x"), call("y")], id="4"),
    ToolMessage("rx", tool_call_id="x", id="5"),
    ToolMessage("ry", tool_call_id="y", id="6"),
    AIMessageChunk("c", id="7"),
]


def ids(messages: list[BaseMessage]) -> str:
    return "".join(message.id or "?" for message in messages)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "1234567"),
        ({"include_names": ["ada", "bob"]}, "12"),
        ({"include_names": "bob"}, "2"),
        ({"exclude_names": ["ada"]}, "234567"),
        ({"include_types": ["system", HumanMessage]}, "12"),
        ({"include_types": "ai"}, "347"),
        ({"include_types": AIMessage}, "347"),
        ({"include_types": "AIMessageChunk"}, "7"),
        ({"exclude_types": ["ai"]}, "12"),
        ({"include_types": ["human", "ai"], "exclude_ids": ["3"]}, "247"),
        ({"include_ids": ["1"], "include_names": ["bob"], "include_types": [AIMessageChunk]}, "127"),
        ({"exclude_ids": ["4"]}, "1237"),
        ({"exclude_ids": ["5"]}, "123467"),
        ({"exclude_tool_calls": True}, "1237"),
        ({"exclude_tool_calls": False}, "1234567"),
        ({"exclude_tool_calls": ["x"]}, "123467"),
        ({"exclude_tool_calls": ["x", "y"]}, "1237"),
        ({"exclude_tool_calls": "y"}, "123457"),
    ],
)
def test_filters(options: dict[str, Any], expected: str) -> None:
    """Included in any way, excluded in none; and the other half of what goes goes, too."""
    assert ids(filter_messages(TALK, **options)) == expected


def test_a_call_is_taken_out_of_its_message() -> None:
    """Out of its content, too; what it stood in is a copy, and everything else what came."""
    kept = filter_messages(TALK, exclude_ids=["5"])
    left = kept[3]
    assert isinstance(left, AIMessage)
    assert (left.tool_calls, left.content) == ([call("y")], ["b", use("y")])
    assert [message for message in kept if not any(message is other for other in TALK)] == [left]
    assert filter_messages(TALK, exclude_tool_calls=["x"])[3] == left


def test_calls_in_all_their_forms_are_taken_out() -> None:
    """Unreadable ones, OpenAI's own, and the pieces of a chunk."""
    bad: Any = {"name": "g", "args": "{", "id": "z", "error": "e", "type": "invalid_tool_call"}
    raw = {"tool_calls": [{"id": "x"}], "refusal": "no"}
    reply = AIMessage(
        [{"type": "function_call", "call_id": "z", "id": "item", "name": "g", "arguments": "{"}],
        tool_calls=[call("x")],
        invalid_tool_calls=[bad],
        additional_kwargs=raw,
    )
    talk = [reply, ToolMessage("r", tool_call_id="x"), ToolMessage("r", tool_call_id="z", id="bad")]
    left = filter_messages(talk, exclude_ids=["bad"])[0]
    assert isinstance(left, AIMessage)
    assert (left.content, left.tool_calls, left.invalid_tool_calls) == ([], [call("x")], [])
    assert left.additional_kwargs == {"refusal": "no"}
    chunk = AIMessageChunk("", tool_calls=[call("x"), call("y")])
    left = filter_messages([chunk, *TALK[4:6]], exclude_ids=["6"])[0]
    assert isinstance(left, AIMessageChunk)
    assert [(piece["id"], piece["name"]) for piece in left.tool_call_chunks] == [("x", "f")]


@pytest.mark.parametrize(
    "block",
    [
        {"functionCall": {"name": "f", "args": {"id": "y"}}, "thoughtSignature": "s"},
        {"functionCall": {"id": "y", "name": "f", "args": {}}},
        {"type": "function_call", "name": "f", "args": {"id": "y"}},
        {"type": "custom_tool_call", "call_id": "y", "id": "item", "name": "f", "input": "a"},
        {"type": "tool_call", "id": "y", "name": "f", "args": {"id": "y"}},
    ],
    ids=["gemini", "gemini with ids", "langchain-google", "openai custom", "standard"],
)
def test_calls_in_any_providers_content_are_taken_out(block: dict[str, Any]) -> None:
    """None is left there for its provider to read again; the other call keeps its place."""
    talk = [AIMessage(["a", block, use("x")], tool_calls=[call("y"), call("x")]), *TALK[4:6]]
    left = filter_messages(talk, exclude_tool_calls="y")[0]
    assert isinstance(left, AIMessage)
    assert (left.content, left.tool_calls) == (["a", use("x")], [call("x")])


def test_a_call_without_an_id_stays() -> None:
    """That another one goes is no reason; some servers give none."""
    nameless: Any = {**call("x"), "id": None}
    talk = [AIMessage("", tool_calls=[nameless, call("x")]), TALK[4]]
    left = filter_messages(talk, exclude_types="tool")
    assert [message.tool_calls for message in left if isinstance(message, AIMessage)] == [[nameless]]


def test_a_message_of_nothing_but_calls_goes_with_them() -> None:
    """One that says something stays, without them."""
    talk = [AIMessage("", tool_calls=[call("x")]), *TALK[4:5], AIMessage("a", tool_calls=[call("y")]), *TALK[5:6]]
    assert filter_messages(talk, exclude_types="tool") == [AIMessage("a")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"include_types": "tool"}, "56"),
        ({"exclude_types": ["tool"]}, "12347"),
        ({"exclude_ids": ["4"]}, "123567"),
        ({"exclude_tool_calls": ["x"]}, "123467"),
    ],
)
def test_only_what_is_asked_for_goes_on_request(options: dict[str, Any], expected: str) -> None:
    """`keep_tool_pairs=False` picks out results, as LangChain does."""
    assert ids(filter_messages(TALK, keep_tool_pairs=False, **options)) == expected


def test_what_was_missing_before_is_no_reason() -> None:
    """A result without a call, and a call that waits for its result, are what they were."""
    talk = [ToolMessage("r", tool_call_id="w"), AIMessage("", tool_calls=[call("v")])]
    assert filter_messages(talk, exclude_names=["ada"]) == talk


def test_a_type_that_does_not_exist_is_refused() -> None:
    """When a step is made, already."""
    with pytest.raises(InvalidInput, match="no message is of type 'user'"):
        filter_messages(include_types=["user"])


# merging


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([HumanMessage("a"), HumanMessage("b")], [HumanMessage("a\nb")]),
        ([HumanMessage("a"), HumanMessage(""), HumanMessage("b")], [HumanMessage("a\nb")]),
        ([HumanMessage("a", id="1"), HumanMessage("b", id="2")], [HumanMessage("a\nb", id="1")]),
        ([HumanMessage("a"), HumanMessage("b", id="2")], [HumanMessage("a\nb", id="2")]),
        ([HumanMessage("a"), HumanMessage(["b"]), HumanMessage("c")], [HumanMessage(["a", "b", "c"])]),
        ([HumanMessage([]), HumanMessage("b")], [HumanMessage("b")]),
        ([AIMessage("a"), AIMessageChunk("b"), AIMessage("c")], [AIMessage("a\nb\nc")]),
        ([AIMessageChunk("a"), AIMessage("b")], [AIMessage("a\nb")]),
        ([HumanMessage("a"), AIMessage("b"), HumanMessage("c")], None),
        ([ToolMessage("a", tool_call_id="1"), ToolMessage("b", tool_call_id="2")], None),
        ([HumanMessage("a", name="ada"), HumanMessage("b", name="ada")], [HumanMessage("a\nb", name="ada")]),
        ([HumanMessage("a", name="ada"), HumanMessage("b", name="bob")], None),
        ([ChatMessage("a", role="x"), ChatMessage("b", role="x")], [ChatMessage("a\nb", role="x")]),
        ([ChatMessage("a", role="x"), ChatMessage("b", role="y")], None),
        ([RemoveMessage("1"), RemoveMessage("2")], None),
        ([AIMessage("", additional_kwargs={"function_call": {"name": "f"}})] * 2, None),
    ],
)
def test_merges(messages: list[BaseMessage], expected: list[BaseMessage] | None) -> None:
    """Runs of one speaker; each message that stands alone is itself."""
    merged = merge_message_runs(messages)
    assert merged == (messages if expected is None else expected)


def test_a_merged_reply() -> None:
    """Blocks and calls are put together, usage is summed, what the provider said is of the first."""
    bad: Any = {"name": "g", "args": "{", "id": "2", "error": "e", "type": "invalid_tool_call"}
    usage = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}
    block = {"type": "text", "text": "b", "index": 0}
    run = [
        AIMessage("a", tool_calls=[call("1")], response_metadata={"m": 1}, usage_metadata=usage),  # type: ignore[arg-type]
        AIMessage([block], invalid_tool_calls=[bad], response_metadata={"m": 2}, additional_kwargs={"r": "x"}),
        AIMessage([block], tool_calls=[call("3")], usage_metadata=usage, additional_kwargs={"r": "y", "n": 1}),  # type: ignore[arg-type]
    ]
    (merged,) = merge_message_runs(run)
    assert isinstance(merged, AIMessage)
    assert (merged.content, merged.tool_calls, merged.invalid_tool_calls) == (
        ["a", block, block],
        [call("1"), call("3")],
        [bad],
    )
    assert merged.usage_metadata == {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    assert (merged.response_metadata, merged.additional_kwargs) == ({"m": 1}, {"r": "xy", "n": 1})
    merged.tool_calls[0]["args"]["id"] = "changed"
    assert run[0].tool_calls == [call("1")]


def test_what_messages_agree_on_is_not_doubled() -> None:
    """Developers stay developers; and speak for themselves."""
    developer = SystemMessage("a", additional_kwargs={"__openai_role__": "developer"})
    assert merge_message_runs([developer, developer])[0].additional_kwargs == developer.additional_kwargs
    assert len(merge_message_runs([developer, SystemMessage("b")])) == 2


class Note(HumanMessage):
    """A user's class of messages."""

    mood: str = "fine"


def test_a_class_of_ones_own_is_merged_with_its_like() -> None:
    """Its fields have no place in another class."""
    run = [HumanMessage("a"), Note("b", mood="sunny"), Note("c")]
    assert merge_message_runs(run) == [run[0], Note("b\nc", mood="sunny")]


def test_a_separator_of_ones_own() -> None:
    """Between texts."""
    assert merge_message_runs(["a", "b"], chunk_separator=" + ") == [HumanMessage("a + b")]


async def test_steps_of_a_chain() -> None:
    """Without messages, both wait for them."""
    chain = filter_messages(exclude_types="system") | merge_message_runs(chunk_separator="/")
    assert chain.invoke([SystemMessage("s"), HumanMessage("a"), HumanMessage("b")]) == [HumanMessage("a/b")]
    assert (await (chain | FakeListChatModel(responses=["fine"])).ainvoke([HumanMessage("a")])).text == "fine"
