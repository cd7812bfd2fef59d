"""Parsers as steps: both verbs in the caller's own thread, as data, and classes of one's own."""

import pickle
import threading
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from hocket.classic.output_parsers import BooleanOutputParser, RegexDictParser, RegexParser
from hocket.errors import HocketError, InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.load import dumpd, load
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage
from hocket.output_parsers import (
    BaseGenerationOutputParser,
    BaseOutputParser,
    BaseTransformOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputKeyToolsParser,
    JsonOutputParser,
    JsonOutputToolsParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
    OutputParserException,
    PydanticOutputParser,
    PydanticToolsParser,
    StrOutputParser,
    XMLOutputParser,
)
from hocket.outputs import Generation

AS_DATA: list[Any] = [
    StrOutputParser(),
    JsonOutputParser(),
    CommaSeparatedListOutputParser(),
    NumberedListOutputParser(pattern="x"),
    MarkdownListOutputParser(),
    BooleanOutputParser(true_val="SI"),
    RegexParser(regex="(a)", output_keys=["a"]),
    RegexDictParser(output_key_to_format={"a": "A"}),
    XMLOutputParser(tags=["a"]),
    JsonOutputToolsParser(first_tool_only=True),
    JsonOutputKeyToolsParser(key_name="f"),
]


class Person(BaseModel):
    name: str


class Shout(BaseOutputParser[str]):
    """A user's own: `parse` alone; notes its thread."""

    def parse(self, text: str) -> str:
        return f"{text.upper()} {threading.get_ident()}"


class Length(BaseGenerationOutputParser[int]):
    """A user's own: reads candidates."""

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> int:
        return len(result[0].text)


class EachPiece(BaseTransformOutputParser[str]):
    """A user's own: reads each piece."""

    def parse(self, text: str) -> str:
        return f"<{text}>"


async def test_parsing_never_leaves_the_thread() -> None:
    """Nor does a parser of one's own: it computes, and is trusted to be quick."""
    here = f"HI {threading.get_ident()}"
    assert await Shout().ainvoke("hi") == here
    assert await Shout().aparse("hi") == here
    assert [piece async for piece in Shout().astream(AIMessage("hi"))] == [here]
    assert await Shout().abatch(["hi", "hi"]) == [here, here]


def test_sync_parsing_stays_in_the_callers_thread() -> None:
    """`invoke`, `stream` and `transform` need no loop."""
    here = f"HI {threading.get_ident()}"
    assert Shout().invoke("hi") == here
    assert list(Shout().stream("hi")) == [here]
    assert list(Shout().transform(iter([AIMessageChunk("h"), AIMessageChunk("i")]))) == [here]


def test_classes_of_ones_own() -> None:
    """One method suffices, for text, candidates, or pieces."""
    assert Length().invoke(AIMessage("four")) == 4
    assert list(Length().transform(iter(["fo", "ur"]))) == [4]
    assert list(EachPiece().transform(iter(["a", "b"]))) == ["<a>", "<b>"]
    assert EachPiece().invoke("ab") == "<ab>"
    with pytest.raises(NotImplementedError, match="Shout"):
        Shout().get_format_instructions()


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["a", "", "b"], ["a", "b"]),
        ([AIMessageChunk("a"), AIMessageChunk([{"type": "text", "text": "b"}]), AIMessageChunk("")], ["a", "b"]),
        ([AIMessageChunk("")], [""]),
        ([HumanMessage("a")], ["a"]),
    ],
)
def test_text_is_handed_on(pieces: list[Any], shown: list[str]) -> None:
    """Pieces without text, usage for one, are left out; an answer without any is one empty text."""
    assert list(StrOutputParser().transform(iter(pieces))) == shown
    assert StrOutputParser().invoke(AIMessage([{"type": "text", "text": "x"}])) == "x"


async def test_a_chain_streams_through() -> None:
    """What a model says piece by piece, a parser shows piece by piece."""
    model = FakeListChatModel(responses=['{"a": [1, 2]}'])
    chain = model | JsonOutputParser()
    assert await chain.ainvoke("x") == {"a": [1, 2]}
    assert [value async for value in chain.astream("x")] == [{}, {"a": []}, {"a": [1]}, {"a": [1, 2]}]


@pytest.mark.parametrize("parser", AS_DATA, ids=lambda parser: type(parser).__name__)
def test_parsers_travel(parser: Any) -> None:
    """As data and as pickles, with what they were told."""
    assert load(dumpd(parser)) == parser
    assert pickle.loads(pickle.dumps(parser)) == parser


@pytest.mark.parametrize(
    "parser", [PydanticOutputParser(pydantic_object=Person), PydanticToolsParser(tools=[Person])], ids=["json", "tools"]
)
def test_parsers_with_classes_are_pickled(parser: Any) -> None:
    """A class is no data; a pickle names it."""
    assert pickle.loads(pickle.dumps(parser)) == parser


def test_errors_tell_what_was_said() -> None:
    """Caught as a ValueError or a HocketError; what is to be shown to a model must be there."""
    error = OutputParserException("no", observation="say yes", llm_output="maybe", send_to_llm=True)
    assert isinstance(error, ValueError)
    assert isinstance(error, HocketError)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.observation, copy.llm_output, copy.send_to_llm) == ("no", "say yes", "maybe", True)
    with pytest.raises(InvalidInput, match="llm_output"):
        OutputParserException("no", observation="x", send_to_llm=True)


def test_what_changes_nothing_is_refused() -> None:
    """Misspelt fields, arguments without use, inputs that are no answers, and no answer at all."""
    with pytest.raises(ValidationError):
        StrOutputParser(nmae="x")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="stop"):
        StrOutputParser().invoke("x", stop=["y"])
    with pytest.raises(InvalidInput, match="int"):
        StrOutputParser().invoke(1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="empty"):
        StrOutputParser().parse_result([])
