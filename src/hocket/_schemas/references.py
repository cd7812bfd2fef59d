"""Where a reference in a JSON schema leads."""

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["DEFINITIONS", "followed", "resolved"]

DEFINITIONS = ("$defs", "definitions")


def resolved(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema that ``reference`` (``#/$defs/Name``, or ``#``) names inside ``root``; None: there is none."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        found = cast("Mapping[str, Any]", found).get(step) if isinstance(found, Mapping) else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def followed(node: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``node``, with what its reference names under what it says itself; one that leads nowhere says nothing."""
    seen: set[str] = set()
    while isinstance(node, Mapping) and isinstance(name := cast("Mapping[str, Any]", node).get("$ref"), str):
        if name in seen:
            break
        seen.add(name)
        beside = {key: value for key, value in cast("Mapping[str, Any]", node).items() if key != "$ref"}
        node = {**(resolved(name, root) or {}), **beside}
    return cast("Mapping[str, Any]", node) if isinstance(node, Mapping) else {}
