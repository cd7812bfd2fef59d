"""Vector stores: documents that are found by what they mean. LangChain's names.

Stores are imported when they are first asked for.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.vectorstores.base import VectorStore, VectorStoreRetriever
from hocket.vectorstores.memory import InMemoryVectorStore
from hocket.vectorstores.ranking import Match, maximal_marginal_relevance

if TYPE_CHECKING:
    from hocket.vectorstores.chroma import ChromaVectorStore
    from hocket.vectorstores.faiss import FAISSVectorStore
    from hocket.vectorstores.opening import open_vector_store
    from hocket.vectorstores.postgres import PGVectorStore
    from hocket.vectorstores.qdrant import QdrantVectorStore
    from hocket.vectorstores.sqlite import SQLiteVectorStore

__all__ = [
    "ChromaVectorStore",
    "FAISSVectorStore",
    "InMemoryVectorStore",
    "Match",
    "PGVectorStore",
    "QdrantVectorStore",
    "SQLiteVectorStore",
    "VectorStore",
    "VectorStoreRetriever",
    "maximal_marginal_relevance",
    "open_vector_store",
]

_LATER = {
    "chroma": "ChromaVectorStore",
    "faiss": "FAISSVectorStore",
    "opening": "open_vector_store",
    "postgres": "PGVectorStore",
    "qdrant": "QdrantVectorStore",
    "sqlite": "SQLiteVectorStore",
}

__getattr__: Loader = loader(__name__, _LATER)
