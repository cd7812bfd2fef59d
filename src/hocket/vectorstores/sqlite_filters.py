"""Filters in SQLite's SQL, over metadata that are a JSON text.

`json_each` gives each value with its type, which tells ``1`` from ``true`` and ``"1"``, and finds a key whatever
characters are in it, where a JSON path would need them escaped. Values are bound as JSON, too: SQLite then reads numbers
on both sides alike.
"""

import json
from collections.abc import Sequence

from hocket.vectorstores.filter_sql import Clause
from hocket.vectorstores.filters import Kind, Order, Scalar

__all__ = ["SQLiteFilters"]

_TYPES: dict[Kind, str] = {
    "null": "('null')",
    "bool": "('true', 'false')",
    "number": "('integer', 'real')",
    "text": "('text')",
}
_SIGNS: dict[Order, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class SQLiteFilters:
    """Writes the leaves of a condition.

    Args:
        column: that holds the metadata.
    """

    def __init__(self, column: str) -> None:
        self._value = f"EXISTS (SELECT 1 FROM json_each({column}) WHERE key = ?"

    def write_equal(self, key: str, kind: Kind, values: Sequence[Scalar]) -> Clause:
        """Write that the value of ``key`` is one of these."""
        found = f"{self._value} AND type IN {_TYPES[kind]}"
        if kind == "null":
            return Clause(f"{found})", (key,))
        text = f"{found} AND value IN (SELECT value FROM json_each(?)))"
        return Clause(text, (key, json.dumps(values, ensure_ascii=False)))

    def write_order(self, key: str, kind: Kind, order: Order, value: Scalar) -> Clause:
        """Write that the value of ``key`` is in this order with ``value``. Texts compare by their bytes: code points."""
        text = f"{self._value} AND type IN {_TYPES[kind]} AND value {_SIGNS[order]} json_extract(?, '$'))"
        return Clause(text, (key, json.dumps(value, ensure_ascii=False)))

    def write_exists(self, key: str) -> Clause:
        """Write that there is a value under ``key``."""
        return Clause(f"{self._value})", (key,))
