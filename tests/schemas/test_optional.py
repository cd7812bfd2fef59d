"""Nulls that stand for what is absent are taken out again, and no others."""

from typing import Any

import pytest

from hocket._schemas import drop_nulls, has_optional

LEAF = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": ["integer", "null"]}}, "required": []}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"anyOf": [{"$ref": "#/$defs/Leaf"}, {"type": "null"}]},
        "c": {"type": "array", "items": {"$ref": "#/$defs/Leaf"}},
        "d": {"type": "string", "default": "x"},
    },
    "required": ["b"],
    "$defs": {"Leaf": LEAF},
}


@pytest.mark.parametrize(
    ("value", "cleared"),
    [
        ({"a": None, "b": None, "c": [], "d": "x"}, {"b": None, "c": [], "d": "x"}),
        ({"a": "s", "b": {"x": None, "y": None}}, {"a": "s", "b": {"y": None}}),
        ({"a": None, "c": [{"x": None}, {"x": 1}]}, {"c": [{}, {"x": 1}]}),
        ({"d": None}, {"d": None}),
        ({"stranger": None}, {"stranger": None}),
        ("text", "text"),
    ],
)
def test_nulls(value: Any, cleared: Any) -> None:
    """Where null is a value of the field, or the field had to be there, it stays."""
    assert drop_nulls(value, TREE) == cleared


def test_whether_there_are_any() -> None:
    """Nullable or not: what has to be there, or has a default, is not optional."""
    assert has_optional(TREE)
    assert not has_optional({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]})
    assert not has_optional({"type": "object", "properties": {"a": {"default": 1}}})


def test_properties_may_have_the_names_of_keywords() -> None:
    """A field called default is a field."""
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"default": inner}, "required": ["default"]}
    assert has_optional(schema)
    assert drop_nulls({"default": {"x": None}}, schema) == {"default": {}}
    assert not has_optional(
        {"type": "object", "properties": {"properties": {"type": "string"}}, "required": ["properties"]}
    )
