"""Documents put in order by a model that reads pairs of texts."""

import threading

import pytest

from hocket.cross_encoders import BaseCrossEncoder
from hocket.documents import Document
from hocket.errors import InvalidHook, InvalidInput
from hocket.retrievers import CrossEncoderReranker

FOUND = [Document("a"), Document("ccc"), Document("bb"), Document("d")]


class Lengths(BaseCrossEncoder):
    """Likes long texts; notes what it was asked, and where."""

    def __init__(self, less: int = 0) -> None:
        self.less = less
        self.asked: list[list[tuple[str, str]]] = []
        self.threads: set[int] = set()

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        self.asked.append(text_pairs)
        self.threads.add(threading.get_ident())
        return [float(len(text)) for _, text in text_pairs][self.less :]


class AsyncLengths(BaseCrossEncoder):
    """The same, in async code."""

    async def ascore(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in text_pairs]


@pytest.mark.parametrize("model", [Lengths(), AsyncLengths()])
async def test_the_best_come_first(model: BaseCrossEncoder) -> None:
    """With their scores, equal ones in their order; the documents that were found stay as they are."""
    kept = await CrossEncoderReranker(model).acompress_documents(FOUND, "q")
    assert [(one.page_content, one.score) for one in kept] == [("ccc", 3.0), ("bb", 2.0), ("a", 1.0)]
    assert [one.score for one in FOUND] == [None] * 4


def test_sync_code_gets_the_same() -> None:
    """By the sync verb, of a model that is async at heart."""
    kept = CrossEncoderReranker(AsyncLengths(), top_n=1).compress_documents(FOUND, "q")
    assert [one.page_content for one in kept] == ["ccc"]


async def test_a_sync_model_works_in_a_thread() -> None:
    """Of its own: the loop goes on. It is asked once, with the question before each text."""
    model = Lengths()
    await CrossEncoderReranker(model).acompress_documents(FOUND, "q")
    assert model.asked == [[("q", one.page_content) for one in FOUND]]
    assert threading.get_ident() not in model.threads


async def test_without_documents_no_model_is_asked() -> None:
    """Nothing in, nothing out."""
    model = Lengths()
    assert await CrossEncoderReranker(model).acompress_documents([], "q") == []
    assert model.asked == []


async def test_a_model_that_returns_too_few_is_named() -> None:
    """Nothing is put in a wrong order in silence."""
    with pytest.raises(InvalidHook, match="Lengths returned 3 scores for 4 texts"):
        await CrossEncoderReranker(Lengths(less=1)).acompress_documents(FOUND, "q")


def test_what_cannot_work_is_refused() -> None:
    """When it is made."""
    with pytest.raises(InvalidInput, match="top_n is 0"):
        CrossEncoderReranker(Lengths(), top_n=0)
    with pytest.raises(InvalidHook, match=r"define ascore \(async\) or score \(sync\)"):
        BaseCrossEncoder()
