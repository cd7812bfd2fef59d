"""Embedding models: texts in, vectors out. LangChain's names."""

from hocket.embeddings.base import Embeddings
from hocket.embeddings.fakes import DeterministicFakeEmbedding, FakeEmbeddings
from hocket.embeddings.remote import EmbeddingResult, RemoteEmbeddings

__all__ = ["DeterministicFakeEmbedding", "EmbeddingResult", "Embeddings", "FakeEmbeddings", "RemoteEmbeddings"]
