"""Structured output: answers that are objects, typed, validated, and shown while they are being written."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.language_models.structured.output import StructuredOutput
    from hocket.language_models.structured.partial import Partial, WithRaw
    from hocket.language_models.structured.with_structured_output import StructuredMethod

_LATER = {
    "output": "StructuredOutput",
    "partial": "Partial WithRaw",
    "with_structured_output": "StructuredMethod",
}

__all__ = ["Partial", "StructuredMethod", "StructuredOutput", "WithRaw"]

__getattr__: Loader = loader(__name__, _LATER)
