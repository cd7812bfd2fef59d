"""Tool calls out of answers, as data and as models."""

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, tool_call_chunk
from hocket.messages.tool_calls import invalid_tool_call, tool_call
from hocket.output_parsers import (
    JsonOutputKeyToolsParser,
    JsonOutputToolsParser,
    OutputParserException,
    PydanticToolsParser,
)


class Add(BaseModel):
    a: int
    b: int = 0


class Find(BaseModel):
    model_config = ConfigDict(title="search")

    query: str = Field(min_length=1)


CALLS = [
    tool_call(name="Add", args={"a": 1, "b": 2}, id="1"),
    tool_call(name="search", args={"query": "x"}, id="2"),
    tool_call(name="Add", args={"a": 3}, id="3"),
]
ANSWER = AIMessage("", tool_calls=CALLS)
BROKEN = AIMessage("", invalid_tool_calls=[invalid_tool_call(name="Add", args='{"a"', id="1", error="cut short")])


def deltas(*calls: tuple[str, dict[str, Any]], size: int = 4) -> list[AIMessageChunk]:
    """Return the calls as a stream brings them."""
    chunks = [AIMessageChunk("")]
    for index, (name, args) in enumerate(calls):
        text = json.dumps(args)
        for at in range(0, len(text), size):
            first = {"name": name, "id": f"{index}"} if at == 0 else {}
            fragment = tool_call_chunk(index=index, args=text[at : at + size], **first)
            chunks.append(AIMessageChunk("", tool_call_chunks=[fragment]))
    return [*chunks, AIMessageChunk("", chunk_position="last")]


@pytest.mark.parametrize(
    ("parser", "value"),
    [
        (
            JsonOutputToolsParser(),
            [
                {"type": "Add", "args": {"a": 1, "b": 2}},
                {"type": "search", "args": {"query": "x"}},
                {"type": "Add", "args": {"a": 3}},
            ],
        ),
        (
            JsonOutputToolsParser(first_tool_only=True, return_id=True),
            {"type": "Add", "args": CALLS[0]["args"], "id": "1"},
        ),
        (JsonOutputKeyToolsParser(key_name="Add"), [{"a": 1, "b": 2}, {"a": 3}]),
        (JsonOutputKeyToolsParser(key_name="search", first_tool_only=True), {"query": "x"}),
        (
            JsonOutputKeyToolsParser(key_name="search", first_tool_only=True, return_id=True),
            {"type": "search", "args": {"query": "x"}, "id": "2"},
        ),
        (JsonOutputKeyToolsParser(key_name="other"), []),
        (JsonOutputKeyToolsParser(key_name="other", first_tool_only=True), None),
        (PydanticToolsParser(tools=[Add, Find]), [Add(a=1, b=2), Find(query="x"), Add(a=3)]),
        (PydanticToolsParser(tools=[Add, Find], first_tool_only=True), Add(a=1, b=2)),
    ],
)
def test_calls_are_read(parser: JsonOutputToolsParser, value: Any) -> None:
    """All of them or the first, with ids or without, of every tool or of one; whole, and at the end of a stream."""
    assert parser.invoke(ANSWER) == value
    chunks = deltas(*[(call["name"], call["args"]) for call in CALLS])
    if not parser.return_id:
        assert list(parser.transform(iter(chunks)))[-1] == value
    assert list(parser.transform(iter([ANSWER])))[-1] == value


def test_arguments_are_shown_as_they_grow() -> None:
    """Every number whole, every string a prefix, calls side by side."""
    shown = list(JsonOutputToolsParser().transform(iter(deltas(("f", {"n": 1234, "t": "abc"}), ("g", {}), size=3))))
    assert shown[0] == [{"type": "f", "args": {}}]
    assert [{"type": "f", "args": {"n": 1234, "t": ""}}] in shown
    assert all(call["args"].get("n") in (None, 1234) for calls in shown for call in calls)
    assert shown[-1] == [{"type": "f", "args": {"n": 1234, "t": "abc"}}, {"type": "g", "args": {}}]


def test_instances_are_shown_as_soon_as_they_are_valid() -> None:
    """A call whose arguments are not enough yet is not there yet."""
    shown = list(PydanticToolsParser(tools=[Find]).transform(iter(deltas(("search", {"query": "xyz"})))))
    assert shown[0] == []
    assert shown[-1] == [Find(query="xyz")]


@pytest.mark.parametrize("calls", [[], [tool_call(name="Nope", args={}, id="1")]])
def test_no_call(calls: list[Any]) -> None:
    """An answer without calls is an empty list; a call of a tool that there is not is refused, by name."""
    parser = PydanticToolsParser(tools=[Add])
    if calls:
        with pytest.raises(OutputParserException, match=r"no tool 'Nope'; there are Add"):
            parser.invoke(AIMessage("", tool_calls=calls))
    else:
        assert parser.invoke(AIMessage("hello")) == []
        assert list(parser.transform(iter([AIMessageChunk("hello")]))) == [[]]


def test_arguments_that_do_not_fit_are_refused() -> None:
    """At the end of a stream, too."""
    parser = PydanticToolsParser(tools=[Add])
    with pytest.raises(OutputParserException, match="no Add: a: "):
        parser.invoke(AIMessage("", tool_calls=[tool_call(name="Add", args={"a": "x"}, id="1")]))
    with pytest.raises(OutputParserException, match="no Add: a: "):
        list(parser.transform(iter(deltas(("Add", {"b": 1})))))


def test_a_call_that_cannot_be_read_is_an_error() -> None:
    """It is not left out in silence, as in LangChain."""
    with pytest.raises(OutputParserException, match="Add: cut short"):
        JsonOutputToolsParser().invoke(BROKEN)
    with pytest.raises(OutputParserException, match="f: "):
        list(JsonOutputToolsParser().transform(iter(deltas(("f", {"a": 1}))[:-2])))


def test_text_is_refused() -> None:
    """Tool calls stand in messages; any other message may carry OpenAI's raw ones."""
    for call in (
        lambda: JsonOutputToolsParser().invoke("text"),
        lambda: list(JsonOutputToolsParser().transform(iter("x"))),
    ):
        with pytest.raises(OutputParserException, match="chat model"):
            call()
    raw = {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
    message = HumanMessage("", additional_kwargs=raw)
    assert JsonOutputToolsParser().invoke(message) == [{"type": "f", "args": {"a": 1}}]
