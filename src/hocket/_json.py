"""The types of JSON values, as `json.loads` returns them."""

from typing_extensions import TypeAliasType

__all__ = ["JSON", "JSONObject"]

JSON = TypeAliasType("JSON", "dict[str, JSON] | list[JSON] | str | int | float | bool | None")
"""Any JSON value."""

JSONObject = TypeAliasType("JSONObject", dict[str, JSON])
"""A JSON object."""
