"""Vector stores as their users write them, for type checkers only: see `snippets.py`."""

# pyright: strict

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import (
    ChromaVectorStore,
    FAISSVectorStore,
    InMemoryVectorStore,
    Match,
    PGVectorStore,
    SQLiteVectorStore,
    VectorStore,
    VectorStoreRetriever,
    open_vector_store,
)
from hocket.vectorstores.filters import Filter


def open_each(embeddings: Embeddings, path: Path) -> list[VectorStore]:
    assert_type(open_vector_store(path, embeddings), VectorStore)
    assert_type(open_vector_store("postgresql://localhost/rules", embeddings), VectorStore)
    return [
        SQLiteVectorStore(path, embeddings),
        FAISSVectorStore(path, embeddings),
        PGVectorStore("postgresql://localhost/rules", embeddings, table="rules"),
        ChromaVectorStore("http://localhost:8000", embeddings, collection="rules", headers={"x-chroma-token": "key"}),
    ]


async def search(store: PGVectorStore) -> None:
    assert_type(await store.aadd_texts(["x"], [{"year": 2024}]), list[str])
    found = await store.asimilarity_search("x", k=2, filter={"year": {"$gte": 2020}}, score_threshold=0.3)
    assert_type(found, list[Document])
    assert_type(await store.asimilarity_search_with_score("x"), list[tuple[Document, float]])
    assert_type(store.hybrid_search("x"), list[Document])
    assert_type(store.as_retriever(search_type="mmr"), VectorStoreRetriever)
    await store.acreate_index()
    assert_type(await store.areembed(batch_size=50), int)
    assert_type(store.reembed(), int)


async def fill(embeddings: Embeddings) -> None:
    made = await PGVectorStore.afrom_texts(["x"], embeddings, url="postgresql://localhost/rules")
    assert_type(made, PGVectorStore)
    async with made as store:
        assert_type(store, PGVectorStore)


class Nothing(VectorStore):
    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None: ...

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        return [Match(Document("x"), 0.5)]

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None: ...

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        return []


class TestNothing(VectorStoreConformance):
    has_words = False
    precision = 1e-3

    def make(self, embedding: Embeddings) -> Nothing:
        return Nothing(embedding)


async def use(embedding: Embeddings, documents: list[Document]) -> None:
    async with SQLiteVectorStore(Path("rules.db"), embedding, collection="rules") as store:
        assert_type(store, SQLiteVectorStore)
        assert_type(await store.aadd_documents(documents, ids=["1", None]), list[str])
        assert_type(await store.asimilarity_search("x", 3, {"year": {"$gte": 2020}}), list[Document])
        assert_type(await store.asimilarity_search_with_score("x", k=3), list[tuple[Document, float]])
        assert_type(await store.asearch_words("x", 3), list[Match])
        assert_type(await store.areembed(batch_size=10), int)
        assert_type(store.reembed(), int)
        assert_type(store.hybrid_search("x", words=0.3, score_threshold=0.5), list[Document])
        assert_type(store.as_retriever(search_type="mmr"), VectorStoreRetriever)
    assert_type(await SQLiteVectorStore.afrom_texts(["x"], embedding, path="rules.db"), SQLiteVectorStore)
    assert_type(InMemoryVectorStore.from_documents(documents, embedding), InMemoryVectorStore)
    assert_type((await Nothing(embedding).asearch_vector([1.0], 1))[0].score, float)
