"""What Chroma can say of a filter: never less than it means, so that what is found still has to be looked at.

Chroma's conditions are not hocket's: it has no ``$exists`` and no ``$not``, it does not order texts, and a document keeps
the keys that it had before it was replaced. So keys with texts, booleans and numbers (as floats) are stored beside the
metadata, for Chroma to choose candidates by; `is_met` decides, over the metadata.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from hocket.vectorstores.filters import All, Compare, Condition, Order, Scalar, Some

__all__ = ["RESERVED", "Where", "list_facts", "write_where"]

Where: TypeAlias = dict[str, object]
"""A condition of Chroma's."""

RESERVED: Final = "hocket_"
"""What the names of our own fields begin with."""

_KEY: Final = re.compile(r"(?!hocket_)[A-Za-z_][A-Za-z0-9_]*")
_MOST_LEAVES: Final = 100
"""Of a condition; Chroma fails with a thousand."""

_LONGEST: Final = 200
"""Characters of a text that Chroma compares."""

# A number is compared as a float, to which a large one is rounded: what is greater may have become equal.
_ORDERS: Final[dict[Order, str]] = {"$eq": "$eq", "$gt": "$gte", "$gte": "$gte", "$lt": "$lte", "$lte": "$lte"}


def list_facts(metadata: Mapping[str, object]) -> dict[str, str | float | bool]:
    """Return what Chroma is to know of some metadata."""
    facts = {key: _simplify(value) for key, value in metadata.items() if _KEY.fullmatch(key)}
    return {key: value for key, value in facts.items() if value is not None}


def write_where(condition: Condition) -> Where | None:
    """Return a condition of Chroma's that holds wherever this one does; None: there is none, and all are candidates."""
    return _write(condition) if _count(condition) <= _MOST_LEAVES else None


def _count(condition: Condition) -> int:
    match condition:
        case All(parts) | Some(parts):
            return sum(map(_count, parts))
        case _:
            return 1


def _write(condition: Condition) -> Where | None:
    match condition:
        case Compare(key, order, value):
            return _compare(key, order, value)
        case All(parts):
            return _join("$and", [where for where in map(_write, parts) if where is not None])
        case Some(parts):
            wheres = [_write(part) for part in parts]
            known = [where for where in wheres if where is not None]
            return _join("$or", known) if len(known) == len(wheres) else None
        case _:
            return None


def _compare(key: str, order: Order, value: Scalar) -> Where | None:
    simple = _simplify(value)
    if simple is None or not _KEY.fullmatch(key) or (isinstance(simple, str) and order != "$eq"):
        return None
    return {key: {_ORDERS[order]: simple}}


def _join(word: str, wheres: Sequence[Where]) -> Where | None:
    if len(wheres) <= 1:
        return wheres[0] if wheres else None
    return {word: list(wheres)}


def _simplify(value: object) -> str | float | bool | None:
    """Return a value as Chroma stores and compares it; None: it does not."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        number = float(value)
        return number if math.isfinite(number) else None
    return value if isinstance(value, str) and len(value) <= _LONGEST else None
