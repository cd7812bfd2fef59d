"""Vector stores and embedding models of LangChain's in hocket."""

import asyncio
from typing import Any

import langchain_core.documents as lc_documents
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding as LCFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore as LCInMemoryVectorStore, VectorStore as LCVectorStore

from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidInput
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.vectorstores import InMemoryVectorStore, VectorStore


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


def test_a_retriever_takes_the_arguments_of_a_call_either_way() -> None:
    """By its sync and its async verb: they win over those that it was made with."""
    ours = InMemoryVectorStore.from_texts(["a", "b", "c"], DeterministicFakeEmbedding(size=4)).as_retriever()
    theirs = LCInMemoryVectorStore.from_texts(["a", "b", "c"], LCFakeEmbedding(size=4)).as_retriever()
    for retriever in (to_langchain(ours), from_langchain(theirs)):
        assert len(retriever.invoke("a")) == 3
        assert len(retriever.invoke("a", k=1)) == len(asyncio.run(retriever.ainvoke("a", k=1))) == 1


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
    assert theirs.store == {}

    class Silent(LCVectorStore):
        embedding: Any = None

        @property
        def embeddings(self) -> Any:
            return self.embedding

        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Any]:
            return []

        @classmethod
        def from_texts(cls, *args: Any, **kwargs: Any) -> Any: ...

    with pytest.raises(InvalidInput, match="Silent does not say"):
        from_langchain(Silent())


async def test_a_filter_of_hockets_is_a_function_where_the_store_takes_one() -> None:
    store, _ = make_store()
    await store.aadd_documents([Document(text, metadata={"n": n}) for n, text in enumerate("abc")])
    found = await store.asimilarity_search("a", filter={"n": {"$gte": 1}})
    assert sorted(one.page_content for one in found) == ["b", "c"]
    assert [one.page_content for one in await store.asimilarity_search("a", filter={"n": {"$exists": False}})] == []
    with pytest.raises(InvalidInput, match="near"):
        await store.asimilarity_search("a", filter={"n": {"$near": 1}})


async def test_a_filter_of_the_stores_own_goes_to_it_as_it_is() -> None:
    """Of a vendor's store, in its language, by every kind of search and its retriever; and a function of its documents."""
    page = lc_documents.Document("alpha", metadata={"n": 1})

    class Vendor(LCVectorStore):
        def __init__(self) -> None:
            self.given: list[Any] = []
            self._collection = {"size": 1}

        @property
        def embeddings(self) -> Any:
            return LCFakeEmbedding(size=8)

        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Any]:
            raise NotImplementedError

        def similarity_search_by_vector(
            self, embedding: list[float], k: int = 4, filter: dict[str, str] | None = None, **kwargs: Any
        ) -> list[Any]:
            self.given.append(filter)
            return [page]

        @classmethod
        def from_texts(cls, *args: Any, **kwargs: Any) -> Any: ...

    theirs = Vendor()
    store = from_langchain(theirs)
    own = {"$and": [{"n": {"$vendor": 1}}, "x"]}
    (found,) = await store.asimilarity_search("a", filter=own)
    await store.asimilarity_search_with_score("a", filter=own)
    await store.amax_marginal_relevance_search("a", filter=own)
    await store.as_retriever(search_kwargs={"filter": own}).ainvoke("a")
    marker = object()
    await store.asimilarity_search("a", filter=marker)
    await store.asimilarity_search("a")
    assert found.page_content == "alpha"
    assert theirs.given == [own, own, own, own, marker, None]
    assert store._collection == {"size": 1}
    with pytest.raises(AttributeError):
        _ = store.__nothing__

    memory, _ = make_store()
    await memory.aadd_documents([Document(text, metadata={"n": n}) for n, text in enumerate("abc")])
    (only,) = await memory.asimilarity_search("a", filter=lambda document: document.metadata["n"] == 1)
    assert only.page_content == "b"


async def test_a_store_of_hockets_is_searched_as_langchains() -> None:
    """By both kinds of verbs, with hocket's filters, and by its retrievers."""
    ours = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store = to_langchain(ours)
    assert isinstance(store, LCVectorStore) and from_langchain(store) is ours
    pages = [lc_documents.Document("alpha", metadata={"n": 1}), lc_documents.Document("beta", id="b")]
    ids = await store.aadd_documents(pages)
    assert ids[1] == "b"
    assert await store.aadd_texts(["gamma"], [{"n": 3}], ids=["g"]) == ["g"]
    (found,) = await store.asimilarity_search("alpha", k=1)
    assert type(found) is lc_documents.Document
    assert (found.page_content, found.metadata, found.id) == ("alpha", {"n": 1}, ids[0])
    ((best, score),) = await store.asimilarity_search_with_score("alpha", k=1)
    assert (best, score) == (found, pytest.approx(1))
    assert [one.id for one in await store.asimilarity_search("alpha", filter={"n": {"$gt": 1}})] == ["g"]
    vector = await store.embeddings.aembed_query("beta")
    assert [one.id for one in await store.asimilarity_search_by_vector(vector, k=1)] == ["b"]
    assert len(await store.amax_marginal_relevance_search("alpha", k=2)) == 2
    assert len(await store.amax_marginal_relevance_search_by_vector(vector, k=2)) == 2
    assert [one.id for one in await store.aget_by_ids(["g", "nowhere", "b"])] == ["g", "b"]
    await store.adelete(["b"])
    assert await store.aget_by_ids(["b"]) == []
    with pytest.raises(InvalidInput, match="give it to to_langchain"):
        type(store).from_texts(["a"], store.embeddings)


def test_a_store_of_hockets_in_langchain_by_its_sync_verbs() -> None:
    store = to_langchain(InMemoryVectorStore(DeterministicFakeEmbedding(size=8)))
    store.add_texts(["alpha", "beta"], ids=["a", "b"])
    store.add_documents([lc_documents.Document("gamma", id="c")])
    assert [one.id for one in store.similarity_search("alpha", k=1)] == ["a"]
    vector = store.embeddings.embed_query("beta")
    assert [one.id for one in store.similarity_search_by_vector(vector, k=1)] == ["b"]
    assert store.similarity_search_with_score("gamma", k=1)[0][1] == pytest.approx(1)
    assert len(store.max_marginal_relevance_search("alpha", k=2)) == 2
    assert len(store.max_marginal_relevance_search_by_vector(vector, k=2)) == 2
    store.delete(["c"])
    assert store.get_by_ids(["c"]) == []
    near = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.99})
    assert [one.id for one in near.invoke("alpha")] == ["a"]


async def test_embedding_models_both_ways() -> None:
    theirs, ours = LCFakeEmbedding(size=4), DeterministicFakeEmbedding(size=4)
    here = from_langchain(theirs)
    assert await here.aembed_documents(["a"]) == theirs.embed_documents(["a"])
    assert await here.aembed_query("a") == theirs.embed_query("a")
    assert "DeterministicFakeEmbedding" in here.model_id
    there = to_langchain(ours)
    assert await there.aembed_query("a") == await ours.aembed_query("a")
    assert (to_langchain(here), from_langchain(there)) == (theirs, ours)
