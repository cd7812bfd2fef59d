"""Where a reference in a JSON schema leads."""

from collections.abc import Mapping

from hocket._json import JSON

__all__ = ["DEFINITIONS", "EMPTY", "MOST_COPIES", "MOST_INSIDE", "Schema", "as_list", "as_object", "follow", "resolve"]

DEFINITIONS = ("$defs", "definitions")

Schema = Mapping[str, JSON]
"""A JSON schema that is an object. (``true`` and ``false`` are schemas, too.)"""

MOST_COPIES = 32
"""How often one definition is written out: definitions that hold others twice each would grow without end."""

MOST_INSIDE = 16
"""How many definitions are written out in one another."""

MOST_STEPS = 100
"""How many references lead to one schema at most."""

EMPTY: dict[str, JSON] = {}
"""The schema that says nothing. Nobody changes it."""


def as_object(value: JSON | Schema) -> Schema:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else EMPTY


def as_list(value: JSON) -> list[JSON]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def resolve(reference: str, root: Schema) -> Schema | None:
    """Return the schema that ``reference`` (``#/$defs/Name``, or ``#``) names inside ``root``; None: there is none."""
    if not reference.startswith("#"):
        return None
    found: JSON | Schema = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        found = as_object(found).get(step)
    return found if isinstance(found, Mapping) else None


def follow(node: JSON | Schema, root: Schema) -> Schema:
    """Return ``node`` with the schema that its ``$ref`` names merged under its own keywords.

    A reference that leads nowhere, back to itself, or over more than `MOST_STEPS` others adds nothing; a node that is no
    object gives an empty schema.
    """
    seen: set[str] = set()
    schema = as_object(node)
    while isinstance(name := schema.get("$ref"), str):
        if name in seen or len(seen) == MOST_STEPS:
            break
        seen.add(name)
        schema = {**(resolve(name, root) or {}), **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema
