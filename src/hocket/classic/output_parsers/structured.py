"""An object with named fields in an answer, and several parsers for the parts of one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from pydantic import SkipValidation

from hocket.errors import InvalidHook, InvalidInput, OutputParserException
from hocket.messages.content import Fields
from hocket.output_parsers.base import BaseOutputParser
from hocket.output_parsers.json_text import parse_and_check_json_markdown

__all__ = ["CombiningOutputParser", "ResponseSchema", "StructuredOutputParser"]


@dataclass(frozen=True, kw_only=True)
class ResponseSchema:
    """A field of an answer.

    Args:
        name: of the field.
        description: what belongs into it, for the model.
        type: which values it takes, for the model; nothing is checked.
    """

    name: str
    description: str
    type: str = "string"


class StructuredOutputParser(BaseOutputParser[Fields]):
    """Returns the fields of a JSON object in an answer, in a fence or without.

    `PydanticOutputParser` checks their types, too.

    Args:
        response_schemas: the fields that it must have.
    """

    response_schemas: list[ResponseSchema]
    _type_name: ClassVar[str] = "structured"

    @classmethod
    def from_response_schemas(cls, response_schemas: Sequence[ResponseSchema]) -> Self:
        """Return a parser of these fields."""
        return cls(response_schemas=[*response_schemas])

    def parse(self, text: str) -> Fields:
        """Return the object in ``text``; fields beyond those named stay in it."""
        return parse_and_check_json_markdown(text, [schema.name for schema in self.response_schemas])

    def get_format_instructions(self) -> str:
        """Return words that ask for the fields."""
        lines = [
            f"    {json.dumps(one.name, ensure_ascii=False)}: {one.type},  // {one.description}"
            for one in self.response_schemas
        ]
        shape = "\n".join(["```json", "{", *lines, "}", "```"])
        return (
            f"Answer with a JSON object in a fence, of this shape, without comments, and with nothing else:\n\n{shape}"
        )


class CombiningOutputParser(BaseOutputParser[Fields]):
    """Returns what several parsers read in the parts of an answer, which empty lines separate, as one mapping.

    Args:
        parsers: one for each part; each returns a mapping.

    Raises, when it is made:
        InvalidInput: there are fewer than two, or one of them combines parsers itself.
    """

    parsers: SkipValidation[list[BaseOutputParser[Any]]]
    _type_name: ClassVar[str] = "combining"

    def __init__(self, parsers: Sequence[BaseOutputParser[Any]], *, name: str | None = None) -> None:
        if len(parsers) < 2:
            raise InvalidInput(f"{len(parsers)} parsers were given; to combine takes at least 2")
        if any(isinstance(one, CombiningOutputParser) for one in parsers):
            raise InvalidInput(
                "a combining parser cannot be one of those that are combined: name its parsers themselves"
            )
        fields: Fields = {"parsers": [*parsers], "name": name}
        super().__init__(**fields)

    def parse(self, text: str) -> Fields:
        """Return what the parsers read; of a key that two give, the later counts."""
        parts = [part for part in text.strip().split("\n\n") if part.strip()]
        if len(parts) != len(self.parsers):
            message = f"the answer must have {len(self.parsers)} parts, with empty lines between, and has {len(parts)}"
            raise OutputParserException(message, observation=message, llm_output=text)
        values: Fields = {}
        for parser, part in zip(self.parsers, parts, strict=True):
            read: object = parser.parse(part.strip())
            if not isinstance(read, Mapping):
                raise InvalidHook(
                    f"{type(parser).__name__} returned {type(read).__name__}; it must return a mapping here"
                )
            values |= cast("Mapping[str, object]", read)
        return values

    def get_format_instructions(self) -> str:
        """Return words that ask for the parts, in order."""
        parts = [one.get_format_instructions() for one in self.parsers]
        listed = "\n\n".join(f"Part {number}: {part}" for number, part in enumerate(parts, 1))
        return f"Answer in {len(parts)} parts, with an empty line between them and none within.\n\n{listed}"
