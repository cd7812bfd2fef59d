"""A question in several wordings, which a model writes."""

from typing import Any

import anyio
import pytest
from pydantic import ValidationError

from hocket.documents import Document
from hocket.errors import InvalidHook
from hocket.language_models import FakeListChatModel
from hocket.messages import HumanMessage, SystemMessage
from hocket.prompts import PromptTemplate
from hocket.retrievers import MultiQueryRetriever
from hocket.runnables import RunnableLambda
from tests.kit import hook_model
from tests.retrievers.kit import Fixed, Meeting, Runs, texts

pytestmark = pytest.mark.anyio


def retriever(answer: str, base: Any = None, **fields: Any) -> MultiQueryRetriever:
    return MultiQueryRetriever.from_llm(base or Fixed(documents=[...]), FakeListChatModel(responses=[answer]), **fields)


@pytest.mark.parametrize(
    ("answer", "queries"),
    [
        ("one\ntwo\nthree", ["one", "two", "three"]),
        ("1. one\n2) two\n(3) three", ["one", "two", "three"]),
        ("Here are three:\n\n- one\n* two\n•  two\n", ["one", "two"]),
        ('"one"\n “two”', ["one", "two"]),
        ("2026 was what?\n- 5 of them", ["2026 was what?", "5 of them"]),
        ("a\nb\nc\nd\ne\nf", ["a", "b", "c"]),
        ("\n \n:\n", ["the question"]),
    ],
)
async def test_each_line_is_a_question(answer: str, queries: list[str]) -> None:
    assert texts(await retriever(answer).ainvoke("the question")) == queries


async def test_the_question_itself_may_come_first() -> None:
    found = await retriever("one\nthe question", include_original=True).ainvoke("the question")
    assert texts(found) == ["the question", "one"]


async def test_the_best_of_each_comes_before_the_second_of_any() -> None:
    def find(query: str) -> list[Document]:
        return [Document(f"{query}{rank}") for rank in range(3 if query == "a" else 2)]

    assert texts(await retriever("a\nb", RunnableLambda(find)).ainvoke("?")) == ["a0", "b0", "a1", "b1", "a2"]


async def test_a_document_that_several_have_found_comes_once() -> None:
    """By its id; one that has none by text and metadata."""
    documents = [
        Document("x", id="1", score=0.3),
        Document("x", id="2"),
        Document("x"),
        Document("x", metadata={"p": 1}),
    ]
    found = await retriever("a\nb\nc", Fixed(documents=documents)).ainvoke("?")
    assert found == documents


async def test_what_is_asked_stands_in_no_system_message() -> None:
    model = hook_model("one")
    await MultiQueryRetriever.from_llm(Fixed(), model, max_queries=5).ainvoke("What is {this}?")
    (call,) = model.requests
    system, human = call.input
    assert isinstance(system, SystemMessage)
    assert "5 other wordings" in system.text
    assert "this" not in system.text.split()
    assert human == HumanMessage("What is {this}?")


async def test_a_prompt_of_ones_own() -> None:
    prompt = PromptTemplate.from_template("Reword: {question}")
    model = hook_model("one")
    await MultiQueryRetriever.from_llm(Fixed(), model, prompt).ainvoke("why")
    assert model.requests[0].text == "Reword: why"


async def test_all_wordings_are_asked_at_once() -> None:
    meeting = Meeting(3)
    base = Fixed(documents=[...], meeting=meeting)
    with anyio.fail_after(30):
        assert texts(await retriever("a\nb\nc", base).ainvoke("?")) == ["a", "b", "c"]


async def test_runs_inside_are_children() -> None:
    runs = Runs()
    await retriever("a\nb", Fixed(name="base")).ainvoke("?", {"callbacks": [runs]})
    assert {one[:2] for one in runs.children} >= {
        ("MultiQueryRetriever", "RunnableSequence"),
        ("MultiQueryRetriever", "base"),
    }


async def test_a_chain_that_returns_no_text() -> None:
    broken = MultiQueryRetriever(retriever=Fixed(), llm_chain=RunnableLambda(lambda asked: ["a"]))
    with pytest.raises(InvalidHook, match="llm_chain returned list"):
        await broken.ainvoke("?")


def test_and_for_sync_code() -> None:
    assert texts(retriever("a\nb").invoke("?")) == ["a", "b"]
    with pytest.raises(ValidationError):
        retriever("a", max_queries=0)
