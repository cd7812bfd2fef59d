"""What providers take for a JSON schema where they hold a model to it strictly, as data.

Sources: the providers' guides to structured output and the converters in their own SDKs, as of 2026.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["ANTHROPIC", "COHERE", "DRAFT_2020_12", "MISTRAL", "OPENAI", "SchemaDialect"]


@dataclass(frozen=True, kw_only=True)
class SchemaDialect:
    """One provider's subset of JSON schema, and its habits.

    Structure (``type``, ``properties``, ``required``, ``items``, ``anyOf``, ``enum``, ``const``, ``$ref``, ``$defs``,
    ``description``, ``title``) goes without saying.

    Attributes:
        name: of the provider, for errors.
        closes: whether every object must say ``additionalProperties: false``.
        requires_all: whether every property must be required. One that was optional, and has no default, may then be
            null, which stands for its absence.
        requires_one: whether every object must require one of its properties.
        keeps: the other keywords that are understood; None: all of them.
        describes: those that become words in the ``description``: they bind the model no more, but it is told.
            None: all that are not understood.
        anchors: whether a ``pattern`` may say that a text begins or ends.
        formats: the values of ``format`` that are understood; None: all.
        references: what becomes of what stands beside a ``$ref``. "kept": it stays. "inlined": the definition is written
            out. "bare": it goes.
        splits_unions: whether a choice between types is ``anyOf`` alone, ``oneOf`` being one, too.
        merges_all: whether several schemas in ``allOf`` are understood.
        types: whether every schema must say of what type its values are.
        is_object: whether the whole must be an object.
        bare_enums: whether an ``enum`` goes without its ``type``.
    """

    name: str
    closes: bool = False
    requires_all: bool = False
    requires_one: bool = False
    keeps: frozenset[str] | None = None
    describes: frozenset[str] | None = frozenset()
    anchors: bool = True
    formats: frozenset[str] | None = None
    references: Literal["kept", "inlined", "bare"] = "kept"
    splits_unions: bool = False
    merges_all: bool = True
    types: bool = False
    is_object: bool = False
    bare_enums: bool = False


_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}

OPENAI = SchemaDialect(
    name="OpenAI",
    closes=True,
    requires_all=True,
    keeps=frozenset({*_NUMBERS, "minLength", "maxLength", "pattern", "minItems", "maxItems", "default"}),
    describes=frozenset({"uniqueItems", "examples", "example", "contentMediaType", "contentEncoding", "deprecated"}),
    formats=_FORMATS,
    references="inlined",
    splits_unions=True,
    merges_all=False,
    types=True,
    is_object=True,
)
"""OpenAI's strict mode, for answers and for tools. (Grammars of llama.cpp and vLLM follow what it says, too.)"""

ANTHROPIC = SchemaDialect(
    name="Anthropic",
    closes=True,
    keeps=frozenset({"minItems"}),
    describes=None,
    formats=_FORMATS | {"uri"},
    references="bare",
    splits_unions=True,
    types=True,
    bare_enums=True,
)
"""Anthropic's structured output: whatever limits a value is told in words."""

MISTRAL = SchemaDialect(name="Mistral", closes=True)
"""Mistral's ``chat.parse``."""

COHERE = SchemaDialect(
    name="Cohere",
    closes=True,
    requires_one=True,
    keeps=frozenset({"pattern"}),
    describes=None,
    anchors=False,
    formats=frozenset({"date-time", "uuid", "date", "time"}),
    references="inlined",
    splits_unions=True,
    merges_all=False,
    is_object=True,
)
"""Cohere's structured output, which knows no limits of numbers, lengths or lists: they are told in words. (Its guide to
structured outputs, version 2 of the API, August 2026.)"""

DRAFT_2020_12 = SchemaDialect(name="JSON schema")
"""JSON schema as it is, as Gemini's ``responseJsonSchema`` takes it."""
