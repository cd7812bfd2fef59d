"""A vector store as a retriever."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Protocol

from pydantic import Field, SkipValidation

from hocket._runtime.portal import run_in_portal
from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.retrievers import BaseRetriever

__all__ = ["SearchType", "SearchableStore", "VectorStoreRetriever"]

SearchType = Literal["similarity", "similarity_score_threshold", "mmr", "hybrid"]
"""How a retriever searches: by likeness, above a score, for variety, or by words too."""


Search = Callable[..., Coroutine[Any, Any, list[Document]]]


class SearchableStore(Protocol):
    """What a retriever needs of a store; see `hocket.vectorstores.VectorStore`."""

    @property
    def asimilarity_search(self) -> Search: ...
    @property
    def amax_marginal_relevance_search(self) -> Search: ...
    @property
    def ahybrid_search(self) -> Search: ...
    @property
    def aadd_documents(self) -> Callable[..., Coroutine[Any, Any, list[str]]]: ...


class VectorStoreRetriever(BaseRetriever):
    """Searches a vector store. `VectorStore.as_retriever` makes one.

    Args:
        vectorstore: the store.
        search_type: "similarity"; "similarity_score_threshold", which needs ``score_threshold`` among its arguments;
            "mmr", which wants variety; or "hybrid", meaning and words.
        search_kwargs: arguments of that search, such as ``k`` and ``filter``. A call's own arguments win.
    """

    vectorstore: SkipValidation[SearchableStore]
    search_type: SearchType = "similarity"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        arguments = {**self.search_kwargs, **kwargs}
        store = self.vectorstore
        match self.search_type:
            case "mmr":
                return await store.amax_marginal_relevance_search(query, **arguments)
            case "hybrid":
                return await store.ahybrid_search(query, **arguments)
            case "similarity_score_threshold" if arguments.get("score_threshold") is None:
                raise InvalidInput("search_kwargs need a score_threshold, from -1 to 1: {'score_threshold': 0.5}")
            case "similarity" | "similarity_score_threshold":
                return await store.asimilarity_search(query, **arguments)

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents to the store; see `VectorStore.aadd_documents`."""
        return await self.vectorstore.aadd_documents(documents, **kwargs)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents to the store: the sync twin of `aadd_documents`."""
        return run_in_portal(functools.partial(self.aadd_documents, documents, **kwargs))
