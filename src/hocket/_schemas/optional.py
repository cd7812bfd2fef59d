"""Nulls that stand for what is absent.

A strict dialect that requires every property has a model say null for one that it leaves out. Whoever reads the answer
takes those nulls out again: by the schema as it was before it was compiled.
"""

from collections.abc import Mapping
from typing import Any, cast

from hocket._schemas.references import DEFINITIONS, followed

__all__ = ["has_optional", "without_nulls"]

_NAMED = ("properties", *DEFINITIONS)
_DATA = ("default", "enum", "const", "examples")


def has_optional(schema: Any) -> bool:
    """Whether a property in ``schema`` may be absent, and has no default."""
    if isinstance(schema, list):
        return any(map(has_optional, schema))
    if not isinstance(schema, Mapping):
        return False
    node = cast("Mapping[str, Any]", schema)
    return bool(_optional(node)) or any(
        any(map(has_optional, one.values())) if key in _NAMED and isinstance(one, Mapping) else has_optional(one)
        for key, one in node.items()
        if key not in _DATA
    )


def without_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return ``value``, or as far as it has come, without the nulls that stand for absent properties."""
    return _cleared(value, schema, schema)


def _optional(node: Mapping[str, Any]) -> set[str]:
    properties, required = node.get("properties"), node.get("required") or ()
    if not isinstance(properties, Mapping):
        return set()
    each = cast("Mapping[str, Any]", properties).items()
    return {name for name, one in each if name not in required and isinstance(one, Mapping) and "default" not in one}


def _cleared(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        kinds = [kind for kind in _choices(schema, root) if "items" in kind]
        items = kinds[0]["items"] if kinds else {}
        return [_cleared(item, items, root) for item in value]
    if not isinstance(value, dict):
        return value
    held = cast("dict[str, Any]", value)
    for kind in _choices(schema, root):
        properties = kind.get("properties") or {}
        if held.keys() <= properties.keys():  # an object of a strict answer has the keys of its kind
            absent = {name for name in _optional(kind) if name in held and held[name] is None}
            absent = {name for name in absent if not _takes_null(properties[name], root)}
            return {name: _cleared(one, properties[name], root) for name, one in held.items() if name not in absent}
    return value


def _choices(schema: Any, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of which one holds, unions taken apart."""
    node = followed(schema, root)
    found = [node]
    for key in ("anyOf", "oneOf", "allOf"):
        for one in cast("list[Any]", node.get(key) or ()):
            found += _choices(one, root)
    return found


def _takes_null(schema: Any, root: Mapping[str, Any]) -> bool:
    for kind in _choices(schema, root):
        types = kind.get("type")
        if types == "null" or (isinstance(types, list) and "null" in types) or None in kind.get("enum", ()):
            return True
    return False
