"""What a store does not take. Nothing of it is stored, and what was there stays."""

import math
from typing import Any

import pytest

from hocket.documents import Document
from hocket.errors import EmbeddingMismatch, InvalidHook, InvalidInput
from hocket.testing.conformance.vectorstores.suite import ExamEmbeddings, Fault, VectorStoreSuite

__all__ = ["Refusals"]

UNSTORABLE: list[Any] = [
    "a text, and no document",
    Document("a NUL \0 in the text"),
    Document("a lone surrogate \ud800 in the text"),
    Document("an empty id", id=""),
    Document("a NUL", id="a\0b"),
    Document("no JSON", metadata={"when": object()}),
    Document("no number", metadata={"n": math.nan}),
    Document("a NUL", metadata={"k": ["\\\0"]}),
    Document("a lone surrogate", metadata={"\udfff": 1}),
]


class Refusals(VectorStoreSuite):
    """Tests of what is refused."""

    @pytest.mark.parametrize("document", UNSTORABLE, ids=range(len(UNSTORABLE)))
    async def test_what_cannot_be_stored_is_refused_whole(self, document: Any) -> None:
        """One document that no store can hold, and none of the call is embedded or stored."""
        embedding = ExamEmbeddings()
        store = self.store(embedding)
        with pytest.raises(InvalidInput):
            await store.aadd_documents([Document("good", id="good"), document])
        assert embedding.embedded == []
        assert await store.asimilarity_search("good") == []

    async def test_lists_that_do_not_fit_are_refused(self) -> None:
        """There is an id for each document, and metadata for each text."""
        store = self.store()
        with pytest.raises(InvalidInput):
            await store.aadd_documents([Document("one"), Document("two")], ids=["1"])
        with pytest.raises(InvalidInput):
            await store.aadd_texts(["one", "two"], [{}])
        assert await store.asimilarity_search("one") == []

    @pytest.mark.parametrize("fault", ["NaN", "infinite", "zeros", "too few", "too many", "uneven", "empty"])
    async def test_bad_vectors_store_nothing(self, fault: Fault) -> None:
        """A model that returns vectors that nothing can be compared with stores nothing; the next call is fine."""
        embedding = ExamEmbeddings()
        store = self.store(embedding)
        await store.aadd_texts(["before"], ids=["0"])
        embedding.fault = fault
        with pytest.raises(InvalidHook):
            await store.aadd_texts(["one", "two", "three"], ids=["0", "2", "3"])
        embedding.fault = None
        assert [one.page_content for one in await store.asimilarity_search("one", k=9)] == ["before"]
        await store.aadd_texts(["one", "two"], ids=["1", "2"])
        assert await self.read(store, ["0", "1", "2", "3"]) == ["before", "one", "two"]

    async def test_vectors_of_another_size_are_refused(self) -> None:
        """Neither are they stored, nor is anything searched with them."""
        embedding = ExamEmbeddings()
        store = self.store(embedding)
        await store.aadd_texts(["before"], ids=["0"])
        embedding.fault = "other size"
        with pytest.raises(EmbeddingMismatch):
            await store.aadd_texts(["one", "two"], ids=["0", "2"])
        with pytest.raises(EmbeddingMismatch):
            await store.asimilarity_search("one")
        embedding.fault = None
        assert [one.page_content for one in await store.asimilarity_search("one", k=9)] == ["before"]

    @pytest.mark.parametrize("k", [0, -1, 2.5, "3", None])
    async def test_k_is_a_whole_number_above_0(self, k: Any) -> None:
        """Any other is refused by every search."""
        store = self.store()
        await store.aadd_texts(["one"])
        with pytest.raises(InvalidInput):
            await store.asimilarity_search("one", k=k)
        with pytest.raises(InvalidInput):
            await store.amax_marginal_relevance_search("one", k=k)
        with pytest.raises(InvalidInput):
            await store.ahybrid_search("one", k=k)

    @pytest.mark.parametrize("vector", [[0.0] * 32, [math.nan] * 32, [math.inf] * 32, []], ids=str)
    async def test_a_vector_without_a_direction_is_refused(self, vector: list[float]) -> None:
        """Nothing is near to it."""
        store = self.store()
        await store.aadd_texts(["one"])
        with pytest.raises(InvalidInput):
            await store.asimilarity_search_by_vector(vector)

    async def test_what_is_no_question_is_refused(self) -> None:
        """A search takes a text; weights are from 0 to 1."""
        store = self.store()
        await store.aadd_texts(["one"])
        with pytest.raises(InvalidInput):
            await store.asimilarity_search(None)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            await store.amax_marginal_relevance_search("one", lambda_mult=1.5)
        with pytest.raises(InvalidInput):
            await store.ahybrid_search("one", words=-0.1)

    async def test_what_is_no_filter_is_refused(self) -> None:
        """An operator that does not exist is an error, and no condition that nothing meets."""
        store = self.store()
        await store.aadd_texts(["one"])
        filter = {"year": {"$near": 2020}}
        with pytest.raises(InvalidInput):
            await store.asimilarity_search("one", filter=filter)
        if self.has_listing:
            with pytest.raises(InvalidInput):
                await store.alist_ids(filter)
        if self.has_words:
            with pytest.raises(InvalidInput):
                await store.asearch_words("one", 4, filter)
