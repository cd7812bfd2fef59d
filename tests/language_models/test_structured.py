"""Answers that are objects: every kind of schema, every method, and what a runnable has to be able to do."""

import dataclasses
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field

from hocket import AIMessage, ScriptedChatModel, Turn
from hocket.errors import InvalidInput, OutputParserException
from hocket.runnables import RunnableLambda
from tests.kit import CHAIN_EVENTS, Recorder, hook_class, hook_model


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int


class PersonDict(TypedDict):
    name: str
    age: NotRequired[int]


@dataclasses.dataclass
class PersonData:
    name: str
    age: int = 7


SCHEMA = {
    "title": "person",
    "description": "Somebody.",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}
ANN = '{"name": "Ann", "age": 42}'
CALL = Turn(tool_calls=[{"name": "Person", "args": {"name": "Ann", "age": 42}, "id": "c1"}])


def scripted(*script: Any, **options: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(script), **options)


# -- kinds of schema


KINDS = pytest.mark.parametrize(
    ("schema", "answer", "expected"),
    [
        (Person, ANN, Person(name="Ann", age=42)),
        (PersonDict, '{"name": "Ann", "age": null}', {"name": "Ann"}),
        (PersonData, '{"name": "Ann", "age": 1}', PersonData("Ann", 1)),
        (SCHEMA, ANN, {"name": "Ann", "age": 42}),
        ({"name": "person", "schema": SCHEMA, "strict": True}, ANN, {"name": "Ann", "age": 42}),
        ({"type": "json_schema", "json_schema": {"name": "p", "schema": SCHEMA}}, ANN, {"name": "Ann", "age": 42}),
        ({"type": "function", "function": {"name": "p", "parameters": SCHEMA}}, ANN, {"name": "Ann", "age": 42}),
    ],
    ids=["model", "typed dict", "dataclass", "JSON schema", "named schema", "response format", "tool"],
)


@KINDS
async def test_kinds_of_schema(schema: Any, answer: str, expected: Any) -> None:
    """A model class gives its instances, a dataclass too; a TypedDict and a JSON schema give dicts."""
    assert await scripted(answer).with_structured_output(schema).ainvoke("Who?") == expected


@KINDS
def test_kinds_of_schema_in_sync_code(schema: Any, answer: str, expected: Any) -> None:
    """The same."""
    assert scripted(answer).with_structured_output(schema).invoke("Who?") == expected


@pytest.mark.parametrize("schema", [int, list[Person], "Person", {"a": 1}, [], Person | None])
def test_what_is_no_object_is_refused(schema: Any) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidInput, match="JSON schema"):
        scripted().with_structured_output(schema)


def test_a_type_that_json_cannot_say_is_refused() -> None:
    """In a model as in a dataclass."""

    @dataclasses.dataclass
    class Task:
        run: Callable[[], None]

    with pytest.raises(InvalidInput, match="Task cannot be written as a JSON schema"):
        scripted().with_structured_output(Task)


async def test_a_json_schema_is_checked() -> None:
    """Although there is no type behind it."""
    with pytest.raises(OutputParserException, match="age is -1, and must be at least 0"):
        await scripted('{"name": "Ann", "age": -1}').with_structured_output(SCHEMA).ainvoke("Who?")


# -- methods


async def test_json_schema_is_a_response_format() -> None:
    """Strict, unless it is told not to be."""
    model = scripted(ANN, ANN)
    await model.with_structured_output(Person, method="json_schema").ainvoke("Who?")
    await model.with_structured_output(Person, method="json_schema", strict=False, temperature=0).ainvoke("Who?")

    form = model.requests[0].params["response_format"]
    assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == ("json_schema", "Person", True)
    assert form["json_schema"]["schema"] == {**Person.model_json_schema(), "additionalProperties": False}
    assert model.requests[1].params["temperature"] == 0
    assert model.requests[1].params["response_format"]["json_schema"] == {
        "name": "Person",
        "strict": False,
        "schema": Person.model_json_schema(),
    }


@pytest.mark.parametrize("strict", [None, True])
async def test_function_calling_is_a_tool_that_must_be_called(strict: bool | None) -> None:
    """A tool with the schema's name, its description, and its fields as arguments."""
    model = scripted(CALL)
    found = await model.with_structured_output(Person, method="function_calling", strict=strict).ainvoke("Who?")

    params = model.requests[0].params
    (tool,) = params["tools"]
    closed = {"additionalProperties": False} if strict else {}
    assert found == Person(name="Ann", age=42)
    assert params["tool_choice"] in ("any", "required")
    assert tool["function"] == {
        "name": "Person",
        "description": "Somebody.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
            **closed,
        },
        **({"strict": True} if strict else {}),
    }


async def test_json_mode_promises_nothing_but_json() -> None:
    """The schema is the prompt's business, and the reader's."""
    model = scripted(ANN)
    assert (await model.with_structured_output(Person, method="json_mode").ainvoke("Who?")).age == 42
    assert model.requests[0].params == {"response_format": {"type": "json_object"}}

    with pytest.raises(InvalidInput, match="strict=True means nothing with method='json_mode'"):
        model.with_structured_output(Person, method="json_mode", strict=True)


def test_what_strict_mode_cannot_say_is_refused_when_bound() -> None:
    """Not by the server, when the first request is made; and not at all if nothing is to be strict."""

    class Counts(BaseModel):
        of: dict[str, int]

    model = scripted('{"of": {"a": 1}}')
    with pytest.raises(InvalidInput, match="the schema's of allows keys that it does not name"):
        model.with_structured_output(Counts)
    assert model.with_structured_output(Counts, strict=False).invoke("Count") == Counts(of={"a": 1})


