"""Parsers of older formats: function calls, patterns, and objects described in words. LangChain's names."""

from hocket.classic.output_parsers.openai_functions import (
    JsonKeyOutputFunctionsParser,
    JsonOutputFunctionsParser,
    OutputFunctionsParser,
    PydanticAttrOutputFunctionsParser,
    PydanticOutputFunctionsParser,
)
from hocket.classic.output_parsers.patterns import BooleanOutputParser, RegexDictParser, RegexParser
from hocket.classic.output_parsers.structured import CombiningOutputParser, ResponseSchema, StructuredOutputParser

__all__ = [
    "BooleanOutputParser",
    "CombiningOutputParser",
    "JsonKeyOutputFunctionsParser",
    "JsonOutputFunctionsParser",
    "OutputFunctionsParser",
    "PydanticAttrOutputFunctionsParser",
    "PydanticOutputFunctionsParser",
    "RegexDictParser",
    "RegexParser",
    "ResponseSchema",
    "StructuredOutputParser",
]
