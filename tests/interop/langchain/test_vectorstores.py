"""Vector stores and embedding models of LangChain's in hocket."""

from typing import Any

import langchain_core.documents as lc_documents
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding as LCFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore as LCInMemoryVectorStore
from langchain_core.vectorstores import VectorStore as LCVectorStore

from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidInput
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.vectorstores import VectorStore


def make_store() -> tuple[VectorStore, LCInMemoryVectorStore]:
    theirs = LCInMemoryVectorStore(LCFakeEmbedding(size=8))
    return from_langchain(theirs), theirs


async def test_a_store_of_langchains_is_searched_as_hockets() -> None:
    store, theirs = make_store()
    assert isinstance(store, VectorStore)
    pages = [Document("alpha", metadata={"n": 1}), Document("beta", id="b"), Document("gamma")]
    ids = await store.aadd_documents(pages)
    assert ids[1] == "b"
    assert len(theirs.store) == 3
    found = await store.asimilarity_search("alpha", k=2)
    assert (found[0].page_content, found[0].metadata) == ("alpha", {"n": 1})
    assert found[0].score == pytest.approx(1)
    assert -1 <= (found[1].score or 0) <= 1
    assert len(await store.asimilarity_search("alpha", k=3, score_threshold=0.99)) == 1
    assert len(await store.amax_marginal_relevance_search("alpha", k=2)) == 2
    assert [one.page_content for one in await store.aget_by_ids(["b", "nowhere"])] == ["beta"]
    await store.adelete(["b"])
    assert await store.aget_by_ids(["b"]) == []
    assert to_langchain(store) is theirs


async def test_its_retriever_and_ids_are_hockets() -> None:
    store, theirs = make_store()
    await store.aadd_texts(["alpha", "beta"], ids=["a", "b"])
    await store.aadd_texts(["alpha, again"], ids=["a"])
    assert sorted(theirs.store) == ["a", "b"]
    (found,) = await store.as_retriever(search_kwargs={"k": 1}).ainvoke("beta")
    assert (found.id, found.page_content) == ("b", "beta")


def test_sync_verbs_work() -> None:
    store, _ = make_store()
    store.add_documents([Document("alpha")])
    assert store.similarity_search("alpha", k=1)[0].page_content == "alpha"


async def test_bad_input_is_refused() -> None:
    store, theirs = make_store()
    with pytest.raises(InvalidInput, match="2 ids for 1 documents"):
        await store.aadd_documents([Document("a")], ids=["x", "y"])
    with pytest.raises(InvalidInput, match="from_langchain"):
        await store.aadd_documents([lc_documents.Document("a")])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="filters of its own"):
        await store.asimilarity_search("a", filter={"n": 1})
    assert theirs.store == {}

    class Silent(LCVectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Any]:
            return []

        @classmethod
        def from_texts(cls, *args: Any, **kwargs: Any) -> Any: ...

    with pytest.raises(InvalidInput, match="Silent does not say"):
        from_langchain(Silent())


async def test_embedding_models_both_ways() -> None:
    theirs, ours = LCFakeEmbedding(size=4), DeterministicFakeEmbedding(size=4)
    here = from_langchain(theirs)
    assert await here.aembed_documents(["a"]) == theirs.embed_documents(["a"])
    assert await here.aembed_query("a") == theirs.embed_query("a")
    assert "DeterministicFakeEmbedding" in here.model_id
    there = to_langchain(ours)
    assert await there.aembed_query("a") == await ours.aembed_query("a")
    assert (to_langchain(here), from_langchain(there)) == (theirs, ours)
