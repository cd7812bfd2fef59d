"""Parsers: they read a model's answer as data, or raise `OutputParserException`. The names are LangChain's."""

from hocket._runtime.lazy import Loader, loader
from hocket.errors import OutputParserException
from hocket.output_parsers.base import (
    BaseCumulativeTransformOutputParser,
    BaseGenerationOutputParser,
    BaseLLMOutputParser,
    BaseOutputParser,
    BaseTransformOutputParser,
    StrOutputParser,
)
from hocket.output_parsers.json import JsonOutputParser, SimpleJsonOutputParser
from hocket.output_parsers.json_text import (
    parse_and_check_json_markdown as parse_and_check_json_markdown,
    parse_json_markdown as parse_json_markdown,
    parse_partial_json,
)
from hocket.output_parsers.list import (
    CommaSeparatedListOutputParser,
    ListOutputParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
)
from hocket.output_parsers.openai_tools import (
    JsonOutputKeyToolsParser,
    JsonOutputToolsParser,
    PydanticToolsParser,
    make_invalid_tool_call as make_invalid_tool_call,
    parse_tool_call as parse_tool_call,
    parse_tool_calls as parse_tool_calls,
)
from hocket.output_parsers.pydantic import PydanticOutputParser, TBaseModel as TBaseModel
from hocket.output_parsers.xml import XMLOutputParser

__all__ = [
    "BaseCumulativeTransformOutputParser",
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "BaseTransformOutputParser",
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
    "SimpleJsonOutputParser",
    "StrOutputParser",
    "XMLOutputParser",
    "parse_partial_json",
]

__getattr__: Loader = loader(__name__, {})
