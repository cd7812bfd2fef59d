"""Whether a value fits a JSON schema: the keywords that structured output uses (JSON Schema 2020-12, validation).

``format`` is not checked. Keywords that are not in the table below are passed over, as the specification says of unknown
ones, and so are keywords whose argument has the wrong type.
"""

import functools
import itertools
import json
import operator
from collections.abc import Callable, Iterator, Mapping

from hocket._json import JSON
from hocket._schemas.references import Schema, as_list, as_object, follow
from hocket._schemas.sound import IN_A_CIRCLE, is_match
from hocket.errors import InvalidInput
from hocket.errors.hints import shorten

__all__ = ["find_violations", "is_equal"]

LIMIT = 20
"""How many violations are listed at most."""

STEPS = 250_000
"""How many keywords, choices and names one answer is compared with at most; it takes seconds."""


class _Work:
    """What a check has to do: by which schema, and how much at most."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._left = STEPS

    def spend(self, steps: int) -> None:
        """Count steps.

        Raises:
            InvalidInput: there are too many.
        """
        self._left -= steps
        if self._left < 0:
            raise InvalidInput(
                f"to check the answer by its schema takes more than {STEPS:,} steps: make the schema simpler"
            )

    def is_match(self, text: str, pattern: str) -> bool:
        """Whether a pattern is somewhere in a text."""
        self.spend(1 + len(text) // 1000)
        return is_match(text, pattern)


Line = Callable[[], str]
"""A violation in words, which are only made where they are read."""

Check = Callable[[JSON, JSON, Schema, str, _Work], Iterator[Line]]
"""Yields what is wrong with a value: of the value, a keyword's argument, its schema, the value's path, and the work."""


def _is_integer(value: JSON) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[JSON], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": _is_integer,
}


def find_violations(value: JSON, schema: Schema) -> list[str]:
    """Return what is wrong with ``value``: a line each, with the place (``people[0].name``), 20 at most.

    Args:
        value: what `json.loads` returns.
        schema: a JSON schema, with its definitions under ``$defs``, as `check_schema` wants it.

    Raises:
        InvalidInput: the schema makes too much work of this value, or a work without an end.
    """
    try:
        return [line() for line in itertools.islice(_check(value, schema, "", _Work(schema)), LIMIT)]
    except RecursionError:
        raise InvalidInput(IN_A_CIRCLE) from None


def _check(value: JSON, schema: JSON | Schema, path: str, work: _Work) -> Iterator[Line]:
    if schema is False:
        yield lambda: f"{_place(path)} is not allowed"
        return
    node = follow(schema, work.root)
    for keyword, argument in node.items():
        check = _CHECKS.get(keyword)
        if check is not None:
            work.spend(1 + (len(argument) if isinstance(argument, list | dict) else 0))
            yield from check(value, argument, node, path, work)


def _place(path: str) -> str:
    return path.lstrip(".") or "the value"


def _excerpt(value: JSON) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=repr), 60)


def _is_valid(value: JSON, schema: JSON, work: _Work) -> bool:
    return next(_check(value, schema, "", work), None) is None


def is_equal(one: JSON, other: JSON) -> bool:
    """Whether two values are equal in JSON, where true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def _check_type(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    kinds = [kind for kind in ([argument] if isinstance(argument, str) else as_list(argument)) if isinstance(kind, str)]
    if not any(kind in _TYPES and _TYPES[kind](value) for kind in kinds):
        yield lambda: f"{_place(path)} is {_excerpt(value)}, and must be of type {' or '.join(kinds)}"


def _check_enum(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    choices = as_list(argument)
    if not any(is_equal(value, one) for one in choices):
        more = f" ({len(choices)} in all)" if len(choices) > LIMIT else ""
        yield (
            lambda: (
                f"{_place(path)} is {_excerpt(value)}, and must be one of {', '.join(map(_excerpt, choices[:LIMIT]))}{more}"
            )
        )


def _check_const(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if not is_equal(value, argument):
        yield lambda: f"{_place(path)} is {_excerpt(value)}, and must be {_excerpt(argument)}"


def _check_properties(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, dict):
        for name, schema in as_object(argument).items():
            if name in value:
                yield from _check(value[name], schema, f"{path}.{name}", work)


def _check_required(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, dict):
        for name in as_list(argument):
            if isinstance(name, str) and name not in value:
                yield functools.partial("{} is missing".format, _place(f"{path}.{name}"))


def _check_additional_properties(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, dict):
        named, patterns = as_object(node.get("properties")), as_object(node.get("patternProperties"))
        for name, item in value.items():
            if name not in named and not any(work.is_match(name, pattern) for pattern in patterns):
                yield from _check(item, argument, f"{path}.{name}", work)


def _check_pattern_properties(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, dict):
        for name, item in value.items():
            for pattern, schema in as_object(argument).items():
                if work.is_match(name, pattern):
                    yield from _check(item, schema, f"{path}.{name}", work)


def _check_items(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, list):
        first = len(as_list(node.get("prefixItems")))
        for index, item in enumerate(value[first:], first):
            yield from _check(item, argument, f"{path}[{index}]", work)


def _check_prefix_items(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, list):
        pairs = zip(value, as_list(argument), strict=False)
        for index, (item, schema) in enumerate(pairs):
            yield from _check(item, schema, f"{path}[{index}]", work)


def _check_unique_items(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if argument and isinstance(value, list) and len({json.dumps(item, sort_keys=True) for item in value}) < len(value):
        yield lambda: f"{_place(path)} holds an item twice"


def _check_any_of(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    choices = as_list(argument)
    if not any(_is_valid(value, one, work) for one in choices):
        yield (
            lambda: f"{_place(path)} is {_excerpt(value)}, and fits none of the {len(choices)} schemas that it may have"
        )


def _check_one_of(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    choices = as_list(argument)
    fitting = sum(_is_valid(value, one, work) for one in choices)
    if fitting != 1:
        yield (
            lambda: f"{_place(path)} is {_excerpt(value)}, and fits {fitting} of {len(choices)} schemas instead of one"
        )


def _check_all_of(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    for one in as_list(argument):
        yield from _check(value, one, path, work)


def _check_not(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if _is_valid(value, argument, work):
        yield lambda: f"{_place(path)} is {_excerpt(value)}, which is not allowed"


def _make_number_check(fits: Callable[[float, float], bool], words: str) -> Check:
    """Return a check of a number against the keyword's argument."""

    def check(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
        if isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(argument, int | float):
            return
        if not fits(value, argument):
            yield lambda: f"{_place(path)} is {_excerpt(value)}, and {words.format(argument)}"

    return check


def _make_length_check(kind: type[str | list[JSON] | dict[str, JSON]], is_least: bool, words: str) -> Check:
    """Return a check of the length of a string, list or object against the keyword's argument."""

    def check(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
        if not isinstance(value, kind) or not isinstance(argument, int | float):
            return
        if (len(value) < argument) if is_least else (len(value) > argument):
            yield lambda: f"{_place(path)} is {_excerpt(value)}, and {words.format(argument)}"

    return check


def _check_pattern(value: JSON, argument: JSON, node: Schema, path: str, work: _Work) -> Iterator[Line]:
    if isinstance(value, str) and isinstance(argument, str) and not work.is_match(value, argument):
        yield lambda: f"{_place(path)} is {_excerpt(value)}, and must match {argument}"


def _is_multiple(value: float, step: float) -> bool:
    try:
        return bool(step) and abs(value / step - round(value / step)) < 1e-9
    except (OverflowError, ValueError):  # infinite, or none of the floats
        return False


_CHECKS: Mapping[str, Check] = {
    "type": _check_type,
    "enum": _check_enum,
    "const": _check_const,
    "properties": _check_properties,
    "required": _check_required,
    "additionalProperties": _check_additional_properties,
    "patternProperties": _check_pattern_properties,
    "items": _check_items,
    "prefixItems": _check_prefix_items,
    "uniqueItems": _check_unique_items,
    "anyOf": _check_any_of,
    "oneOf": _check_one_of,
    "allOf": _check_all_of,
    "not": _check_not,
    "minimum": _make_number_check(operator.ge, "must be at least {}"),
    "maximum": _make_number_check(operator.le, "must be at most {}"),
    "exclusiveMinimum": _make_number_check(operator.gt, "must be more than {}"),
    "exclusiveMaximum": _make_number_check(operator.lt, "must be less than {}"),
    "multipleOf": _make_number_check(_is_multiple, "must be a multiple of {}"),
    "minLength": _make_length_check(str, True, "must have at least {} characters"),
    "maxLength": _make_length_check(str, False, "must have at most {} characters"),
    "pattern": _check_pattern,
    "minItems": _make_length_check(list, True, "must have at least {} items"),
    "maxItems": _make_length_check(list, False, "must have at most {} items"),
    "minProperties": _make_length_check(dict, True, "must have at least {} keys"),
    "maxProperties": _make_length_check(dict, False, "must have at most {} keys"),
}
