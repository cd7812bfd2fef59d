"""Functions that read JSON out of a text: whole, cut short, or in a fence of backticks. LangChain's names."""

import json
import re
from collections.abc import Callable
from typing import Any, cast

from hocket.errors import OutputParserException
from hocket.messages.content import Fields
from hocket.output_parsers.partial_json import PartialJSON

__all__ = ["decode_json", "parse_and_check_json_markdown", "parse_json_markdown", "parse_partial_json"]

_LANGUAGE = re.compile(r"\A(?:json)?\s*", re.IGNORECASE)


def decode_json(text: str, *, strict: bool = False) -> Any:
    """Return the value of a JSON text.

    Args:
        text: the text.
        strict: refuse line breaks and other control characters in strings.

    Raises:
        ValueError: it is no JSON (a `json.JSONDecodeError`), or nested too deep.
    """
    try:
        return json.loads(text, strict=strict)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def parse_partial_json(s: str, *, strict: bool = False) -> Any:
    """Return the value of a JSON text that may be cut short: what is open is closed, half a key is left out.

    Args:
        s: the text.
        strict: refuse line breaks and other control characters in strings of a text that is whole.

    Raises:
        ValueError: it is no JSON (a `json.JSONDecodeError`), or nested too deep.

    Examples:
        >>> parse_partial_json('{"city": "Pari')
        {'city': 'Pari'}
    """
    try:
        return decode_json(s, strict=strict)
    except ValueError:
        reader = PartialJSON()
        read = reader.feed(s)
        if reader.is_lost or s[read:].strip():
            raise
        firm = reader.value()
        reader.close()  # a number at the end is whole now; half a word is left out
        value = firm if reader.is_lost else reader.value()
        if value is None:
            raise
        return value


def parse_json_markdown(json_string: str, *, parser: Callable[[str], Any] = parse_partial_json) -> Any:
    """Return the value of the JSON in a text that a model wrote: plainly, or in a fence of backticks.

    Args:
        json_string: the text. Without a fence, all of it has to be JSON.
        parser: reads the JSON.

    Raises:
        ValueError: of the parser, by default: it is no JSON.
    """
    try:
        return parser(json_string.strip())
    except ValueError:
        _, fence, fenced = json_string.partition("```")
        if not fence:
            return parser(json_string.strip().strip("`"))
        fenced = _LANGUAGE.sub("", fenced, count=1)
        try:
            return parser(fenced.rpartition("```")[0] or fenced)
        except ValueError:  # there is more than one fence
            return parser(fenced.partition("```")[0])


def parse_and_check_json_markdown(text: str, expected_keys: list[str]) -> Fields:
    """Return the JSON object in a text that a model wrote, if it has the keys that it should have.

    Raises:
        OutputParserException: it is no JSON object, or a key is missing.
    """
    try:
        value = parse_json_markdown(text)
    except ValueError as error:
        raise OutputParserException(f"the answer is not JSON: {error}", llm_output=text) from error
    if not isinstance(value, dict):
        raise OutputParserException(f"the answer is JSON, but no object: {type(value).__name__}", llm_output=text)
    missing = [key for key in expected_keys if key not in value]
    if missing:
        raise OutputParserException(f"the answer has no {', '.join(map(repr, missing))}: {value!r}", llm_output=text)
    return cast(Fields, value)
