"""A vector store of hocket's as one of LangChain's.

hocket's store embeds, searches and filters. Filters are hocket's, mappings that mean the same in every store, and a score
is the cosine: the greater, the nearer. For LangChain's relevance, from 0 to 1, what is turned away from the question is 0.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeVar

from langchain_core.documents import Document as LCDocument
from langchain_core.embeddings import Embeddings as LCEmbeddings
from langchain_core.vectorstores import VectorStore as LCVectorStore

from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.interop.langchain.values import document_from_langchain, document_to_langchain
from hocket.interop.langchain.vectorstores import embeddings_to_langchain
from hocket.messages.content import Fields
from hocket.vectorstores import VectorStore

__all__ = ["HocketVectorStore"]


R = TypeVar("R")


class HocketVectorStore(LCVectorStore):
    """A vector store of hocket's in LangChain. Made by `to_langchain`."""

    def __init__(self, store: VectorStore) -> None:
        self.hocket_store = store

    @property
    def embeddings(self) -> LCEmbeddings:
        """The model that the store embeds with."""
        return embeddings_to_langchain(self.hocket_store.embeddings)

    @classmethod
    def from_texts(cls, *args: object, **options: object) -> Self:
        """Refuse: which store it would be is said nowhere.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput("make a store of hocket's, and give it to to_langchain; then add_texts(...)")

    # -- what it holds

    def add_documents(self, documents: list[LCDocument], **options: object) -> list[str]:
        """Embed and store documents, and return their ids."""
        return _freely(self.hocket_store.add_documents)(_read(documents), **options)

    async def aadd_documents(self, documents: list[LCDocument], **options: object) -> list[str]:
        """Embed and store documents, and return their ids."""
        return await _freely(self.hocket_store.aadd_documents)(_read(documents), **options)

    def add_texts(self, texts: Iterable[str], metadatas: list[Fields] | None = None, **options: object) -> list[str]:
        """Embed and store texts, and return the ids of their documents."""
        return _freely(self.hocket_store.add_texts)(texts, metadatas, **options)

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: list[Fields] | None = None, **options: object
    ) -> list[str]:
        """Embed and store texts, and return the ids of their documents."""
        return await _freely(self.hocket_store.aadd_texts)(texts, metadatas, **options)

    def delete(self, ids: Sequence[str] | None = None, **options: object) -> bool:
        """Delete the documents with these ids; None: all."""
        self.hocket_store.delete(ids)
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **options: object) -> bool:
        """Delete the documents with these ids; None: all."""
        await self.hocket_store.adelete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[LCDocument]:
        """Return the documents with these ids, in the order of the ids."""
        return _write(self.hocket_store.get_by_ids(ids))

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[LCDocument]:
        """Return the documents with these ids, in the order of the ids."""
        return _write(await self.hocket_store.aget_by_ids(ids))

    # -- searches

    def similarity_search(self, query: str, k: int = 4, **options: object) -> list[LCDocument]:
        """Return the documents that are nearest to ``query``, best first."""
        return _write(_freely(self.hocket_store.similarity_search)(query, k, **options))

    async def asimilarity_search(self, query: str, k: int = 4, **options: object) -> list[LCDocument]:
        """Return the documents that are nearest to ``query``, best first."""
        return _write(await _freely(self.hocket_store.asimilarity_search)(query, k, **options))

    def similarity_search_with_score(self, query: str, k: int = 4, **options: object) -> list[tuple[LCDocument, float]]:
        """Return what `similarity_search` does, each document beside its cosine."""
        return _write_scored(_freely(self.hocket_store.similarity_search_with_score)(query, k, **options))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **options: object
    ) -> list[tuple[LCDocument, float]]:
        """Return what `asimilarity_search` does, each document beside its cosine."""
        return _write_scored(await _freely(self.hocket_store.asimilarity_search_with_score)(query, k, **options))

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: object) -> list[LCDocument]:
        """Return the documents that are nearest to a vector, best first."""
        return _write(_freely(self.hocket_store.similarity_search_by_vector)(embedding, k, **options))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **options: object
    ) -> list[LCDocument]:
        """Return the documents that are nearest to a vector, best first."""
        return _write(await _freely(self.hocket_store.asimilarity_search_by_vector)(embedding, k, **options))

    def max_marginal_relevance_search(self, *args: object, **options: object) -> list[LCDocument]:
        """Return documents that are near to a question and unlike one another."""
        return _write(_freely(self.hocket_store.max_marginal_relevance_search)(*args, **options))

    async def amax_marginal_relevance_search(self, *args: object, **options: object) -> list[LCDocument]:
        """Return documents that are near to a question and unlike one another."""
        return _write(await _freely(self.hocket_store.amax_marginal_relevance_search)(*args, **options))

    def max_marginal_relevance_search_by_vector(self, *args: object, **options: object) -> list[LCDocument]:
        """Return documents that are near to a vector and unlike one another."""
        return _write(_freely(self.hocket_store.max_marginal_relevance_search_by_vector)(*args, **options))

    async def amax_marginal_relevance_search_by_vector(self, *args: object, **options: object) -> list[LCDocument]:
        """Return documents that are near to a vector and unlike one another."""
        return _write(await _freely(self.hocket_store.amax_marginal_relevance_search_by_vector)(*args, **options))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(1.0, max(0.0, cosine))


def _freely(verb: Callable[..., R]) -> Callable[..., R]:
    """Return a verb that takes whatever LangChain hands on; it refuses itself what it does not know."""
    return verb


def _read(documents: Iterable[LCDocument]) -> list[Document]:
    return [document_from_langchain(one) for one in documents]


def _write(documents: Iterable[Document]) -> list[LCDocument]:
    return [document_to_langchain(one) for one in documents]


def _write_scored(found: Iterable[tuple[Document, float]]) -> list[tuple[LCDocument, float]]:
    return [(document_to_langchain(document), score) for document, score in found]
