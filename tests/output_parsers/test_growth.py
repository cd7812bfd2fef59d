"""The cost of an answer in pieces is linear in its length: four times the pieces, about four times the time."""

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from hocket.messages import AIMessageChunk, tool_call_chunk
from hocket.output_parsers import (
    BaseCumulativeTransformOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    JsonOutputToolsParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
    PydanticOutputParser,
    StrOutputParser,
    XMLOutputParser,
)
from hocket.outputs import Generation
from tests.kit import assert_linear


class Numbers(BaseModel):
    numbers: list[int]


class LastWord(BaseCumulativeTransformOutputParser[str]):
    """A user's own, which reads everything anew each time."""

    def parse(self, text: str) -> str:
        return text.split()[-1]

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> str:
        return self.parse(result[0].text)


def after(first: str, *rest: str) -> Iterator[str]:
    """Return an endless answer."""
    return itertools.chain([first], itertools.cycle(rest))


def calls(pieces: Iterable[str]) -> Iterator[AIMessageChunk]:
    """Return an endless tool call with these arguments."""
    made = functools.cache(lambda args: AIMessageChunk("", tool_call_chunks=[tool_call_chunk(index=0, args=args)]))
    return map(made, pieces)


CASES: dict[str, tuple[Any, Any]] = {
    "text": (StrOutputParser(), lambda: after("a", "b")),
    "array": (JsonOutputParser(), lambda: after("[", "123, ")),
    "objects": (JsonOutputParser(), lambda: after("[", '{"a": ', "1}", ", ")),
    "string": (JsonOutputParser(), lambda: after('["', "word ")),
    "escapes": (JsonOutputParser(), lambda: after('["', "\\", "u00", "e9")),
    "key": (JsonOutputParser(), lambda: after('{"', "word ")),
    "digits": (JsonOutputParser(), lambda: after("[", "1")),
    "nesting": (JsonOutputParser(), lambda: after("[", "[")),
    "prose": (JsonOutputParser(), lambda: after("Well", "`` ")),
    "space after": (JsonOutputParser(), lambda: after("```\n{}", " ")),
    "words after": (JsonOutputParser(), lambda: after("{}", "words ")),
    "model": (PydanticOutputParser(pydantic_object=Numbers), lambda: after('{"numbers": [', "1, ")),
    "tool call": (JsonOutputToolsParser(), lambda: calls(after('{"a": [', '"b", '))),
    "commas": (CommaSeparatedListOutputParser(), lambda: after("a", ", b")),
    "one item": (CommaSeparatedListOutputParser(), lambda: after('"', "a, ", '""')),
    "numbered": (NumberedListOutputParser(), lambda: after("1. a", "\n2. b")),
    "one line": (NumberedListOutputParser(), lambda: after("1", "1")),
    "markdown": (MarkdownListOutputParser(), lambda: after("- a", "\n- b")),
    "elements": (XMLOutputParser(), lambda: after("<a>", "<b>", "c", "</b>")),
    "no element": (XMLOutputParser(), lambda: after("well", " < ")),
    "one element": (XMLOutputParser(), lambda: after("<a>", "text ")),
    "one's own": (LastWord(), lambda: after("a", " word")),
}


@pytest.mark.parametrize(("parser", "answer"), CASES.values(), ids=CASES)
def test_four_times_the_pieces_take_four_times_the_time(parser: Any, answer: Any) -> None:
    """Not sixteen."""
    pieces = list(itertools.islice(answer(), 20_000))

    def read(count: int) -> None:
        incremental = parser._incremental()
        for piece in pieces[:count]:
            list(incremental.feed(piece))

    assert_linear(read, 8_000)
