"""The older function calls out of answers, and tool calls in OpenAI's form as data."""

from typing import Any

import pytest
from pydantic import BaseModel

from hocket.classic.output_parsers import (
    JsonKeyOutputFunctionsParser,
    JsonOutputFunctionsParser,
    OutputFunctionsParser,
    PydanticAttrOutputFunctionsParser,
    PydanticOutputFunctionsParser,
)
from hocket.messages import AIMessage, AIMessageChunk
from hocket.output_parsers import OutputParserException, make_invalid_tool_call, parse_tool_call, parse_tool_calls


class Cookie(BaseModel):
    name: str
    age: int


def answer(arguments: str = '{"name": "oat", "age": 2}', name: str = "cookie") -> AIMessage:
    return AIMessage("", additional_kwargs={"function_call": {"name": name, "arguments": arguments}})


def test_a_function_call_is_text_json_a_value_or_an_object() -> None:
    arguments = {"name": "oat", "age": 2}
    assert OutputFunctionsParser().invoke(answer()) == '{"name": "oat", "age": 2}'
    assert OutputFunctionsParser(args_only=False).invoke(answer())["name"] == "cookie"
    assert JsonOutputFunctionsParser().invoke(answer()) == arguments
    assert JsonOutputFunctionsParser(args_only=False).invoke(answer()) == {"name": "cookie", "arguments": arguments}
    assert JsonKeyOutputFunctionsParser(key_name="age").invoke(answer()) == 2
    assert PydanticOutputFunctionsParser(pydantic_schema=Cookie).invoke(answer()) == Cookie(name="oat", age=2)
    assert PydanticOutputFunctionsParser(pydantic_schema={"cookie": Cookie}).invoke(answer()).age == 2
    assert PydanticAttrOutputFunctionsParser(pydantic_schema=Cookie, attr_name="name").invoke(answer()) == "oat"


@pytest.mark.parametrize(
    ("parser", "message", "reason"),
    [
        (OutputFunctionsParser(), AIMessage("hi"), "no function call"),
        (JsonOutputFunctionsParser(), answer("{"), "'cookie' are no JSON"),
        (JsonOutputFunctionsParser(strict=True), answer('{"a": "x\ny"}'), "no JSON"),
        (JsonKeyOutputFunctionsParser(key_name="x"), answer(), "no argument 'x'"),
        (PydanticOutputFunctionsParser(pydantic_schema=Cookie), answer('{"name": 1}'), "no Cookie"),
        (PydanticOutputFunctionsParser(pydantic_schema={"cake": Cookie}), answer(), "there are cake"),
    ],
)
def test_what_cannot_be_read_is_told(parser: Any, message: AIMessage, reason: str) -> None:
    with pytest.raises(OutputParserException, match=reason):
        parser.invoke(message)


def test_several_schemas_need_the_functions_name() -> None:
    with pytest.raises(ValueError, match="args_only"):
        PydanticOutputFunctionsParser(pydantic_schema={"cookie": Cookie}, args_only=True)


async def test_arguments_are_shown_while_they_come() -> None:
    pieces = ['{"name": "o', "at", '", "age": 2}']

    async def chunks() -> Any:
        yield AIMessageChunk("", additional_kwargs={"function_call": {"name": "cookie", "arguments": ""}})
        for piece in pieces:
            yield AIMessageChunk("", additional_kwargs={"function_call": {"arguments": piece}})

    shown = [value async for value in JsonOutputFunctionsParser().atransform(chunks())]
    assert shown[-1] == {"name": "oat", "age": 2}
    assert {"name": "oat"} in shown


def raw(arguments: str | None, name: str = "add") -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_tool_calls_in_openais_form_are_data() -> None:
    assert parse_tool_call(raw('{"a": 1}')) == {"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"}
    assert parse_tool_call(raw('{"a": 1}'), return_id=False) == {"name": "add", "args": {"a": 1}}
    assert parse_tool_call(raw("")) == {"name": "add", "args": {}, "id": "1", "type": "tool_call"}
    assert parse_tool_call(raw('{"a": 1, "b'), partial=True, return_id=False) == {"name": "add", "args": {"a": 1}}
    assert parse_tool_call(raw("x"), partial=True) is None
    assert parse_tool_call({"id": "1"}) is None
    assert [call["args"] for call in parse_tool_calls([raw("{}"), {"id": "2"}, raw('{"a": 2}')])] == [{}, {"a": 2}]


def test_every_call_that_cannot_be_read_is_named() -> None:
    with pytest.raises(OutputParserException, match=r"(?s)'add'.*'sub'"):
        parse_tool_calls([raw("{"), raw("{}"), raw("[", "sub")])
    assert make_invalid_tool_call(raw("{"), "cut") == {
        "name": "add",
        "args": "{",
        "id": "1",
        "error": "cut",
        "type": "invalid_tool_call",
    }
