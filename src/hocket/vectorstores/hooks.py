"""What a vector store defines: four methods, and three more that are worth it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, Self

from hocket._runtime.closing import AsyncClosing
from hocket._runtime.definitions import Twins
from hocket._runtime.sync_twin import sync_twin
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.vectorstores.filters import Filter
from hocket.vectorstores.ranking import Match

__all__ = ["VectorStoreHooks"]


class VectorStoreHooks(Twins, AsyncClosing, ABC):
    """The methods of a store that differ between stores; `hocket.vectorstores.VectorStore` has the rest.

    Args:
        embedding: the model whose vectors it holds.
    """

    def __init__(self, embedding: Embeddings) -> None:
        if not isinstance(embedding, Embeddings):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            hint = bridge_hint(embedding) or ": OpenAIEmbeddings(...)"
            raise InvalidInput(f"embedding is {type(embedding).__name__}; it is an embedding model{hint}")
        self._embedding = embedding

    @property
    def embeddings(self) -> Embeddings:
        """The model whose vectors it holds."""
        return self._embedding

    @abstractmethod
    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors, all of them or none; one whose id is there takes the old one's place.

        Args:
            documents: each with an id, and no id twice.
            vectors: as many, of one size, finite, and none of length 0.
        """

    @abstractmethod
    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the ``k`` documents that match the filter and are nearest, best first; equal ones in the order in which
        they were added.

        The filter acts before the ``k`` are taken. The documents are the caller's, who may change them. A `Match` may
        carry the document's vector, which saves others from embedding its text again.
        """

    @abstractmethod
    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all documents. An id that is not there is no error."""

    @abstractmethod
    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids, in the order of the ids; those that are not there are left out."""

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the ``k`` documents that have words of ``query``, best first, with scores above 0 of the store's own scale.

        Raises:
            InvalidInput: the store cannot search by words.
        """
        raise InvalidInput(f"{type(self).__name__} cannot search by words: search by similarity, or by mmr")

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors that the store already has of texts, by text. By default none."""
        return {}

    async def alist_ids(self, filter: Filter | None = None) -> list[str]:
        """Return the ids of the documents that match a filter.

        Raises:
            InvalidInput: the store cannot list them.
        """
        raise InvalidInput(f"{type(self).__name__} cannot list its documents, which a cleanup needs: define alist_ids")

    async def aclose(self, /) -> None:  # most stores hold nothing open
        """Give back what the store holds open. By default nothing; a later call opens it again."""

    # -- sync code

    delete: Final = sync_twin(adelete)
    get_by_ids: Final = sync_twin(aget_by_ids)
    close: Final = sync_twin(aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
