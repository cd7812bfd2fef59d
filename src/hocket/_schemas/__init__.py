"""JSON schemas: written for what a provider's strict mode can say, and checked.

Loaded when first used: who gives no model a schema needs none of it.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket._schemas.check import find_violations, is_equal
    from hocket._schemas.compile import compile_schema, make_schema_name
    from hocket._schemas.dialects import ANTHROPIC, COHERE, DRAFT_2020_12, MISTRAL, OPENAI, SchemaDialect
    from hocket._schemas.optional import drop_nulls, has_optional
    from hocket._schemas.sound import check_schema

_LATER = {
    "check": "find_violations is_equal",
    "compile": "compile_schema make_schema_name",
    "dialects": "ANTHROPIC COHERE DRAFT_2020_12 MISTRAL OPENAI SchemaDialect",
    "optional": "has_optional drop_nulls",
    "sound": "check_schema",
}

__all__ = [
    "ANTHROPIC",
    "COHERE",
    "DRAFT_2020_12",
    "MISTRAL",
    "OPENAI",
    "SchemaDialect",
    "check_schema",
    "compile_schema",
    "drop_nulls",
    "find_violations",
    "has_optional",
    "is_equal",
    "make_schema_name",
]

__getattr__: Loader = loader(__name__, _LATER)
