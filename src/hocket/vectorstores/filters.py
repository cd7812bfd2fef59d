"""Filters: conditions on the metadata of documents, as data, which mean the same in every store.

Beside them is what every store refuses before anything is embedded or stored.

A filter is read once, here, into conditions; a store evaluates them, or writes them in its own language with the values
bound. `is_met` says what they mean, and every store is held to it.

    {"lang": "de"}                                   equal
    {"year": {"$gte": 2020, "$lt": 2024}}            several conditions on one key, and several keys: all of them
    {"$or": [{"lang": "de"}, {"lang": {"$exists": False}}]}

A value compares with its own kind: texts with texts (by code points), numbers with numbers, true and false with
themselves. Any other kind, and a key that is not there, is unequal to it and in no order with it. So ``$ne``, ``$nin`` and
``$not`` match documents that have no such key, as in MongoDB, whose operators these are.
"""

import datetime
import json
import math
import operator
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias, cast

from hocket.documents import Document
from hocket.errors import EmbeddingMismatch, InvalidInput
from hocket.errors.hints import bridge_hint, near_name_hint

__all__ = [
    "All",
    "Compare",
    "Condition",
    "Exists",
    "Filter",
    "Kind",
    "Negation",
    "Order",
    "Scalar",
    "Some",
    "check_batch_size",
    "check_document",
    "check_size",
    "check_storable",
    "compile_condition",
    "find_kind",
    "is_met",
    "parse_filter",
]

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def check_document(document: object) -> Document:
    """Return a copy of ``document``, its metadata as JSON gives them back: tuples are lists there, and keys are texts.

    Dates, times, UUIDs and paths are texts, too; those of dates and times are of ISO 8601.

    Raises:
        InvalidInput: it is none, its id is empty, JSON cannot say its metadata, or one of its texts holds a NUL or a lone
            surrogate.
    """
    if not isinstance(document, Document):
        raise InvalidInput(
            f"a store takes documents, not {type(document).__name__}: Document(text){bridge_hint(document)}"
        )
    if document.id == "":
        raise InvalidInput("the id of a document is empty; leave it out, and the store gives it one")
    check_storable(document.page_content, "the text of a document")
    check_storable(document.id or "", "the id of a document")
    try:
        written = json.dumps(document.metadata, allow_nan=False, ensure_ascii=False, default=_write_value)
        metadata = json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the metadata {document.metadata!r} cannot be stored as JSON: {error}") from None
    check_storable("\0" if _ESCAPED_NUL.search(written) else written, "a text in the metadata of a document")
    return document.model_copy(update={"metadata": metadata, "score": None})