class Calling(hook_class()):  # type: ignore[misc]
    """A user's model, which binds tools in its own way."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=list(tools), **kwargs)


def test_the_method_is_one_that_the_model_has() -> None:
    """A model says what it can; what it cannot is refused with what it can."""
    with pytest.raises(InvalidInput, match="Calling has no method 'json_schema' for structured output; it has"):
        Calling(do=ANN).with_structured_output(Person, method="json_schema")
    with pytest.raises(OutputParserException, match="the model did not call Person: it said"):
        Calling(do=ANN).with_structured_output(Person).invoke("Who?")


def test_a_model_without_tools_says_so() -> None:
    """LangChain's exception."""
    with pytest.raises(NotImplementedError, match="HookModel cannot be given a schema"):
        hook_model(ANN).with_structured_output(Person)


# -- as a runnable


async def test_handlers_are_told_of_the_format(recorder: Any) -> None:
    """LangChain's key in `options`; the hook does not get it."""
    model = scripted(ANN)
    await model.with_structured_output(Person).ainvoke("Who?", {"callbacks": [recorder]})

    told = recorder.only("on_chat_model_start").details["options"]["ls_structured_output_format"]
    assert told["kwargs"] == {"method": "json_schema", "strict": None}
    assert told["schema"]["function"]["name"] == "Person"
    assert set(model.requests[0].params) == {"response_format"}


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_one_run_of_a_chain_around_all_requests(verb: str) -> None:
    """One start and one end, with the object; a reask is told in between."""
    chains = Recorder(*CHAIN_EVENTS, "on_retry")
    structured = scripted("no", ANN).with_structured_output(Person, reask=1)
    if verb == "ainvoke":
        await structured.ainvoke("Who?", {"callbacks": [chains]})
    else:
        async for _ in structured.astream("Who?", {"callbacks": [chains]}):
            pass
    assert chains.names == ["on_chain_start", "on_retry", "on_chain_end"]
    assert chains.only("on_chain_start").args[1] == "Who?"
    assert type(chains.only("on_retry").details["error"]) is OutputParserException
    assert chains.firsts("on_chain_end") == [Person(name="Ann", age=42)]


async def test_a_run_that_fails_ends_with_the_error() -> None:
    """As any run."""
    chains = Recorder(*CHAIN_EVENTS)
    with pytest.raises(OutputParserException):
        await scripted("no").with_structured_output(Person).ainvoke("Who?", {"callbacks": [chains]})
    assert chains.names == ["on_chain_start", "on_chain_error"]
    assert chains.only("on_chain_start").args[1] == "Who?"
    assert type(chains.only("on_chain_error").args[0]) is OutputParserException


async def test_in_a_chain_the_next_step_gets_the_object() -> None:
    """Also when the chain streams: what comes before is not what it is to work on."""
    chain = scripted(ANN, ANN).with_structured_output(Person) | RunnableLambda(lambda person: person.age)
    assert await chain.ainvoke("Who?") == 42
    assert [piece async for piece in chain.astream("Who?")] == [42]


async def test_batches() -> None:
    """In the order of the inputs."""
    script = [f'{{"name": "{name}", "age": 1}}' for name in "abc"]
    made = await scripted(*script).with_structured_output(Person).abatch(["1", "2", "3"], {"max_concurrency": 1})
    assert [one.name for one in made] == ["a", "b", "c"]


async def test_fallbacks_are_given_the_schema_each_in_its_own_words() -> None:
    """Bound to all of them: one that has no such method uses its own."""

    class Calling(ScriptedChatModel):
        @property
        def _structured_methods(self) -> Any:
            return ("function_calling",)

    first, second = scripted(ConnectionError("gone")), Calling(script=[CALL])
    both: Any = first.with_fallbacks([second])
    assert await both.with_structured_output(Person).ainvoke("Who?") == Person(name="Ann", age=42)
    assert set(first.requests[0].params) == {"response_format"}
    assert set(second.requests[0].params) == {"tools", "tool_choice"}


async def test_what_is_bound_stays_bound() -> None:
    """LangChain loses it."""
    model = scripted(ANN)
    bound: Any = model.bind(temperature=0.5)
    await bound.with_structured_output(Person).ainvoke("Who?")
    assert model.requests[0].params["temperature"] == 0.5


def test_it_can_be_pickled() -> None:
    """With a schema that is at the top of a module, and after it has been used."""
    made = scripted(ANN, ANN).with_structured_output(PersonData)
    made.invoke("Who?")
    copy = pickle.loads(pickle.dumps(made))
    assert copy.invoke("Who?") == PersonData("Ann", 42)


async def test_a_hook_that_answers_whole() -> None:
    """Serves as well, streamed or not."""
    call = {"name": "Person", "args": {"name": "Ann", "age": "42"}, "id": "1"}
    structured = Calling(do=AIMessage("", tool_calls=[call])).with_structured_output(Person)
    assert await structured.ainvoke("Who?") == Person(name="Ann", age=42)
    assert [piece async for piece in structured.astream("Who?")][-1] == Person(name="Ann", age=42)


def test_descriptions_reach_the_model() -> None:
    """Those of fields, and of the whole."""

    class Weather(BaseModel):
        """How it is outside."""

        degrees: float = Field(description="in Celsius")

    model = scripted('{"degrees": 1}')
    model.with_structured_output(Weather).invoke("How is it?")
    schema = model.requests[0].params["response_format"]["json_schema"]["schema"]
    assert (schema["description"], schema["properties"]["degrees"]["description"]) == (
        "How it is outside.",
        "in Celsius",
    )
