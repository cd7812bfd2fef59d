"""Every store that hocket ships passes the exam that it ships."""

import sys
from pathlib import Path

import pytest

from hocket.embeddings import Embeddings
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
