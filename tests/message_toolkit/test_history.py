"""What providers refuse in a conversation has a name and a place, and is mended on request."""

from typing import Any

import pytest

from hocket.errors import InvalidHistory
from hocket.message_toolkit.turns import split_turns
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    check_history,
    repair_history,
    validate_history,
)


def asks(*ids: str | None, said: Any = "") -> AIMessage:
    return AIMessage(said, tool_calls=[{"name": "f", "args": {}, "id": id, "type": "tool_call"} for id in ids])


def answers(id: str, text: str = "r") -> ToolMessage:
    return ToolMessage(text, tool_call_id=id)


def missing(id: str) -> ToolMessage:
    return ToolMessage("This tool call was interrupted: it has no result.", tool_call_id=id, name="f", status="error")


H, A, S = HumanMessage("h"), AIMessage("a"), SystemMessage("s")

CASES: dict[str, tuple[list[BaseMessage], list[tuple[str, int]], list[BaseMessage]]] = {
    "unanswered": ([H, asks("1"), H], [("unanswered_call", 1)], [H, asks("1"), missing("1"), H]),
    "half answered": (
        [asks("1", "2"), answers("2")],
        [("unanswered_call", 0)],
        [asks("1", "2"), answers("2"), missing("1")],
    ),
    "orphaned": ([H, answers("1"), A], [("orphaned_result", 1)], [H, A]),
    "twice": (
        [asks("1"), answers("1", "x"), answers("1", "y")],
        [("duplicate_result", 2)],
        [asks("1"), answers("1", "x")],
    ),
    "late": ([asks("1"), H, answers("1")], [("misplaced_result", 2)], [asks("1"), answers("1"), H]),
    "a system message between": ([asks("1"), S, answers("1")], [("misplaced_result", 2)], [asks("1"), answers("1"), S]),
    "early": ([answers("1"), asks("1"), H], [("misplaced_result", 0)], [asks("1"), answers("1"), H]),
    "crossed": (
        [asks("1"), asks("2"), answers("1"), answers("2")],
        [("misplaced_result", 2)],
        [asks("1"), answers("1"), asks("2"), answers("2")],
    ),
    "one id for two calls": (
        [asks("1"), answers("1", "x"), asks("1"), answers("1", "y")],
        [("duplicate_call_id", 2)],
        [asks("1"), answers("1", "x"), asks("1_2"), answers("1_2", "y")],
    ),
    "one id for two calls at once": (
        [asks("1", "1", "1_2"), answers("1", "x"), answers("1", "y"), answers("1_2")],
        [("duplicate_call_id", 0)],
        [asks("1", "1_3", "1_2"), answers("1", "x"), answers("1_3", "y"), answers("1_2")],
    ),
    "no id": ([asks(None)], [("missing_call_id", 0)], [asks("call_0_0"), missing("call_0_0")]),
    "empty": (
        [
            H,
            HumanMessage(" "),
            AIMessage(""),
            SystemMessage([{"type": "text", "text": ""}]),
            ChatMessage("", role="x"),
            A,
        ],
        [("empty_message", 1), ("empty_message", 2), ("empty_message", 3), ("empty_message", 4)],
        [H, A],
    ),
    "an order": ([H, RemoveMessage("1"), A], [("unsendable_message", 1)], [H, A]),
}


@pytest.mark.parametrize("case", CASES)
def test_problems_are_named_and_mended(case: str) -> None:
    """Each by code and place; mended with as little changed as that takes."""
    messages, problems, repaired = CASES[case]
    assert [(problem.code, problem.index) for problem in validate_history(messages)] == problems
    assert all(problem.detail for problem in validate_history(messages))
    assert repair_history(messages) == repaired
    assert validate_history(repaired) == []


