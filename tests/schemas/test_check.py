"""What is wrong with a value, by a JSON schema."""

from typing import Any

import pytest

from hocket._schemas import find_violations

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "friends": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
    "additionalProperties": False,
}

CASES: dict[str, tuple[Any, Any, Any]] = {
    "string": ({"type": "string"}, "x", 1),
    "integer": ({"type": "integer"}, 2.0, 2.5),
    "no bool is a number": ({"type": "number"}, 1, True),
    "several types": ({"type": ["string", "null"]}, None, 1),
    "null": ({"type": "null"}, None, 0),
    "enum": ({"enum": ["a", 1]}, 1, "b"),
    "true is not 1": ({"enum": [True]}, True, 1),
    "const": ({"const": 1}, 1.0, 2),
    "required": ({"required": ["a"]}, {"a": 1}, {}),
    "properties": ({"properties": {"a": {"type": "string"}}}, {"a": "x"}, {"a": 1}),
    "closed": ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"b": 1}),
    "others": ({"additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "x"}),
    "patterns of keys": ({"patternProperties": {"^a": {"type": "integer"}}}, {"a": 1, "b": "x"}, {"ab": "x"}),
    "items": ({"items": {"type": "integer"}}, [1, 2], [1, "x"]),
    "places": ({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [1, "x"], ["x"]),
    "after the places": ({"prefixItems": [{"type": "integer"}], "items": False}, [1], [1, 2]),
    "unique": ({"uniqueItems": True}, [1, 2], [1, 1]),
    "any of": ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "x"),
    "one of": ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 3, 7),
    "all of": ({"allOf": [{"type": "integer"}, {"minimum": 5}]}, 5, 4),
    "not": ({"not": {"type": "integer"}}, "x", 1),
    "minimum": ({"minimum": 3}, 3, 2),
    "maximum": ({"maximum": 3}, 3, 4),
    "more than": ({"exclusiveMinimum": 3}, 4, 3),
    "less than": ({"exclusiveMaximum": 3}, 2, 3),
    "multiple": ({"multipleOf": 0.1}, 0.3, 0.35),
    "min length": ({"minLength": 2}, "ab", "a"),
    "max length": ({"maxLength": 2}, "ab", "abc"),
    "pattern": ({"pattern": "b"}, "abc", "ac"),
    "a pattern that Python cannot read": ({"pattern": r"\p{L}"}, "a", "1"),
    "a pattern that cannot be checked": ({"pattern": "(?=a)b", "minLength": 1}, "1", ""),
    "nested numbers": ({"enum": [[1, {"a": 2}]]}, [1.0, {"a": 2}], [1, {"a": True}]),
    "no number is too large": ({"multipleOf": 0.5}, 1.5, float("inf")),
    "min items": ({"minItems": 1}, [1], []),
    "max items": ({"maxItems": 1}, [1], [1, 2]),
    "min keys": ({"minProperties": 1}, {"a": 1}, {}),
    "max keys": ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
    "reference": ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, 1, "x"),
    "recursive": (PERSON, {"name": "a", "friends": [{"name": "b"}]}, {"name": "a", "friends": [{"name": ""}]}),
    "unknown keywords say nothing": ({"x": 1, "type": "integer"}, 1, "x"),
}


@pytest.mark.parametrize(("schema", "good", "bad"), CASES.values(), ids=CASES)
def test_a_keyword(schema: Any, good: Any, bad: Any) -> None:
    """Each tells good values from bad ones, and passes over values of which it says nothing."""
    assert find_violations(good, schema) == []
    assert len(find_violations(bad, schema)) == 1


def test_places_and_values_are_named() -> None:
    """All that is wrong, a line each."""
    found = find_violations({"friends": [{"name": "", "age": 3}]}, PERSON)

    assert found == [
        'friends[0].name is "", and must have at least 1 characters',
        "friends[0].age is not allowed",
        "name is missing",
    ]


def test_no_endless_list() -> None:
    """Twenty are enough."""
    assert len(find_violations(["x"] * 100, {"items": {"type": "integer"}})) == 20
