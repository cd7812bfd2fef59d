"""Parsers: they read a model's answer as data, or raise `OutputParserException`. The names are LangChain's."""

from hocket.errors import OutputParserException
from hocket.output_parsers.base import BaseGenerationOutputParser, BaseLLMOutputParser, BaseOutputParser
from hocket.output_parsers.json import JsonOutputParser, SimpleJsonOutputParser
from hocket.output_parsers.list import (
    CommaSeparatedListOutputParser,
    ListOutputParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
)
from hocket.output_parsers.openai_tools import JsonOutputKeyToolsParser, JsonOutputToolsParser, PydanticToolsParser
from hocket.output_parsers.patterns import BooleanOutputParser, RegexDictParser, RegexParser
from hocket.output_parsers.pydantic import PydanticOutputParser
from hocket.output_parsers.string import StrOutputParser
from hocket.output_parsers.transform import BaseCumulativeTransformOutputParser, BaseTransformOutputParser
from hocket.output_parsers.xml import XMLOutputParser

__all__ = [
    "BaseCumulativeTransformOutputParser",
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "BaseTransformOutputParser",
    "BooleanOutputParser",
    "CommaSeparatedListOutputParser",
    "JsonOutputKeyToolsParser",
    "JsonOutputParser",
    "JsonOutputToolsParser",
    "ListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
    "OutputParserException",
    "PydanticOutputParser",
    "PydanticToolsParser",
    "RegexDictParser",
    "RegexParser",
    "SimpleJsonOutputParser",
    "StrOutputParser",
    "XMLOutputParser",
]
