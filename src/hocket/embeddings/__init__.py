"""Embedding models: texts in, vectors out. LangChain's names."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.embeddings.base import Embeddings, embed_as_run
from hocket.embeddings.cache_backed import CacheBackedEmbeddings
from hocket.embeddings.fakes import DeterministicFakeEmbedding, FakeEmbeddings

if TYPE_CHECKING:
    from hocket.embeddings.registry import init_embeddings

__all__ = [
    "CacheBackedEmbeddings",
    "DeterministicFakeEmbedding",
    "Embeddings",
    "FakeEmbeddings",
    "embed_as_run",
    "init_embeddings",
]

__getattr__: Loader = loader(__name__, {"registry": "init_embeddings"})
