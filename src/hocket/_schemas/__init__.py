"""JSON schemas: written for what a provider's strict mode can say, and checked.

Loaded when first used: who gives no model a schema needs none of it.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import loader

if TYPE_CHECKING:
    from hocket._schemas.check import violations
    from hocket._schemas.compile import compile_schema, schema_name
    from hocket._schemas.dialects import ANTHROPIC, DRAFT_2020_12, MISTRAL, OPENAI, SchemaDialect
    from hocket._schemas.optional import has_optional, without_nulls

_LATER = {
    "ANTHROPIC": "dialects",
    "DRAFT_2020_12": "dialects",
    "MISTRAL": "dialects",
    "OPENAI": "dialects",
    "SchemaDialect": "dialects",
    "compile_schema": "compile",
    "has_optional": "optional",
    "schema_name": "compile",
    "violations": "check",
    "without_nulls": "optional",
}

__all__ = [
    "ANTHROPIC",
    "DRAFT_2020_12",
    "MISTRAL",
    "OPENAI",
    "SchemaDialect",
    "compile_schema",
    "has_optional",
    "schema_name",
    "violations",
    "without_nulls",
]

__getattr__ = loader(__name__, _LATER)
