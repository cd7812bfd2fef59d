"""Several retrievers as one list: at once, in a fixed order, each document once."""

from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from hocket.documents import Document
from hocket.errors import InvalidHook, InvalidInput
from hocket.retrievers import EnsembleRetriever
from hocket.runnables import RunnableLambda
from tests.retrievers.kit import Fixed, Meeting, Runs, scored, texts

pytestmark = pytest.mark.anyio


def fixed(names: str, **fields: Any) -> Fixed:
    return Fixed(documents=[Document(name) for name in names], **fields)


async def test_ranks_are_fused_by_their_reciprocals() -> None:
    """Cormack, Clarke and Büttcher: the sum of 1 / (60 + rank)."""
    both = EnsembleRetriever(retrievers=[fixed("abc"), fixed("cd")])
    found = await both.ainvoke("?")
    assert texts(found) == ["c", "a", "b", "d"]
    assert found[0].score == pytest.approx((1 / 63 + 1 / 61) / 2)
    assert found[1].score == pytest.approx(1 / 61 / 2)


async def test_weights_count_in_proportion() -> None:
    for weights in ([0.1, 0.9], [1, 9]):
        both = EnsembleRetriever(retrievers=[fixed("ab"), fixed("cd")], weights=weights)
        found = await both.ainvoke("?")
        assert texts(found) == ["c", "d", "a", "b"]
        assert found[0].score == pytest.approx(0.9 / 61)


async def test_scores_are_scaled_and_summed_by_weight() -> None:
    words = Fixed(documents=scored(a=12.0, b=3.0))
    meaning = Fixed(documents=scored(b=0.9, c=0.8, a=0.4))
    both = EnsembleRetriever(retrievers=[words, meaning], weights=[0.2, 0.8], method="scores")
    found = await both.ainvoke("?")
    assert texts(found) == ["b", "c", "a"]
    assert [one.score for one in found] == pytest.approx([0.8, 0.8 * 0.8, 0.2])


async def test_fusing_by_scores_needs_scores() -> None:
    both = EnsembleRetriever(retrievers=[Fixed(documents=scored(a=1.0)), fixed("b")], method="scores")
    with pytest.raises(InvalidInput, match="gives no scores; fuse by ranks"):
        await both.ainvoke("?")


async def test_one_score_alone_is_the_best() -> None:
    both = EnsembleRetriever(retrievers=[Fixed(documents=scored(a=0.2)), Fixed()], method="scores")
    assert await both.ainvoke("?") == [Document("a")]


async def test_documents_are_the_same_by_text_or_by_key() -> None:
    one, other = Document("x", metadata={"key": 1}), Document("x", metadata={"key": 2})
    retrievers = [Fixed(documents=[one]), Fixed(documents=[other])]
    assert await EnsembleRetriever(retrievers=retrievers).ainvoke("?") == [one]
    assert await EnsembleRetriever(retrievers=retrievers, id_key="key").ainvoke("?") == [one, other]
    with pytest.raises(InvalidInput, match="id_key needs a text or a number"):
        await EnsembleRetriever(retrievers=retrievers, id_key="missing").ainvoke("?")


async def test_what_was_found_is_not_changed() -> None:
    document = Document("x", score=0.5)
    await EnsembleRetriever(retrievers=[Fixed(documents=[document])]).ainvoke("?")
    assert document.score == 0.5


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), min_size=1, max_size=3),
    st.sampled_from(["rrf", "scores"]),
)
async def test_each_document_comes_once_best_first(lists: list[list[str]], method: Any) -> None:
    retrievers = [
        Fixed(documents=[Document(name, score=-float(rank)) for rank, name in enumerate(names)]) for names in lists
    ]
    found = await EnsembleRetriever(retrievers=retrievers, method=method).ainvoke("?")
    assert sorted(texts(found)) == sorted({name for names in lists for name in names})
    scores = [one.score or 0.0 for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_all_are_asked_at_once() -> None:
    meeting = Meeting(3)
    retrievers = [fixed(name, meeting=meeting) for name in "abc"]
    with anyio.fail_after(30):
        assert texts(await EnsembleRetriever(retrievers=retrievers).ainvoke("?")) == ["a", "b", "c"]


async def test_max_concurrency_limits_them() -> None:
    at_once = most = 0

    async def find(query: str) -> list[Document]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await anyio.sleep(0.001)
        at_once -= 1
        return []

    retrievers = [RunnableLambda(find) for _ in range(6)]
    await EnsembleRetriever(retrievers=retrievers).ainvoke("?", {"max_concurrency": 2})
    assert most == 2


async def test_the_first_failure_cancels_the_others() -> None:
    meeting = Meeting(3)  # of which two come

    async def fail(query: str) -> list[Document]:
        await meeting.one_missing.wait()
        raise KeyError("gone")

    retrievers = [fixed("a", meeting=meeting), RunnableLambda(fail), fixed("b", meeting=meeting)]
    with anyio.fail_after(30), pytest.raises(KeyError, match="gone"):
        await EnsembleRetriever(retrievers=retrievers).ainvoke("?")
    assert meeting.cancelled == 2


async def test_runs_inside_are_children() -> None:
    runs = Runs()
    both = EnsembleRetriever(retrievers=[fixed("a", name="one"), fixed("b", name="two")], name="both", tags=["mine"])
    await both.ainvoke("?", {"callbacks": [runs], "tags": ["call"]})
    assert runs.children[0] == (None, "both", ("call", "mine"))
    assert {one[:2] for one in runs.children[1:]} == {("both", "one"), ("both", "two")}
    assert sorted(tag for one in runs.children[1:] for tag in one[2] if tag.startswith("retriever")) == [
        "retriever_1",
        "retriever_2",
    ]


def test_and_for_sync_code() -> None:
    both = EnsembleRetriever(retrievers=[fixed("ab"), RunnableLambda(lambda query: [Document(query)])])
    assert texts(both.invoke("?")) == ["a", "?", "b"]


@pytest.mark.parametrize("found", [None, "x", ["x"], Document("x")], ids=str)
async def test_a_part_that_returns_no_documents(found: Any) -> None:
    with pytest.raises(InvalidHook, match="a retriever returns a list of documents"):
        await EnsembleRetriever(retrievers=[RunnableLambda(lambda query: found)]).ainvoke("?")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"retrievers": []}, "at least one"),
        ({"retrievers": [str.split]}, "a list of retrievers"),
        ({"weights": [1, 2]}, "2 weights for 1 retrievers"),
        ({"weights": []}, "0 weights for 1 retrievers"),
        ({"weights": [-1]}, "numbers from 0 on"),
        ({"weights": [0]}, "one of them is above 0"),
        ({"weights": [float("nan")]}, "numbers from 0 on"),
        ({"method": "sum"}, "'rrf' or 'scores'"),
        ({"c": -1}, "greater than or equal to 0"),
    ],
    ids=str,
)
def test_fields_that_mean_nothing(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        EnsembleRetriever(**{"retrievers": [fixed("a")], **fields})
