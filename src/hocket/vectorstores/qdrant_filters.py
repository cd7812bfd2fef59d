"""Filters for a Qdrant server, and what it has to know of a document to act by them.

Qdrant's own conditions take a key for a path, and a list for each of its values; they know no equal floats, and no order of
texts. So it is told facts: a text for each key, and one for each key with its value, which two documents share where they
are equal, and nowhere else. One index over them serves any key. Numbers are kept beside them, as floats, to which a large
one is rounded; for the order of texts there is nothing.

What cannot be said exactly is said too widely, or, where it is negated, too narrowly: no document that matches is left out.
"""

import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from hocket.vectorstores.filters import (
    All,
    Compare,
    Condition,
    Exists,
    Negation,
    Order,
    Some,
    find_kind,
)

__all__ = ["FACTS", "NUMBERS", "QdrantCondition", "list_numbers", "write_clause", "write_facts"]

QdrantCondition: TypeAlias = dict[str, Any]
"""A condition of Qdrant's."""

FACTS: Final = "facts"
NUMBERS: Final = "numbers"

_NOTHING: Final[QdrantCondition] = {"has_id": []}
_EVERYTHING: Final[QdrantCondition] = {"must_not": [_NOTHING]}

_LONGEST: Final = 100
"""Characters of a fact; of a longer one its hash is kept."""

_WIDE: Final[dict[Order, str]] = {"$gt": "gte", "$gte": "gte", "$lt": "lte", "$lte": "lte"}
_NARROW: Final[dict[Order, str]] = {"$gt": "gt", "$gte": "gt", "$lt": "lt", "$lte": "lt"}


def write_facts(metadata: Mapping[str, object]) -> list[str]:
    """Return what some metadata are equal to."""
    equal = [_write_fact(key, value) for key, value in metadata.items() if find_kind(value) != "other"]
    return [*map(_write_fact, metadata), *equal]


def list_numbers(metadata: Mapping[str, object]) -> list[dict[str, str | float]]:
    """Return the numbers among some metadata."""
    return [
        {"key": _write_fact(key), "value": _round(value)}
        for key, value in metadata.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def write_clause(condition: Condition, *, is_wide: bool = True) -> QdrantCondition:
    """Return a condition of Qdrant's.

    Args:
        condition: what it says.
        is_wide: whether it holds wherever ``condition`` does; else it holds nowhere where ``condition`` does not.
    """
    match condition:
        case Compare(key, "$eq", value):
            return _match([_write_fact(key, value)])
        case Compare(key, order, int() | float() as value):
            limit = {(_WIDE if is_wide else _NARROW)[order]: _round(value)}
            of_key = {"key": "key", "match": {"value": _write_fact(key)}}
            return {"nested": {"key": NUMBERS, "filter": {"must": [of_key, {"key": "value", "range": limit}]}}}
        case Compare(key):
            return _match([_write_fact(key)]) if is_wide else _NOTHING
        case Exists(key):
            return _match([_write_fact(key)])
        case All(parts):
            return {"must": [write_clause(part, is_wide=is_wide) for part in parts]} if parts else _EVERYTHING
        case Some(parts):
            return {"should": _write_alternatives(parts, is_wide)} if parts else _NOTHING
        case Negation(part):
            return {"must_not": [write_clause(part, is_wide=not is_wide)]}


def _write_alternatives(parts: Sequence[Condition], is_wide: bool) -> list[QdrantCondition]:
    """Return conditions of which one has to hold: those of ``$in``, which may be thousands, as one."""
    equal = [_write_fact(one.key, one.value) for one in parts if isinstance(one, Compare) and one.order == "$eq"]
    others = [one for one in parts if not (isinstance(one, Compare) and one.order == "$eq")]
    return [*([_match(equal)] if equal else []), *(write_clause(one, is_wide=is_wide) for one in others)]


def _match(facts: Sequence[str]) -> QdrantCondition:
    return {"key": FACTS, "match": {"any": facts}}


def _write_fact(*key_and_value: object) -> str:
    """Return the fact that there is a key, or that it has a value. Equal numbers are written alike."""
    plain = [int(one) if isinstance(one, float) and one.is_integer() else one for one in key_and_value]
    fact = json.dumps(plain, ensure_ascii=False)
    return fact if len(fact) <= _LONGEST else hashlib.sha256(fact.encode()).hexdigest()


def _round(number: float) -> float:
    """Return a number as a float; one that is too large for it is the largest there is."""
    try:
        return float(number)
    except OverflowError:
        return math.copysign(sys.float_info.max, number)
