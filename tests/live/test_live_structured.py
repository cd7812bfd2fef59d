"""Structured output with a real server: its grammar keeps to what the schema is compiled to."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from hocket.errors import OutputParserException
from hocket.language_models.structured import Partial
from hocket.messages import HumanMessage
from hocket.providers.openai import ChatOpenAI

QUESTION = [HumanMessage("Describe the city of Paris.")]


class Country(BaseModel):
    continent: Literal["Europe", "Asia"]


class City(BaseModel):
    """A city."""

    name: Literal["Paris", "Rome"]
    is_capital: bool
    country: Country
    score: int | None = Field(default=None, ge=0, le=9)


def chat(server: Any, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(**{**server.options, "temperature": 0, "max_tokens": 120, **options})


async def test_an_object(live_server: Any) -> None:
    """Of the type, whatever a very small model thinks of Paris; its usage is kept."""
    structured = chat(live_server).with_structured_output(City, include_raw=True)
    result = await structured.ainvoke(QUESTION)

    assert isinstance(result["parsed"], City), result["parsing_error"]
    assert result["raw"].usage_metadata is not None and result["raw"].usage_metadata["output_tokens"] > 5


async def test_a_stream_of_partial_objects(live_server: Any) -> None:
    """Each has the fields of the one before; the last is the object."""
    pieces: list[Any] = [piece async for piece in chat(live_server).with_structured_output(City).astream(QUESTION)]

    *partial, final = pieces
    assert isinstance(final, City)
    assert len(partial) > 3 and all(isinstance(piece, Partial) for piece in partial)
    assert [len(piece) for piece in partial] == sorted(len(piece) for piece in partial)
    assert City.model_validate(partial[-1]) == final


@pytest.mark.nightly
async def test_a_call(live_server: Any) -> None:
    """The server holds arguments to the schema, too."""
    structured = chat(live_server).with_structured_output(City, method="function_calling", strict=True)
    pieces: list[Any] = [piece async for piece in structured.astream(QUESTION)]

    assert isinstance(pieces[-1], City)


async def test_too_few_tokens(live_server: Any) -> None:
    """The error names the reason."""
    with pytest.raises(OutputParserException, match="cut short after 3 tokens"):
        await chat(live_server, max_tokens=3).with_structured_output(City).ainvoke(QUESTION)
