"""Schemas of strangers: whatever they say, the work is bounded, and an error says what is wrong with them."""

import contextlib
import json
import time
from typing import Any

import pytest

from hocket._schemas import OPENAI, check_schema, compile_schema, drop_nulls, find_violations
from hocket.errors import HocketWarning, InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.tools import StructuredTool, convert_to_openai_tool
from hocket.tools.json_schema import simplify_schema


def nest(levels: int, inner: Any) -> dict[str, Any]:
    """A schema of objects in objects."""
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    return dict(inner)


def share(count: int, **beside: str) -> dict[str, Any]:
    """A schema each of whose definitions holds the next one twice."""
    text: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    definitions = {f"D{count}": text}
    for number in range(count):
        target = {"$ref": f"#/$defs/D{number + 1}", **beside}
        definitions[f"D{number}"] = {"type": "object", "properties": {"l": target, "r": target}, "required": ["l", "r"]}
    root = {"type": "object", "properties": {"root": {"$ref": "#/$defs/D0"}}, "required": ["root"]}
    return {**root, "$defs": definitions}


CIRCLES: dict[str, dict[str, Any]] = {
    "all of itself": {"type": "object", "allOf": [{"$ref": "#"}]},
    "any of itself": {"type": "object", "anyOf": [{"$ref": "#"}, {"type": "null"}]},
    "not itself": {"type": "object", "not": {"$ref": "#"}},
    "two of each other": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"oneOf": [{"$ref": "#/$defs/A"}]}},
    },
}


@pytest.mark.parametrize("schema", CIRCLES.values(), ids=CIRCLES)
def test_a_circle_has_an_end(schema: Any) -> None:
    """What is asked in a circle is an error with its reason; it was a bare RecursionError."""
    tool = StructuredTool(name="t", description="d", func=lambda **kwargs: "ran", args_schema=schema)
    for ask in (lambda: tool.invoke({"a": {}}), lambda: find_violations({"a": {}}, schema)):
        with pytest.raises(InvalidInput, match="in a circle"):
            ask()
    with contextlib.suppress(InvalidInput):
        compile_schema(schema, OPENAI)


@pytest.mark.parametrize("levels", [200, 10_000])
def test_a_deep_nest_is_refused_at_the_door(levels: int) -> None:
    """By a tool, by a dict that is one, by structured output and by a strict dialect."""
    schema = nest(levels, {"type": "string"})
    for take in (
        lambda: check_schema(schema),
        lambda: compile_schema(schema, OPENAI),
        lambda: StructuredTool(name="t", description="d", func=print, args_schema=schema),
        lambda: convert_to_openai_tool({"name": "t", "parameters": schema}),
        lambda: FakeListChatModel(responses=[]).with_structured_output({"title": "A", **schema}),
    ):
        with pytest.raises(ValueError, match="nested deeper than 128 levels"):
            take()


def test_a_tree_of_itself_is_no_circle() -> None:
    """A schema may hold itself where the value is a smaller one; a value nested beyond reason is told so."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    assert find_violations({"a": {"a": {}}}, schema) == []
    value: Any = {}
    for _ in range(2_000):
        value = {"a": value}
    with pytest.raises(InvalidInput, match="nested too deeply"):
        find_violations(value, schema)
    assert drop_nulls(value, schema) is value


HOSTILE: dict[str, tuple[Any, Any]] = {
    "a pattern": ({"pattern": "^(a+)+$"}, "a" * 50_000 + "!"),
    "a pattern of keys": ({"patternProperties": {"^(a|a)*$": {"type": "null"}}}, {"a" * 50_000 + "!": 1}),
    "other keys": (
        {"patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False},
        {"a" * 50_000 + "!": 1},
    ),
    "unique items": ({"uniqueItems": True}, list(range(100_000))),
    "an enum and a long value": ({"enum": [["b"]] * 20_000}, ["a" * 1_000_000]),
    "many choices and a long value": ({"anyOf": [{"type": "integer"}] * 10_000}, ["a" * 1_000_000]),
}


@pytest.mark.parametrize(("schema", "value"), HOSTILE.values(), ids=HOSTILE)
def test_no_keyword_makes_more_than_linear_work(schema: Any, value: Any) -> None:
    """Seconds of the processor, where each took minutes, or for ever, when it was not bounded."""
    began = time.process_time()
    find_violations(value, schema)
    assert time.process_time() - began < 5


PRODUCTS: dict[str, tuple[Any, Any]] = {
    "choices and items": ({"items": {"anyOf": [*[{"type": "null"}] * 1_000, {"type": "integer"}]}}, [1] * 2_000),
    "enums and items": ({"items": {"enum": ["b"] * 2_000}}, ["b"] * 2_000),
    "names and items": ({"items": {"required": ["b"] * 2_000}}, [{"b": 1}] * 2_000),
    "nested choices": (
        {
            "$ref": "#/$defs/D0",
            "$defs": {
                **{
                    f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}, {"$ref": f"#/$defs/D{n + 1}"}]}
                    for n in range(30)
                },
                "D30": {"type": "null"},
            },
        },
        1,
    ),
}


@pytest.mark.parametrize(("schema", "value"), PRODUCTS.values(), ids=PRODUCTS)
def test_work_that_multiplies_is_stopped(schema: Any, value: Any) -> None:
    """A schema and an answer that are small, and whose product is not: an error after 250,000 steps."""
    check_schema(schema)
    with pytest.raises(InvalidInput, match="more than 250,000 steps"):
        find_violations(value, schema)


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(?<!x)y", "(a{1000}){1000}", "("])
def test_a_pattern_that_cannot_be_checked_is_said_when_the_schema_is_given(pattern: str) -> None:
    """It warns, since a server's tool may be of use without it; no answer is refused for it."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    with pytest.warns(HocketWarning, match="is not checked"):
        tool = StructuredTool(name="t", description="d", func=lambda a: a, args_schema=schema)
    assert tool.invoke({"a": "x"}) == "x"


def test_more_patterns_than_can_be_read_are_refused() -> None:
    with pytest.raises(InvalidInput, match="101 different patterns"):
        check_schema({"properties": {f"a{n}": {"pattern": f"a{n}"} for n in range(101)}})


@pytest.mark.parametrize("beside", [{}, {"description": "one"}], ids=["bare", "described"])
def test_shared_definitions_cost_what_they_are_long(beside: dict[str, str]) -> None:
    """Written out, 24 definitions of which each holds the next one twice are 16 million; they stay references."""
    for write in (simplify_schema, lambda schema: compile_schema(schema, OPENAI)):
        short, long = (len(json.dumps(write(share(count, **beside)))) for count in (12, 24))
        assert long < 4 * short < 4_000_000


def test_a_long_chain_of_definitions_is_written() -> None:
    """Each definition names the next: 1,000 of them are no deep nest."""
    definitions: dict[str, Any] = {
        f"D{n}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/D{n + 1}"}}, "required": ["a"]}
        for n in range(1_000)
    }
    schema = {**nest(1, {"$ref": "#/$defs/D0"}), "$defs": {**definitions, "D1000": {"type": "string"}}}
    check_schema(schema)
    for write in (simplify_schema, lambda given: compile_schema(given, OPENAI)):
        assert '{"type": "string"}' in json.dumps(write(schema))
