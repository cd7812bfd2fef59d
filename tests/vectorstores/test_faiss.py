"""The vector store with FAISS's index, beyond what every store is examined for."""

from pathlib import Path

import pytest

from hocket.embeddings import Embeddings
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import FAISSVectorStore


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index from some documents on, made anew after some more."""
    monkeypatch.setattr("hocket.vectorstores.faiss.SMALLEST", 20)
    monkeypatch.setattr("hocket.vectorstores.faiss.TAIL", 20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that is not there."""
    return tmp_path / "vectors.db"


class TestFAISS(VectorStoreConformance):
    """The exam of every store, with an index as soon as there are twenty documents."""

    is_exhaustive = False

    @pytest.fixture(autouse=True)
    def _path(self, path: Path) -> None:
        self.path = path

    def make(self, embedding: Embeddings) -> FAISSVectorStore:
        return FAISSVectorStore(self.path, embedding)