def _write_value(value: object) -> str:
    """Return what loaders put into metadata and JSON has no form for, as a text."""
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case uuid.UUID() | PurePath():
            return str(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no form there")


def check_storable(text: str, what: str) -> str:
    """Return ``text``, which a database can hold: most take no NUL, and none what UTF-8 cannot say.

    Raises:
        InvalidInput: it holds a NUL or a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} holds a lone surrogate, which cannot be stored: leave it out") from None
    if "\0" in text:
        raise InvalidInput(f"{what} holds a NUL, which databases do not store: leave it out")
    return text


def check_batch_size(batch_size: int) -> None:
    """Check how many texts are to be embedded at a time.

    Raises:
        InvalidInput: it is no whole number above 0.
    """
    if batch_size < 1:
        raise InvalidInput(f"batch_size is {batch_size!r}; it is a whole number above 0")


def check_size(size: int, expected: int, owner: str) -> None:
    """Check the numbers of a vector against those that a store's vectors have.

    Raises:
        EmbeddingMismatch: they differ.
    """
    if size != expected:
        raise EmbeddingMismatch(
            f"{owner} holds vectors of {expected} numbers, and this one has {size}: it is of another embedding model"
        )


Filter: TypeAlias = Mapping[str, object]
"""Conditions on metadata; see the module."""

Scalar: TypeAlias = str | int | float | bool | None
"""A value that a filter may compare with."""

Order = Literal["$eq", "$gt", "$gte", "$lt", "$lte"]
"""The comparisons of a value with another one."""

Kind = Literal["null", "bool", "number", "text", "other"]
"""What compares with what; values of "other", lists and objects, compare with nothing."""


@dataclass(frozen=True)
class Compare:
    """The value of ``key`` is of the kind of ``value``, and equal to it, or in this order with it."""

    key: str
    order: Order
    value: Scalar


@dataclass(frozen=True)
class Exists:
    """There is a value under ``key``; null is one."""

    key: str


@dataclass(frozen=True)
class All:
    """All of the conditions hold."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Some:
    """At least one of the conditions holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Negation:
    """The condition does not hold."""

    part: "Condition"


Condition: TypeAlias = Compare | Exists | All | Some | Negation
"""A filter that was read: a comparison, or others put together."""

_ORDERS: dict[Order, Callable[..., bool]] = {
    "$eq": operator.eq,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OF_KEYS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$not")
_BIGGEST = 2**63
_DEEPEST = 24
"""Mappings and lists inside one another; SQLite's own parser gives up soon after."""

_OF_FILTERS = ("$and", "$or", "$not")


def parse_filter(given: Filter | None) -> Condition:
    """Read a filter; None is one that everything matches.

    Raises:
        InvalidInput: it is no filter, or has an operator that does not exist, or a value that cannot be compared.
    """
    _check_depth(given, _DEEPEST)
    return All(()) if given is None else _parse(given)


def is_met(condition: Condition, metadata: Mapping[str, object]) -> bool:
    """Whether ``condition`` holds for these metadata. It says what filters mean."""
    return compile_condition(condition)(metadata)


def compile_condition(condition: Condition) -> Callable[[Mapping[str, object]], bool]:
    """Return a function that says whether ``condition`` holds for some metadata: quick, for it is asked of each document."""
    match condition:
        case Compare(key, order, value):
            compare, kind = _ORDERS[order], find_kind(value)
            if order == "$eq":  # most values are others
                return lambda metadata: (found := metadata.get(key, ...)) == value and find_kind(found) == kind
            return lambda metadata: find_kind(found := metadata.get(key, ...)) == kind and compare(found, value)
        case Exists(key):
            return lambda metadata: key in metadata
        case Some((Compare(key, "$eq"), _, *_) as parts) if all(
            isinstance(one, Compare) and (one.key, one.order) == (key, "$eq") for one in parts
        ):  # ``$in``, whose list may be long
            wanted = {(find_kind(one.value), one.value) for one in parts if isinstance(one, Compare)}

            def is_among(metadata: Mapping[str, object]) -> bool:
                kind = find_kind(found := metadata.get(key, ...))
                return kind != "other" and (kind, found) in wanted

            return is_among
        case All(parts) | Some(parts):
            holds, enough = [compile_condition(part) for part in parts], isinstance(condition, Some)
            if len(holds) == 1:
                return holds[0]

            def check(metadata: Mapping[str, object]) -> bool:
                for one in holds:
                    if one(metadata) == enough:
                        return enough
                return not enough

            return check
        case Negation(part):
            held = compile_condition(part)
            return lambda metadata: not held(metadata)


def find_kind(value: object) -> Kind:
    """Return the kind of a value: with others of its kind it compares."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "other"


def _check_depth(given: object, left: int) -> None:
    if not isinstance(given, Mapping | list | tuple):
        return
    if not left:
        raise InvalidInput(f"the filter has more than {_DEEPEST} mappings and lists inside one another; flatten it")
    entries = cast("Mapping[object, object] | Sequence[object]", given)
    for one in entries.values() if isinstance(entries, Mapping) else entries:
        _check_depth(one, left - 1)


def _parse(given: object) -> Condition:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"a filter is a mapping of keys to values or conditions, not {type(given).__name__}")
    parts = [_parse_entry(key, value) for key, value in cast("Mapping[object, object]", given).items()]
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_entry(key: object, value: object) -> Condition:
    if not isinstance(key, str):
        raise InvalidInput(f"a filter's keys are texts, not {key!r}")
    if not key.startswith("$"):
        return _parse_key(check_storable(key, "a key of a filter"), value)
    if key == "$not":
        return Negation(_parse(value))
    if key in ("$and", "$or"):
        parts = tuple(map(_parse, _list(key, value)))
        if not parts:
            raise InvalidInput(f"{key} needs at least one filter in its list")
        return All(parts) if key == "$and" else Some(parts)
    raise _refuse(key, _OF_FILTERS, "between filters")


def _parse_key(key: str, value: object) -> Condition:
    if not isinstance(value, Mapping):
        return Compare(key, "$eq", _check(key, value))
    operators = cast("Mapping[object, object]", value)
    if not operators:
        raise InvalidInput(f"the condition on {key!r} is empty; write a value, or an operator: {{'$eq': value}}")
    parts = [_parse_operator(key, str(name), one) for name, one in operators.items()]
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_operator(key: str, name: str, value: object) -> Condition:
    match name:
        case "$eq" | "$gt" | "$gte" | "$lt" | "$lte":
            checked = _check(key, value)
            if name != "$eq" and find_kind(checked) not in ("text", "number"):
                raise InvalidInput(f"{name} on {key!r} got {value!r}; only texts and numbers have an order")
            return Compare(key, name, checked)
        case "$ne":
            return Negation(Compare(key, "$eq", _check(key, value)))
        case "$in" | "$nin":
            found = Some(tuple(Compare(key, "$eq", _check(key, one)) for one in _list(name, value)))
            return found if name == "$in" else Negation(found)
        case "$exists":
            if not isinstance(value, bool):
                raise InvalidInput(f"$exists on {key!r} is {value!r}; it is True or False")
            return Exists(key) if value else Negation(Exists(key))
        case "$not":
            return Negation(_parse_key(key, value))
        case _:
            raise _refuse(name, _OF_KEYS, f"on {key!r}")


def _check(key: str, value: object) -> Scalar:
    if (isinstance(value, float) and not math.isfinite(value)) or find_kind(value) == "other":
        raise InvalidInput(f"the filter on {key!r} has {value!r}; it takes texts, finite numbers, booleans and None")
    if isinstance(value, int) and not -_BIGGEST <= value < _BIGGEST:
        raise InvalidInput(f"the filter on {key!r} has {value}; a whole number has 64 bits at most")
    if isinstance(value, str):
        check_storable(value, f"the filter on {key!r}")
    return cast(Scalar, value)


def _list(name: str, value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return cast("Sequence[object]", value)
    raise InvalidInput(f"{name} takes a list, not {type(value).__name__}")


def _refuse(name: str, known: tuple[str, ...], where: str) -> InvalidInput:
    return InvalidInput(f"there is no operator {name!r} {where}; {near_name_hint(name, known)}")
