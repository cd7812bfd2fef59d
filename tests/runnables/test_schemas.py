"""What runnables say of what goes in and comes out, and the tools that are made of it."""

import operator
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from hocket.chat_history import InMemoryChatMessageHistory
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel, FakeListLLM
from hocket.messages import HumanMessage
from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from hocket.retrievers import BaseRetriever
from hocket.runnables import (
    ConfigurableField,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSequence,
    RunnableWithMessageHistory,
)
from hocket.tools import convert_runnable_to_tool, tool

MODEL = FakeListChatModel(responses=["a"])


def plus(number: int) -> int:
    return number + 1


class Notes(BaseRetriever):
    """Finds nothing."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return []


def test_a_class_says_its_types_where_it_is_defined() -> None:
    assert (Notes().InputType, Notes().OutputType) == (str, list[Document])
    assert FakeListLLM(responses=["a"]).get_output_jsonschema() == {"title": "FakeListLLMOutput", "type": "string"}
    assert RunnableLambda(lambda x: x).InputType is Any


def test_a_function_says_its_types_by_annotations() -> None:
    def count(text: str) -> Iterator[int]:
        yield len(text)

    async def acount(text: str) -> AsyncIterator[int]:
        yield len(text)

    async def measure(text: "str") -> float:
        return 1.0

    def odd(text: "Nowhere") -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821  # a name that is not there
        return text

    for function, output in ((count, int), (acount, int), (measure, float)):
        assert RunnableLambda[Any, Any](function).InputType is str
        assert RunnableLambda[Any, Any](function).OutputType is output
    assert RunnableLambda[Any, Any](odd).InputType is Any
    assert RunnableLambda[Any, Any](len).InputType is Any


def test_a_prompt_takes_texts_and_messages_by_name() -> None:
    prompt = ChatPromptTemplate([("system", "{a}"), MessagesPlaceholder("past", optional=True), ("human", "{b}")])
    schema = prompt.input_schema
    assert schema.model_fields.keys() == {"a", "b", "past"}
    made = schema.model_validate({"a": "x", "b": "y", "past": [HumanMessage("hi")]})
    assert made.past == [HumanMessage("hi")]  # type: ignore[attr-defined]
    assert prompt.get_input_jsonschema()["required"] == ["a", "b"]
    with pytest.raises(ValidationError):
        schema.model_validate({"a": "x"})


def test_names_that_pydantic_does_not_take_are_no_failure() -> None:
    schema = PromptTemplate.from_template("{_private} {model_config}").get_input_jsonschema()
    assert schema["type"] == "object"


def test_a_chain_that_adds_to_a_mapping_takes_what_the_others_need() -> None:
    chain = RunnablePassthrough.assign(context=RunnableLambda(operator.itemgetter("question")) | Notes())
    whole = chain | ChatPromptTemplate([("human", "{context} {question} {language}")]) | MODEL
    assert whole.get_input_jsonschema()["properties"].keys() == {"question", "language"}
    assert chain.get_output_jsonschema()["properties"].keys() == {"question", "context"}


def test_what_is_picked_has_its_type() -> None:
    parts = RunnableParallel(a=RunnableLambda(plus), b=RunnableLambda(plus))
    assert parts.pick("a").get_output_jsonschema()["type"] == "integer"
    assert parts.pick(["a"]).get_output_jsonschema()["properties"].keys() == {"a"}


def test_what_json_cannot_say_is_anything() -> None:
    class Odd:
        """No type of pydantic's."""

    def make(x: int) -> Odd:
        return Odd()

    assert RunnableLambda(make).get_output_jsonschema() == {"title": "make_output"}
    assert RunnableParallel(a=RunnableLambda(make)).get_output_jsonschema()["properties"]["a"] == {"title": "A"}


def test_every_key_of_a_config_is_told_once() -> None:
    model = MODEL.configurable_fields(responses=ConfigurableField(id="answers"))
    chain = ChatPromptTemplate([("human", "{x}")]) | model | RunnableLambda(lambda x: x)
    both = RunnableParallel(a=chain, b=chain.map()).with_retry().with_config(tags=["t"])
    assert [spec.id for spec in both.config_specs] == ["answers"]
    history = RunnableWithMessageHistory(chain, lambda: InMemoryChatMessageHistory())
    assert "answers" in [spec.id for spec in history.config_specs]


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def test_a_tool_says_its_arguments() -> None:
    assert add.get_input_jsonschema()["required"] == ["a"]
    assert issubclass(add.input_schema, BaseModel)
    assert add.input_schema.model_validate({"a": 1}).b == 2  # type: ignore[attr-defined]


async def test_a_chain_is_a_tool() -> None:
    chain = RunnableSequence(PromptTemplate.from_template("{a}-{b}"), RunnableLambda(lambda value: value.to_string()))
    made = chain.as_tool(name="join", description="Joins.")
    assert made.args.keys() == {"a", "b"}
    assert await made.ainvoke({"a": "x", "b": "y"}) == "x-y"


async def test_what_takes_a_text_is_a_tool_of_a_text() -> None:
    def shout(text: str) -> str:
        return text.upper()

    made = convert_runnable_to_tool(RunnableLambda(shout))
    assert (made.name, await made.ainvoke("hi")) == ("shout", "HI")


def test_a_tool_needs_to_know_its_arguments() -> None:
    with pytest.raises(InvalidInput, match="does not say what its input is"):
        RunnableLambda(lambda x: x).as_tool(name="x")
    made = RunnableLambda(lambda x: x["n"]).as_tool(name="x", arg_types={"n": int})
    assert made.invoke({"n": 3}) == 3
