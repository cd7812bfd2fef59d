"""The types of JSON values, as `json.loads` returns them."""

from typing import TYPE_CHECKING, TypeAlias

__all__ = ["JSON", "JSONObject"]

if TYPE_CHECKING:
    JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"
    """Any JSON value."""
else:
    JSON = dict | list | str | int | float | bool | None  # no name of itself in it: annotations are evaluated

JSONObject: TypeAlias = dict[str, JSON]
"""A JSON object."""