@pytest.mark.filterwarnings("ignore:FunctionMessage:DeprecationWarning")
def test_what_is_fine() -> None:
    """Results of nothing, results in any order, replies that have other things than content, and speakers in any order."""
    messages = [
        A,
        A,
        S,
        H,
        asks("1", "2"),
        answers("2", ""),
        answers("1"),
        AIMessage("", additional_kwargs={"refusal": "no"}),
        AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
        FunctionMessage("", name="f"),
        HumanMessage([{"type": "image", "url": "https://e.x"}]),
        AIMessage([{"type": "text", "text": "", "extras": {"signature": "s"}}]),
    ]
    assert validate_history(messages) == []
    assert validate_history([]) == [] == repair_history([])
    assert validate_history(["hi", ("ai", "hello")]) == []


def test_unreadable_calls_want_an_answer() -> None:
    """They were made all the same, and are told to the provider."""
    bad: Any = {"name": "f", "args": "{", "id": "1", "error": "e", "type": "invalid_tool_call"}
    reply = AIMessage("", invalid_tool_calls=[bad])
    assert [problem.code for problem in validate_history([reply])] == ["unanswered_call"]
    assert repair_history([reply]) == [reply, missing("1")]
    assert validate_history([reply, answers("1")]) == []


def test_a_new_id_is_in_every_place() -> None:
    """In the content, and in the pieces of a chunk; what came is not changed."""
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    first, second = asks("1", said=[use]), AIMessageChunk([use], tool_calls=asks("1").tool_calls)
    repaired = repair_history([first, answers("1"), second, answers("1")])
    renamed = repaired[2]
    assert repaired[0] is first and isinstance(renamed, AIMessageChunk)
    assert renamed.content == [{**use, "id": "1_2"}]
    assert [call["id"] for call in (*renamed.tool_calls, *renamed.tool_call_chunks)] == ["1_2", "1_2"]
    assert second.content == [use] and second.tool_calls[0]["id"] == "1"


def test_a_new_id_is_in_geminis_part() -> None:
    """It holds the id inside; a part without one stands for the call that says the same."""
    parts = [{"functionCall": {"name": "f", "args": {"a": at}}} for at in range(2)]
    calls: Any = [{"name": "f", "args": {"a": at}, "id": None} for at in range(2)]
    (repaired, *results) = repair_history([AIMessage(parts, tool_calls=calls)])
    assert [part["functionCall"]["id"] for part in repaired.content if isinstance(part, dict)] == [
        "call_0_0",
        "call_0_1",
    ]
    assert [block.get("id") for block in repaired.content_blocks] == ["call_0_0", "call_0_1"]
    assert len(results) == 2 and "id" not in parts[0]["functionCall"]


def test_many_calls_of_one_id() -> None:
    """Servers exist that number the calls of each reply from 0."""
    messages = [message for _ in range(2000) for message in (asks("call_0"), answers("call_0"))]
    repaired = repair_history(messages)
    assert validate_history(repaired) == []
    assert [message.tool_call_id for message in repaired[-1:] if isinstance(message, ToolMessage)] == ["call_0_2000"]


def test_checking() -> None:
    """`check_history` raises what `validate_history` finds, in words."""
    check_history([H, A])
    messages = [answers(str(number)) for number in range(7)]
    with pytest.raises(
        InvalidHistory, match=r"message 0: no message makes the call '0'.*and 2 more.*repair_history"
    ) as caught:
        check_history(messages)
    assert caught.value.problems == validate_history(messages)


@pytest.mark.parametrize(
    ("messages", "sizes"),
    [
        ([], []),
        ([S, H, A], [1, 1, 1]),
        ([H, asks("1", "2"), answers("2"), answers("1"), A], [1, 3, 1]),
        ([asks("1"), H, answers("1"), A], [3, 1]),
        ([asks("1"), asks("2"), answers("1"), answers("2")], [4]),
        ([answers("1"), A, asks("2")], [1, 1, 1]),
        ([asks("0"), answers("0"), asks("0"), answers("0")], [2, 2]),
        ([answers("1"), asks("1"), A], [2, 1]),
    ],
)
def test_turns(messages: list[BaseMessage], sizes: list[int]) -> None:
    """A call, its results and what stands between are one; any other message is one by itself."""
    assert [len(turn) for turn in split_turns(messages)] == sizes
