"""What a schema has to be before it is used: it may come from a stranger, and decides how much work each answer is."""

import functools
import warnings
from collections.abc import Mapping

from pydantic_core import SchemaError, SchemaValidator, core_schema

from hocket._json import JSON
from hocket._schemas.references import Schema, as_object
from hocket.errors import HocketWarning, InvalidInput

__all__ = ["IN_A_CIRCLE", "check_schema", "is_match"]

IN_A_CIRCLE = "the schema refers to itself in a circle (by $ref, allOf, anyOf, not), or the value is nested too deeply"

LEVELS = 128
"""How deep objects and lists may lie in one another."""

PATTERNS = 100
"""How many different patterns there may be: to read one takes up to 50 ms."""

_LEAVES = (str, int, float, type(None))  # to ask for a mapping, or for a union, takes three times as long


def check_schema(schema: Schema, *, warns: bool = True) -> None:
    """Refuse a schema that cannot be used in bounded time and memory, and warn of patterns that are not checked.

    Args:
        schema: a JSON schema.
        warns: False: somebody else checks values by it.

    Raises:
        InvalidInput: it is nested too deeply, or has too many patterns.
    """
    patterns = set[str]()
    level: list[JSON | Schema] = [schema]
    depth = 0
    while level:
        depth += 1
        if depth > LEVELS:
            raise InvalidInput(
                f"the schema is nested deeper than {LEVELS} levels: put its parts under $defs, once each"
            )
        below: list[JSON] = []
        for node in level:
            if isinstance(node, list):
                below += node
            elif isinstance(node, Mapping):
                below += node.values()
                if "pattern" in node or "patternProperties" in node:
                    found = (node.get("pattern"), *as_object(node.get("patternProperties")))
                    patterns |= {one for one in found if isinstance(one, str)}
        level = [one for one in below if not isinstance(one, _LEAVES)]
    if len(patterns) > PATTERNS:
        raise InvalidInput(f"the schema has {len(patterns)} different patterns; {PATTERNS} are the most")
    if warns and (unread := sorted(one for one in patterns if _read(one) is None)):
        warnings.warn(
            f"the schema's pattern {unread[0]!r} is not checked: it is checked in linear time, without look-around and "
            "back-references, or not at all",
            HocketWarning,
            stacklevel=3,
        )


def is_match(text: str, pattern: str) -> bool:
    """Whether a pattern is somewhere in a text, found in linear time; one that cannot be read is everywhere."""
    validator = _read(pattern)
    return validator is None or validator.isinstance_python(text)


@functools.lru_cache(maxsize=1024)
def _read(pattern: str) -> SchemaValidator | None:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except (
        SchemaError
    ):  # it is written for ECMAScript, as the specification has it, and says what such an engine cannot
        return None
