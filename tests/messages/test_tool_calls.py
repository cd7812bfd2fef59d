"""Tool calls as records: their factories and parsers."""

import pytest
from pydantic import TypeAdapter

from hocket.errors import InvalidInput
from hocket.messages import AIMessageChunk
from hocket.messages.tool_calls import (
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    default_tool_chunk_parser,
    default_tool_parser,
    invalid_tool_call,
    parse_tool_arguments,
    tool_call,
    tool_call_chunk,
)


def raw(name: str | None, arguments: object, id: str | None = "call_1") -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_factories_set_the_type() -> None:
    """Each factory returns the record with its type."""
    assert tool_call(name="add", args={"a": 1}, id="1") == {
        "type": "tool_call",
        "name": "add",
        "args": {"a": 1},
        "id": "1",
    }
    assert tool_call_chunk(args='{"a', index=0) == {
        "type": "tool_call_chunk",
        "name": None,
        "args": '{"a',
        "id": None,
        "index": 0,
    }
    assert invalid_tool_call(name="add", args="{", id="1", error="no") == {
        "type": "invalid_tool_call",
        "name": "add",
        "args": "{",
        "id": "1",
        "error": "no",
    }


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (ToolCall, tool_call(name="add", args={"a": [1]}, id=None)),
        (ToolCall, {"name": "add", "args": {}, "id": "1", "type": "tool_call", "index": 2, "extras": {"item_id": "f"}}),
        (ToolCallChunk, tool_call_chunk()),
        (ToolCallChunk, {"name": None, "args": "}", "id": None, "type": "tool_call_chunk"}),
        (InvalidToolCall, invalid_tool_call()),
    ],
)
def test_records_survive_validation_unchanged(kind: type, record: object) -> None:
    """Pydantic takes every record and gives back an equal one, indices and extras included."""
    adapter: TypeAdapter[object] = TypeAdapter(kind)
    assert adapter.validate_python(record) == record
    assert adapter.validate_json(adapter.dump_json(record)) == record


@pytest.mark.parametrize(("kind", "type_"), [(ToolCall, "tool_call"), (ToolCallChunk, "tool_call_chunk")])
def test_records_get_their_type(kind: type, type_: str) -> None:
    """A record that leaves its type out is given it by validation; one of another type is refused."""
    args = {} if kind is ToolCall else ""
    adapter: TypeAdapter[object] = TypeAdapter(kind)
    assert adapter.validate_python({"name": "f", "args": args, "id": None}) == {
        "name": "f",
        "args": args,
        "id": None,
        "type": type_,
    }
    with pytest.raises(ValueError, match=type_):
        adapter.validate_python({"name": "f", "args": args, "id": None, "type": "text"})


def test_parser_keeps_order_ids_and_both_kinds() -> None:
    """Good and bad calls go to their lists in order; bad ones keep the model's text."""
    calls, invalid = default_tool_parser(
        [raw("a", '{"x": 1}', "1"), raw("b", '{"x": 1', "2"), {"id": "3", "type": "web_search"}, raw("c", "{}", "4")]
    )
    assert [(call["name"], call["args"], call["id"]) for call in calls] == [("a", {"x": 1}, "1"), ("c", {}, "4")]
    assert [(call["name"], call["args"], call["id"]) for call in invalid] == [("b", '{"x": 1', "2")]


def test_invalid_call_tells_where_the_json_breaks() -> None:
    """The error of an unreadable call names the line and column."""
    _, (invalid,) = default_tool_parser([raw("add", '{"a" 1}')])
    assert invalid["error"] is not None
    assert "line 1 column 6" in invalid["error"]


@pytest.mark.parametrize("arguments", ["", "  ", "null", None, "{}", {}])
def test_no_arguments_is_an_empty_dict(arguments: object) -> None:
    """Nothing, blank text, null and {} all mean a call without arguments."""
    calls, invalid = default_tool_parser([raw("now", arguments)])
    assert calls == [tool_call(name="now", args={}, id="call_1")]
    assert invalid == []


def test_arguments_may_come_as_an_object() -> None:
    """A server that sends an object instead of JSON text is understood, and the object is not shared."""
    sent = {"a": 1}
    (call,), _ = default_tool_parser([raw("add", sent)])
    assert call["args"] == sent
    assert call["args"] is not sent


@pytest.mark.parametrize("arguments", ["[1]", "5", '"text"', [1]])
def test_arguments_that_are_no_object_make_an_invalid_call(arguments: object) -> None:
    """JSON that is not an object cannot be a call's arguments; it is kept as text."""
    calls, (invalid,) = default_tool_parser([raw("add", arguments)])
    assert calls == []
    assert invalid["error"] is not None
    assert "must be a JSON object" in invalid["error"]
    assert isinstance(invalid["args"], str)


def test_deeply_nested_arguments_do_not_crash() -> None:
    """A model cannot blow the stack: endless nesting is an invalid call."""
    calls, invalid = default_tool_parser([raw("add", "[" * 100_000)])
    assert (calls, len(invalid)) == ([], 1)


def test_chunk_parser_fills_what_is_missing_with_none() -> None:
    """A delta without function, name, arguments, id or index reads as None there."""
    assert default_tool_chunk_parser(
        [{"index": 1}, {"function": {"arguments": '{"a'}, "index": 0}, {"function": None}]
    ) == [
        tool_call_chunk(index=1),
        tool_call_chunk(args='{"a', index=0),
        tool_call_chunk(),
    ]


def test_chunk_parser_writes_object_arguments_as_json() -> None:
    """Arguments that come as an object become JSON text, so that chunks always hold text."""
    (chunk,) = default_tool_chunk_parser([raw("add", {"a": "é"})])
    assert chunk["args"] == '{"a": "é"}'


def test_partial_arguments_are_completed() -> None:
    """While a call streams, its arguments read as far as they go; a whole reply is read strictly."""
    assert parse_tool_arguments('{"a": 1, "b": "hel', partial=True) == {"a": 1, "b": "hel"}
    with pytest.raises(InvalidInput, match="line 1 column"):
        parse_tool_arguments('{"a": 1, "b": "hel')


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"code": "a\nb"}', {"code": "a\nb"}),
        ('{\n"code":\t"\t\\"\n\\\\",\r\n"b": 1}', {"code": '\t"\n\\', "b": 1}),
    ],
)
def test_control_characters_in_strings_are_read(text: str, read: object) -> None:
    """Models that write code as an argument leave line breaks as they are; LangChain reads them, too."""
    assert parse_tool_arguments(text) == read
    message = AIMessageChunk("", tool_call_chunks=[tool_call_chunk(name="run", args=text, id="1", index=0)])
    assert message.tool_calls == [tool_call(name="run", args=read, id="1")]


def test_control_characters_in_a_string_that_is_not_over() -> None:
    """They are kept while it comes; outside of strings they are blanks, or an error."""
    assert parse_tool_arguments('{"a":\n"x\ny', partial=True) == {"a": "x\ny"}
    with pytest.raises(InvalidInput, match="not valid JSON"):
        parse_tool_arguments('{"a": "x\ny", \x01}')
