"""Filters in SQL: what is the same in every dialect.

Keys and values are bound, never pasted into the text. A dialect writes the three kinds of leaves; each must be true or
false and never NULL, whose negation would be NULL again.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from hocket.vectorstores.filters import All, Compare, Condition, Exists, Kind, Negation, Order, Scalar, Some, find_kind

__all__ = ["Clause", "SQLDialect", "write_condition"]

_LONGEST = 32


class Clause(NamedTuple):
    """A condition in SQL.

    Attributes:
        text: with a placeholder for each value.
        values: in the order of the placeholders.
    """

    text: str
    values: tuple[object, ...] = ()


class SQLDialect(Protocol):
    """How a database writes the leaves of a condition."""

    def write_equal(self, key: str, kind: Kind, values: Sequence[Scalar]) -> Clause:
        """Write that the value of ``key`` is one of these, all of one kind; there may be thousands, or just one."""
        ...

    def write_order(self, key: str, kind: Kind, order: Order, value: Scalar) -> Clause:
        """Write that the value of ``key`` is of this kind, text or number, and in this order with ``value``."""
        ...

    def write_exists(self, key: str) -> Clause:
        """Write that there is a value under ``key``."""
        ...


def write_condition(condition: Condition, dialect: SQLDialect) -> Clause:
    """Write a condition in a dialect; `hocket.vectorstores.filters.is_met` says what it has to mean."""
    match condition:
        case Compare(key, "$eq", value):
            return dialect.write_equal(key, find_kind(value), [value])
        case Compare(key, order, value):
            return dialect.write_order(key, find_kind(value), order, value)
        case Exists(key):
            return dialect.write_exists(key)
        case All(parts):
            return _join("AND", "TRUE", [write_condition(part, dialect) for part in parts])
        case Some(parts):
            return _join("OR", "FALSE", _write_alternatives(parts, dialect))
        case Negation(part):
            text, values = write_condition(part, dialect)
            return Clause(f"(NOT {text})", values)


def _write_alternatives(parts: Sequence[Condition], dialect: SQLDialect) -> list[Clause]:
    """Write conditions of which one has to hold: those of ``$in``, which may be thousands, as one leaf."""
    equal: dict[tuple[str, Kind], list[Scalar]] = {}
    others: list[Condition] = []
    for part in parts:
        if isinstance(part, Compare) and part.order == "$eq":
            equal.setdefault((part.key, find_kind(part.value)), []).append(part.value)
        else:
            others.append(part)
    leaves = [dialect.write_equal(key, kind, values) for (key, kind), values in equal.items()]
    return leaves + [write_condition(part, dialect) for part in others]


def _join(word: str, nothing: str, clauses: Sequence[Clause]) -> Clause:
    """Join clauses, as a tree that is neither deep nor has long chains: SQLite takes a hundred of one inside another, and
    a thousand in a row."""
    if len(clauses) <= 1:
        return clauses[0] if clauses else Clause(nothing)
    if len(clauses) > _LONGEST:
        parts = [clauses[start : start + _LONGEST] for start in range(0, len(clauses), _LONGEST)]
        return _join(word, nothing, [_join(word, nothing, part) for part in parts])
    text = f" {word} ".join(clause.text for clause in clauses)
    return Clause(f"({text})", tuple(value for clause in clauses for value in clause.values))
