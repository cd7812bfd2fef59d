"""Every store that hocket ships passes the exam that it ships."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
from hocket.errors import InvalidInput
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import InMemoryVectorStore, SQLiteVectorStore, VectorStore


class TestInMemory(VectorStoreConformance):
    """A store in this process."""

    def make(self, embedding: Embeddings) -> VectorStore:
        return InMemoryVectorStore(embedding)


class TestInMemoryWithoutNumpy(TestInMemory):
    """The same without numpy."""

    @pytest.fixture(autouse=True)
    def _no_numpy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "hocket.vectorstores.numpy_rows", None)


class TestSQLite(VectorStoreConformance):
    """A store in an SQLite database."""

    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "vectors.db"

    def make(self, embedding: Embeddings) -> SQLiteVectorStore:
        return SQLiteVectorStore(self.path, embedding)


async def test_dates_in_metadata_are_texts() -> None:
    """And UUIDs and paths, as loaders give them: a filter finds what is later, as texts of ISO 8601 are in order."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    days = [datetime(2024, 1, day, 12, tzinfo=UTC) for day in (1, 2)]
    key = UUID(int=1)
    pages = [Document("a", metadata={"at": day, "on": day.date(), "id": key, "path": Path("x")}) for day in days]
    await store.aadd_documents(pages)
    (found,) = await store.asimilarity_search("a", filter={"at": {"$gt": days[0].isoformat()}})
    assert found.metadata == {"at": "2024-01-02T12:00:00+00:00", "on": "2024-01-02", "id": str(key), "path": "x"}
    with pytest.raises(InvalidInput, match="cannot be stored as JSON: object has no form there"):
        await store.aadd_documents([Document("a", metadata={"x": object()})])


@pytest.mark.parametrize("share", [2, 8, 50])
async def test_a_filter_changes_neither_scores_nor_order(share: int) -> None:
    """However few documents it leaves; of some equal ones the first one comes first."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    texts = [f"text {number % 90}" for number in range(200)]
    await store.aadd_texts(texts, [{"lot": number % share} for number in range(200)])
    everything = await store.asimilarity_search_with_score("text", k=200)
    expected = [(one, score) for one, score in everything if one.metadata["lot"] == 1]
    assert await store.asimilarity_search_with_score("text", k=200, filter={"lot": 1}) == expected
    assert await store.asimilarity_search_with_score("text", k=3, filter={"lot": 1}) == expected[:3]
