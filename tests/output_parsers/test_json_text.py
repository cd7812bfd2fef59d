"""JSON out of texts: cut short, in fences, with the keys that it should have."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.output_parsers import (
    OutputParserException,
    parse_and_check_json_markdown,
    parse_json_markdown,
    parse_partial_json,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1', {"a": 1}),
        ('{"a": "x', {"a": "x"}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": tru', {}),
        ('[{"a": 1}, {"b"', [{"a": 1}, {}]),
        ('"abc', "abc"),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
    ],
)
def test_what_is_cut_short_is_closed(text: str, value: Any) -> None:
    assert parse_partial_json(text) == value


@pytest.mark.parametrize("text", ["", "nonsense", '{"a": 1} and more', '{"a": 1}}', '{"a": "C:\\d"}', '"\\u0x"'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        parse_partial_json(text)


def test_strict_refuses_line_breaks_in_strings_of_a_whole_text() -> None:
    """What is cut short is read as models write it."""
    with pytest.raises(ValueError):
        json.loads('{"a": "x\ny"}')
    assert parse_partial_json('{"a": "x\ny"}') == {"a": "x\ny"}


@given(JSON)
def test_a_whole_text_is_its_value(value: Any) -> None:
    assert parse_partial_json(json.dumps(value)) == value


@given(st.dictionaries(st.text(max_size=3), JSON, min_size=1, max_size=3), st.data())
def test_any_beginning_of_an_object_is_an_object(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    end = data.draw(st.integers(1, len(text)))
    assert isinstance(parse_partial_json(text[:end]), dict)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '  {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        'Here it is: ```{"a": 1}``` As you asked.',
        '```JSON\n{"a": 1',
        '`{"a": 1}`',
        '```json\n{"a": 1}\n```\nor else\n```json\n{"a": 2}\n```',
    ],
)
def test_a_fence_is_found(text: str) -> None:
    assert parse_json_markdown(text) == {"a": 1}


def test_backticks_in_a_string_are_text() -> None:
    assert parse_json_markdown('```json\n{"a": "```py```"}\n```') == {"a": "```py```"}


def test_the_parser_may_be_the_callers() -> None:
    assert parse_json_markdown("```1,2```", parser=lambda text: text.split(",")) == ["```1", "2```"]


def test_an_object_has_the_keys_that_it_should_have() -> None:
    assert parse_and_check_json_markdown('{"a": 1, "b": 2}', ["a"]) == {"a": 1, "b": 2}
    for text, reason in [('{"b": 1}', "no 'a'"), ("[1]", "no object: list"), ("x", "is not JSON")]:
        with pytest.raises(OutputParserException, match=reason):
            parse_and_check_json_markdown(text, ["a"])
