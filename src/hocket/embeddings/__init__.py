"""Embedding models: texts in, vectors out. LangChain's names."""

from hocket.embeddings.base import Embeddings
from hocket.embeddings.fakes import DeterministicFakeEmbedding, FakeEmbeddings

__all__ = ["DeterministicFakeEmbedding", "Embeddings", "FakeEmbeddings"]
