"""JSON schemas: written for what a provider's strict mode can say, and checked.

Loaded when first used: who gives no model a schema needs none of it.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket._schemas.check import find_violations
    from hocket._schemas.compile import compile_schema, make_schema_name
    from hocket._schemas.dialects import ANTHROPIC, COHERE, DRAFT_2020_12, MISTRAL, OPENAI, SchemaDialect
    from hocket._schemas.optional import drop_nulls, has_optional

_LATER = {
    "ANTHROPIC": "dialects",
    "COHERE": "dialects",
    "DRAFT_2020_12": "dialects",
    "MISTRAL": "dialects",
    "OPENAI": "dialects",
    "SchemaDialect": "dialects",
    "compile_schema": "compile",
    "has_optional": "optional",
    "make_schema_name": "compile",
    "find_violations": "check",
    "drop_nulls": "optional",
}

__all__ = [
    "ANTHROPIC",
    "COHERE",
    "DRAFT_2020_12",
    "MISTRAL",
    "OPENAI",
    "SchemaDialect",
    "compile_schema",
    "drop_nulls",
    "find_violations",
    "has_optional",
    "make_schema_name",
]

__getattr__: Loader = loader(__name__, _LATER)
