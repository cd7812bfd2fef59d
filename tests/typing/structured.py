"""Structured output as its users write it, for type checkers only: nothing here is run. See `snippets.py`."""

# pyright: strict

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import BaseModel

from hocket import AIMessage, BaseChatModel
from hocket.language_models import LanguageModelInput
from hocket.language_models.structured import Partial, StructuredOutput, WithRaw
from hocket.runnables import Runnable


class Person(BaseModel):
    name: str


class PersonDict(TypedDict):
    name: str


@dataclass
class PersonData:
    name: str


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}


async def objects(model: BaseChatModel) -> None:
    person = model.with_structured_output(Person)
    assert_type(await person.ainvoke("Who?"), Person)
    assert_type(person.invoke("Who?"), Person)
    assert_type(await person.abatch(["Who?"]), list[Person])
    assert_type(await model.with_structured_output(PersonDict).ainvoke("Who?"), PersonDict)
    assert_type(await model.with_structured_output(PersonData).ainvoke("Who?"), PersonData)
    assert_type(await model.with_structured_output(SCHEMA).ainvoke("Who?"), dict[str, Any])
    as_runnable: Runnable[LanguageModelInput, Person] = person
    print(as_runnable)


async def pieces(model: BaseChatModel) -> None:
    person = model.with_structured_output(Person, method="json_schema", strict=True, reask=2)
    assert_type(person, StructuredOutput[Person, Person | Partial[Person]])
    async for piece in person.astream("Who?"):
        if isinstance(piece, Partial):
            assert_type(piece.get("name"), Any | None)
            assert_type(piece.complete, frozenset[str])
        else:
            assert_type(piece, Person)
    for piece in person.stream("Who?"):
        assert_type(piece, Person | Partial[Person])
    async for fields in model.with_structured_output(SCHEMA).astream("Who?"):
        assert_type(fields, dict[str, Any])


async def with_raw(model: BaseChatModel) -> None:
    person = model.with_structured_output(Person, include_raw=True)
    result = await person.ainvoke("Who?")
    assert_type(result, WithRaw[Person])
    assert_type(result["raw"], AIMessage)
    assert_type(result["parsed"], Person | None)
    assert_type(result["parsing_error"], Exception | None)
    async for piece in person.astream("Who?"):
        assert_type(piece["parsed"], Person | Partial[Person] | None)


async def in_a_chain(model: BaseChatModel) -> None:
    tried = model.with_structured_output(Person).with_retry(stop_after_attempt=2)
    assert_type(await tried.ainvoke("Who?"), Person)
    bound = model.with_structured_output(Person).bind(temperature=0)
    assert_type(await bound.ainvoke("Who?"), Person)


async def who_knows(model: BaseChatModel, kind: type[Person] | type[PersonData], raw: bool) -> None:
    assert_type(await model.with_structured_output(kind).ainvoke("Who?"), Person | PersonData)
    assert_type(await model.with_structured_output(kind, include_raw=raw).ainvoke("Who?"), Any)
