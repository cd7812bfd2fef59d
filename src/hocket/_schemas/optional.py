"""Nulls that stand for absent properties.

A strict dialect that requires every property makes a model write null for one that it leaves out. These functions take
those nulls out of an answer again, by the schema as it was before it was compiled.
"""

from collections.abc import Mapping
from typing import overload

from hocket._json import JSON, JSONObject
from hocket._schemas.references import DEFINITIONS, Schema, as_list, as_object, follow

__all__ = ["drop_nulls", "find_optional", "has_optional"]

_NAMED = ("properties", *DEFINITIONS)
_DATA = ("default", "enum", "const", "examples")


def has_optional(schema: JSON | Schema) -> bool:
    """Whether a property in ``schema`` may be absent, and has no default."""
    if isinstance(schema, list):
        return any(map(has_optional, schema))
    if not isinstance(schema, Mapping):
        return False
    return bool(find_optional(schema)) or any(
        any(map(has_optional, one.values())) if key in _NAMED and isinstance(one, Mapping) else has_optional(one)
        for key, one in schema.items()
        if key not in _DATA
    )


@overload
def drop_nulls(value: JSONObject, schema: Schema) -> JSONObject: ...
@overload
def drop_nulls(value: JSON, schema: Schema) -> JSON: ...
def drop_nulls(value: JSON, schema: Schema) -> JSON:
    """Return ``value``, which may be half read, without the nulls that stand for absent properties."""
    try:
        return _drop(value, schema, schema)
    except RecursionError:  # nested too deeply to be read: who checks it says so
        return value


def find_optional(node: Schema) -> set[str]:
    """Return the names of the properties that may be absent, and have no default."""
    required = as_list(node.get("required"))
    return {
        name
        for name, one in as_object(node.get("properties")).items()
        if name not in required and isinstance(one, Mapping) and "default" not in one
    }


def _drop(value: JSON, schema: JSON | Schema, root: Schema) -> JSON:
    if isinstance(value, list):
        kinds = [kind for kind in _list_choices(schema, root) if "items" in kind]
        items = kinds[0]["items"] if kinds else {}
        return [_drop(item, items, root) for item in value]
    if not isinstance(value, dict):
        return value
    for kind in _list_choices(schema, root):
        properties = as_object(kind.get("properties"))
        if value.keys() <= properties.keys():  # an object of a strict answer has the keys of its kind
            absent = {name for name in find_optional(kind) if name in value and value[name] is None}
            absent = {name for name in absent if not _may_be_null(properties[name], root)}
            return {name: _drop(one, properties[name], root) for name, one in value.items() if name not in absent}
    return value


def _list_choices(schema: JSON | Schema, root: Schema) -> list[Schema]:
    """Return the schemas of which one holds: unions taken apart, each once."""
    choices, seen, waiting = list[Schema](), set[int](), [schema]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            node = follow(one, root)
            choices.append(node)
            waiting += [inner for key in ("allOf", "oneOf", "anyOf") for inner in reversed(as_list(node.get(key)))]
    return choices


def _may_be_null(schema: JSON, root: Schema) -> bool:
    for kind in _list_choices(schema, root):
        types = kind.get("type")
        if types == "null" or "null" in as_list(types) or None in as_list(kind.get("enum")):
            return True
    return False
