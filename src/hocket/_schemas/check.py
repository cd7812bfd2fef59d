"""Whether a value is what a JSON schema says: the keywords that structured output uses (JSON Schema 2020-12, validation).

``format`` is not checked, and keywords that are not in the table below are passed over, as the specification says of
unknown ones.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from hocket._schemas.references import followed

__all__ = ["violations"]

LIMIT = 20
"""How many violations are told at most."""

Schema = Mapping[str, Any]
Check = Callable[[Any, Any, Schema, str, Schema], Iterator[str]]

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


def violations(value: Any, schema: Schema) -> list[str]:
    """Return what is wrong with ``value``, a line each, with the place (``people[0].name``); nothing: it is as it should be.

    Args:
        value: what `json.loads` gives.
        schema: a JSON schema, with its definitions under ``$defs``.
    """
    found: list[str] = []
    for line in _check(value, schema, "", schema):
        found.append(line)
        if len(found) == LIMIT:
            break
    return found


def _check(value: Any, schema: Any, path: str, root: Schema) -> Iterator[str]:
    if schema is False:
        yield f"{_at(path)} is not allowed"
        return
    node = followed(schema, root)
    for keyword, argument in node.items():
        check = _CHECKS.get(keyword)
        if check is not None:
            yield from check(value, argument, node, path, root)


def _at(path: str) -> str:
    return path.lstrip(".") or "the value"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _holds(value: Any, schema: Any, root: Schema) -> bool:
    return next(_check(value, schema, "", root), None) is None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal in JSON, where true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or (
        _TYPES["number"](one) and _TYPES["number"](other) and one == other
    )


def _type(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    kinds: list[str] = [argument] if isinstance(argument, str) else argument
    if not any(kind in _TYPES and _TYPES[kind](value) for kind in kinds):
        yield f"{_at(path)} is {_shown(value)}, and must be of type {' or '.join(kinds)}"


def _enum(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if not any(_same(value, one) for one in argument):
        yield f"{_at(path)} is {_shown(value)}, and must be one of {', '.join(map(_shown, argument))}"


def _const(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if not _same(value, argument):
        yield f"{_at(path)} is {_shown(value)}, and must be {_shown(argument)}"


def _properties(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in argument.items():
            if name in value:
                yield from _check(value[name], one, f"{path}.{name}", root)


def _required(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        for name in argument:
            if name not in value:
                yield f"{_at(f'{path}.{name}')} is missing"


def _more_properties(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        patterns = node.get("patternProperties") or {}
        for name, one in cast("dict[str, Any]", value).items():
            if name not in (node.get("properties") or {}) and not any(_matches(name, each) for each in patterns):
                yield from _check(one, argument, f"{path}.{name}", root)


def _pattern_properties(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in cast("dict[str, Any]", value).items():
            for pattern, schema in argument.items():
                if _matches(name, pattern):
                    yield from _check(one, schema, f"{path}.{name}", root)


def _items(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if isinstance(value, list):
        first = len(node.get("prefixItems") or ())
        for index, item in enumerate(value[first:], first):
            yield from _check(item, argument, f"{path}[{index}]", root)


def _prefix_items(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if isinstance(value, list):
        pairs = zip(value, argument, strict=False)
        for index, (item, schema) in enumerate(pairs):
            yield from _check(item, schema, f"{path}[{index}]", root)


def _unique_items(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if argument and isinstance(value, list):
        items = value
        if len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
            yield f"{_at(path)} holds an item twice"


def _any_of(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if not any(_holds(value, one, root) for one in argument):
        yield f"{_at(path)} is {_shown(value)}, and fits none of the {len(argument)} schemas that it may have"


def _one_of(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    fitting = sum(_holds(value, one, root) for one in argument)
    if fitting != 1:
        yield f"{_at(path)} is {_shown(value)}, and fits {fitting} of {len(argument)} schemas instead of one"


def _all_of(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    for one in argument:
        yield from _check(value, one, path, root)


def _not(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
    if _holds(value, argument, root):
        yield f"{_at(path)} is {_shown(value)}, which is not allowed"


def _limit(kind: str, measure: Callable[[Any], Any], fits: Callable[[Any, Any], bool], words: str) -> Check:
    """Return a check of a number, or of a length, against a limit."""

    def check(value: Any, argument: Any, node: Schema, path: str, root: Schema) -> Iterator[str]:
        if _TYPES[kind](value) and not fits(measure(value), argument):
            yield f"{_at(path)} is {_shown(value)}, and {words.format(argument)}"

    return check


def _itself(value: Any) -> Any:
    return value


def _matches(text: str, pattern: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:  # it is written for ECMAScript, as the specification has it, and Python cannot read it
        return True


def _divides(value: Any, step: Any) -> bool:
    return bool(step) and abs(value / step - round(value / step)) < 1e-9


_CHECKS: Mapping[str, Check] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _more_properties,
    "patternProperties": _pattern_properties,
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique_items,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "allOf": _all_of,
    "not": _not,
    "minimum": _limit("number", _itself, lambda value, limit: value >= limit, "must be at least {}"),
    "maximum": _limit("number", _itself, lambda value, limit: value <= limit, "must be at most {}"),
    "exclusiveMinimum": _limit("number", _itself, lambda value, limit: value > limit, "must be more than {}"),
    "exclusiveMaximum": _limit("number", _itself, lambda value, limit: value < limit, "must be less than {}"),
    "multipleOf": _limit("number", _itself, _divides, "must be a multiple of {}"),
    "minLength": _limit("string", len, lambda length, limit: length >= limit, "must have at least {} characters"),
    "maxLength": _limit("string", len, lambda length, limit: length <= limit, "must have at most {} characters"),
    "pattern": _limit("string", _itself, _matches, "must match {}"),
    "minItems": _limit("array", len, lambda length, limit: length >= limit, "must have at least {} items"),
    "maxItems": _limit("array", len, lambda length, limit: length <= limit, "must have at most {} items"),
    "minProperties": _limit("object", len, lambda length, limit: length >= limit, "must have at least {} keys"),
    "maxProperties": _limit("object", len, lambda length, limit: length <= limit, "must have at most {} keys"),
}
