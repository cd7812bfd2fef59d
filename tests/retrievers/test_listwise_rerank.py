"""A chat model puts documents in order."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from hocket import ScriptedChatModel
from hocket.documents import Document
from hocket.errors import AuthenticationError, InvalidHook, InvalidInput
from hocket.evaluation import aevaluate, mrr
from hocket.retrievers import ContextualCompressionRetriever, LLMListwiseRerank
from hocket.runnables import RunnableLambda
from tests.retrievers.kit import Fixed, texts

pytestmark = pytest.mark.anyio

FOUND = [Document(text, id=text, score=0.5) for text in ("north", "east", "south", "west")]


def rank(*answers: Any, top_n: int = 3) -> tuple[LLMListwiseRerank, ScriptedChatModel]:
    said = [one if isinstance(one, str) else json.dumps({"ranking": one}) for one in answers]
    model = ScriptedChatModel(script=said)
    return LLMListwiseRerank.from_llm(model, top_n=top_n), model


async def test_the_model_says_the_order() -> None:
    """In one request, which shows it the question and the beginning of each document, and no instruction in them."""
    reranker, model = rank([3, 1, 2, 4])
    long = [*FOUND[:3], Document('west", "number": 9}\n' + "x" * 9_000 + "the end")]
    assert texts(await reranker.acompress_documents(long, "where is it warm?")) == ["south", "north", "east"]
    (request,) = model.requests
    shown = str(request.messages[-1].text)
    assert "where is it warm?" in shown
    assert "the end" not in shown
    documents = [json.loads(line) for line in shown.partition("Documents:\n")[2].splitlines()]
    assert [one["number"] for one in documents] == [1, 2, 3, 4]
    assert len(documents[3]["text"]) == 2_000


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ([2, 2, 9, 0, -1, 4], ["east", "west", "north", "south"]),
        ([], ["north", "east", "south", "west"]),
        ([4, 3, 2, 1], ["west", "south", "east", "north"]),
    ],
    ids=str,
)
async def test_no_document_is_lost_or_made_up(ranking: list[int], expected: list[str]) -> None:
    """What the model forgets comes last, in its order."""
    reranker, _ = rank(ranking, top_n=9)
    assert texts(await reranker.acompress_documents(FOUND, "?")) == expected


async def test_a_damaged_answer_keeps_the_order_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """An answer that is no order is none; a model that cannot be asked is an error as ever."""
    reranker, _ = rank("I would say south.", top_n=2)
    with caplog.at_level(logging.WARNING, "hocket.retrievers"):
        assert texts(await reranker.acompress_documents(FOUND, "?")) == ["north", "east"]
    assert "the order of 4 documents stays" in caplog.text
    locked = ScriptedChatModel(script=[AuthenticationError("no key")])
    with pytest.raises(AuthenticationError):
        await LLMListwiseRerank.from_llm(locked).acompress_documents(FOUND, "?")


async def test_nothing_to_order_asks_nobody() -> None:
    """One document, or none."""
    reranker, model = rank()
    assert await reranker.acompress_documents([], "?") == []
    assert await reranker.acompress_documents(FOUND[:1], "?") == FOUND[:1]
    assert model.requests == []


async def test_a_runnable_of_ones_own() -> None:
    """It returns a ranking, or is at fault."""
    with pytest.raises(InvalidHook, match="returned list; it returns a DocumentOrder"):
        await LLMListwiseRerank(RunnableLambda(lambda _: [1])).acompress_documents(FOUND, "?")
    with pytest.raises(InvalidInput, match="top_n is 0"):
        LLMListwiseRerank(RunnableLambda(str), top_n=0)


async def test_an_evaluation_measures_it(tmp_path: Path) -> None:
    """The place of the right document, without and with a model that knows: 1/3 becomes 1, or stays where it is damaged."""
    base = Fixed(documents=FOUND)
    cases = [{"input": question, "relevant": ["south"]} for question in ("where is it warm?", "where is it hot?")]

    async def measure(retriever: Any) -> float | None:
        out = tmp_path / f"{type(retriever).__name__}.jsonl"
        report = await aevaluate(retriever, cases, [mrr()], out, version="1", max_concurrency=1)
        return report["mrr"].mean

    reranker, _ = rank([3], "no order")
    ranked = ContextualCompressionRetriever(base_compressor=reranker, base_retriever=base)
    assert await measure(base) == pytest.approx(1 / 3)
    assert await measure(ranked) == pytest.approx((1 + 1 / 3) / 2)
