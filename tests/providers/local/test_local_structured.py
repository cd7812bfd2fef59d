"""Structured output of the embedded model: a grammar holds every token to the schema."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from hocket.language_models.structured import Partial
from hocket.providers.local import ChatLocal


class City(BaseModel):
    name: Literal["Paris", "Rome"]
    is_capital: bool


@pytest.fixture(scope="module", autouse=True)
def loaded(embedded_model: None) -> None:
    ChatLocal().load()


async def test_an_object() -> None:
    """Of the type, whatever so small a model thinks of Paris."""
    assert isinstance(await ChatLocal(seed=1, max_tokens=60).with_structured_output(City).ainvoke("Paris?"), City)


async def test_a_stream() -> None:
    """Partial objects, and the object."""
    structured = ChatLocal(seed=1, max_tokens=60).with_structured_output(City)
    pieces: list[Any] = [piece async for piece in structured.astream("Paris?")]

    assert isinstance(pieces[-1], City)
    assert pieces[:-1] and all(isinstance(piece, Partial) for piece in pieces[:-1])


async def test_json_mode_and_calls_are_there_as_well() -> None:
    """In this order: small weights are poor at calling tools."""
    assert tuple(ChatLocal()._structured_methods) == ("json_schema", "json_mode", "function_calling")
    call = ChatLocal(seed=1, max_tokens=90).with_structured_output(City, method="function_calling")
    assert isinstance(await call.ainvoke("Is Paris a capital?"), City)
