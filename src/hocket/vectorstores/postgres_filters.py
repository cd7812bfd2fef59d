"""Filters over metadata in PostgreSQL's JSONB.

A ``CASE`` asks for the kind of a value before anything is made of it: the parts of an ``AND`` may be evaluated in any order.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, cast

from psycopg.types.json import Jsonb

from hocket.vectorstores.filter_sql import Clause, write_condition
from hocket.vectorstores.filters import Filter, Kind, Order, Scalar, parse_filter

__all__ = ["make_exact", "write_filter"]

_OPERATORS: Final[dict[Order, str]] = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

_WHOLE: Final = 2.0**53
"""Floats from here on are whole numbers."""


def write_filter(filter: Filter | None) -> Clause:
    """Return a filter as a condition on the column ``facts``.

    Raises:
        InvalidInput: it is none.
    """
    return write_condition(parse_filter(filter), _JSONB())


def make_exact(value: object) -> object:
    """Return what JSON says with large floats as the whole numbers that they are.

    JSONB keeps numbers in decimals, as they are written, and 1e23 is another number there than the float that is written so.
    """
    if isinstance(value, float):
        return int(value) if abs(value) >= _WHOLE else value
    if isinstance(value, dict):
        return {key: make_exact(one) for key, one in cast("dict[str, object]", value).items()}
    return [make_exact(one) for one in cast("list[object]", value)] if isinstance(value, list) else value


class _JSONB:
    """The leaves of conditions."""

    def write_equal(self, key: str, kind: Kind, values: Sequence[Scalar]) -> Clause:
        if len(values) == 1 or kind not in ("text", "number"):
            contained = [Clause("facts @> %s", (Jsonb({key: make_exact(value)}),)) for value in dict.fromkeys(values)]
            return Clause(f"({' OR '.join(text for text, _ in contained)})", tuple(one for _, (one,) in contained))
        return _write_of_kind(key, kind, "= ANY(%s)", list(map(_bind, values)))

    def write_order(self, key: str, kind: Kind, order: Order, value: Scalar) -> Clause:
        return _write_of_kind(key, kind, f"{_OPERATORS[order]} %s", _bind(value))

    def write_exists(self, key: str) -> Clause:
        return Clause("(facts ? %s::text)", (key,))


def _write_of_kind(key: str, kind: Kind, comparison: str, value: object) -> Clause:
    """Write a comparison of texts, by code points, or of numbers, exactly."""
    name, found = (
        ("string", '(facts ->> %s::text) COLLATE "C"')
        if kind == "text"
        else ("number", "(facts ->> %s::text)::numeric")
    )
    return Clause(
        f"(CASE WHEN jsonb_typeof(facts -> %s::text) = '{name}' THEN {found} {comparison} ELSE FALSE END)",
        (key, key, value),
    )


def _bind(value: Scalar) -> object:
    if isinstance(value, str):
        return value
    exact = make_exact(value)
    return Decimal(repr(exact)) if isinstance(exact, float) else Decimal(cast(int, exact))
