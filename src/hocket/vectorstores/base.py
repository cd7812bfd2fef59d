"""What every vector store has in common.

A store defines four methods, over vectors and ids (`hocket.vectorstores.hooks`); texts, embedding, scores, thresholds,
diversity and the mixture of vectors and words are here, once. So a search means the same in every store: ``score`` is the
cosine of the angle between the vectors of question and document, from -1 to 1, and greater is better.

`VectorStoreRetriever` has a store answer questions as any retriever does.
"""

import functools
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, Self

from pydantic import Field, SkipValidation

from hocket._runtime.mode import ASYNC
from hocket._runtime.portal import run_in_portal
from hocket._runtime.sync_twin import sync_twin
from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.embeddings.base import check_vectors
from hocket.errors import InvalidInput
from hocket.retrievers import BaseRetriever
from hocket.vectorstores.filters import Filter, check_document
from hocket.vectorstores.hooks import VectorStoreHooks
from hocket.vectorstores.ranking import Match, blend_matches, pick_diverse

__all__ = ["SearchType", "VectorStore", "VectorStoreRetriever"]

_CANDIDATES = 50
"""Documents that each side of a hybrid search proposes."""

SearchType = Literal["similarity", "similarity_score_threshold", "mmr", "hybrid"]
"""How a retriever searches: by likeness, above a score, for variety, or by words too."""


class VectorStore(VectorStoreHooks):
    """Documents that are found by what they mean. Subclass it, and define `aadd_vectors`, `asearch_vector`, `adelete` and
    `aget_by_ids`; `hocket.testing` has the exam. Two more are worth it: `asearch_words`, for hybrid searches, and
    `afind_vectors` and `alist_ids`, so that `hocket.indexing.aindex` embeds nothing twice and deletes removed documents.

    Every verb has a sync twin: ``similarity_search`` for ``asimilarity_search``.

    Args:
        embedding: the model whose vectors it holds.

    Raises, from every verb:
        InvalidInput: an argument cannot be used; nothing was embedded or stored.
        VectorStoreError: the store cannot be read or written; its content is unchanged.
        EmbeddingMismatch: it holds vectors of another model.
    """

    # -- add

    async def aadd_documents(
        self, /, documents: Iterable[Document], *, ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """Embed documents and store them, all of them or none. Texts that the store has a vector of are not embedded.

        Args:
            documents: one whose id is in the store takes the old one's place; of two with one id, the later one counts.
            ids: one for each document. Default: their own; one that has none gets a new one.

        Returns:
            the ids, in the order of the documents.
        """
        checked = [check_document(document) for document in documents]
        if ids is not None and len(ids) != len(checked):
            raise InvalidInput(f"there are {len(ids)} ids for {len(checked)} documents; give one for each")
        named = [
            document.model_copy(update={"id": given or document.id or str(uuid.uuid4())})
            for document, given in zip(checked, ids or [None] * len(checked), strict=True)
        ]
        if named:
            last = {document.id: place for place, document in enumerate(named)}
            unique = [document for place, document in enumerate(named) if last[document.id] == place]
            await self.aadd_vectors(unique, await self.aembed_texts([one.page_content for one in unique]))
        return [str(document.id) for document in named]

    async def aadd_texts(
        self,
        /,
        texts: Iterable[str],
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
    ) -> list[str]:
        """Embed texts and store them as documents; see `aadd_documents`."""
        given = list(texts)
        if metadatas is not None and len(metadatas) != len(given):
            raise InvalidInput(f"there are {len(metadatas)} metadatas for {len(given)} texts; give one for each")
        facts = metadatas or [{} for _ in given]
        documents = [Document(text, metadata=one) for text, one in zip(given, facts, strict=True)]
        return await self.aadd_documents(documents, ids=ids)

    async def aembed_texts(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Return a vector of each text: the store's own where it has one, else the model's. Equal texts are embedded once.

        Raises:
            InvalidHook: the model returned too few vectors, or such as cannot be compared.
        """
        vectors = dict(await self.afind_vectors(list(dict.fromkeys(texts))))
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            made = await self._embedding.aembed_documents(missing)
            await ASYNC.call_sync(check_vectors, made, len(missing), self._embedding)
            vectors.update(zip(missing, made, strict=True))
        return [vectors[text] for text in texts]

    # -- search

    async def asimilarity_search(
        self, /, query: str, k: int = 4, filter: Filter | None = None, *, score_threshold: float | None = None
    ) -> list[Document]:
        """Return the documents that are nearest to ``query``, best first, each with its ``score``.

        Args:
            query: what is asked.
            k: documents at most.
            filter: conditions on their metadata; see `hocket.vectorstores.filters`.
            score_threshold: the least score.
        """
        return await self.asimilarity_search_by_vector(
            await self._embed_query(query, k), k, filter, score_threshold=score_threshold
        )

    async def asimilarity_search_with_score(
        self, /, query: str, k: int = 4, filter: Filter | None = None, *, score_threshold: float | None = None
    ) -> list[tuple[Document, float]]:
        """Return the results of `asimilarity_search`, each document with its score."""
        found = await self.asimilarity_search(query, k, filter, score_threshold=score_threshold)
        return [(document, document.score or 0.0) for document in found]

    async def asimilarity_search_by_vector(
        self,
        /,
        embedding: Sequence[float],
        k: int = 4,
        filter: Filter | None = None,
        *,
        score_threshold: float | None = None,
    ) -> list[Document]:
        """Return the documents that are nearest to a vector; see `asimilarity_search`."""
        return _list_documents(await self._search(embedding, k, filter), score_threshold)

    async def amax_marginal_relevance_search(
        self, /, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, filter: Filter | None = None
    ) -> list[Document]:
        """Return documents that are near to ``query`` and unlike one another, in the order in which they were picked.

        Args:
            query: what is asked.
            k: documents at most.
            fetch_k: the nearest documents, of which these are picked.
            lambda_mult: the weight of nearness against variety: 1 is a similarity search, 0 the greatest variety.
            filter: conditions on their metadata.
        """
        return await self.amax_marginal_relevance_search_by_vector(
            await self._embed_query(query, k), k, fetch_k, lambda_mult, filter
        )

    async def amax_marginal_relevance_search_by_vector(
        self,
        /,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
    ) -> list[Document]:
        """Return documents that are near to a vector and unlike one another; see `amax_marginal_relevance_search`."""
        if not 0 <= lambda_mult <= 1:
            raise InvalidInput(f"lambda_mult is {lambda_mult!r}; it is a number from 0 to 1")
        _check_k(k)
        found = await self._add_vectors(await self._search(embedding, max(k, fetch_k), filter))
        return _list_documents(await ASYNC.call_sync(pick_diverse, found, k, lambda_mult), None)

    async def ahybrid_search(
        self,
        /,
        query: str,
        k: int = 4,
        filter: Filter | None = None,
        *,
        words: float = 0.2,
        score_threshold: float | None = None,
    ) -> list[Document]:
        """Return the documents that are nearest to ``query`` in meaning and in words, best first.

        Each side proposes its best 50. Their scores are scaled to 0…1 among the proposed ones, and summed by weight: rank
        fusion, which many stores use, forgets how sure the vectors were, and loses half of the right first answers where
        question and document use different words.

        Args:
            query: what is asked.
            k: documents at most.
            filter: conditions on their metadata.
            words: the weight of the words, from 0 to 1; the vectors have the rest.
            score_threshold: the least cosine, as in the other searches, of what the words have found, too. The ``score`` of
                what is returned is that sum, in which the best hit has 1, or nearly so, however bad it is.
        """
        if not 0 <= words <= 1:
            raise InvalidInput(f"words is {words!r}; it is a weight from 0 to 1")
        vector = await self._embed_query(query, k)
        near = await self._search(vector, max(k, _CANDIDATES), filter)
        worded = await self._add_vectors(await self.asearch_words(query, max(k, _CANDIDATES), filter))
        return _list_documents(blend_matches(vector, near, worded, words, score_threshold)[:k], None)

    def as_retriever(
        self,
        *,
        search_type: SearchType = "similarity",
        search_kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> "VectorStoreRetriever":
        """Return a retriever over this store.

        Args:
            search_type: "similarity", "similarity_score_threshold", "mmr" or "hybrid".
            search_kwargs: arguments of that search: ``{"k": 10}``.
            name, tags, metadata: of its runs.
        """
        return VectorStoreRetriever(
            vectorstore=self,
            search_type=search_type,
            search_kwargs=dict(search_kwargs or {}),
            name=name,
            tags=tags,
            metadata=metadata,
        )

    # -- a store of some documents

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store of these documents; ``kwargs`` are its other arguments."""
        store = cls(embedding=embedding, **kwargs)
        await store.aadd_documents(documents, ids=ids)
        return store

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store of these documents: the sync twin of `afrom_documents`."""
        return run_in_portal(functools.partial(cls.afrom_documents, documents, embedding, ids=ids, **kwargs))

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store of these texts; ``kwargs`` are its other arguments."""
        store = cls(embedding=embedding, **kwargs)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store of these texts: the sync twin of `afrom_texts`."""
        return run_in_portal(functools.partial(cls.afrom_texts, texts, embedding, metadatas, ids=ids, **kwargs))

    # -- sync code

    add_documents: Final = sync_twin(aadd_documents)
    add_texts: Final = sync_twin(aadd_texts)
    similarity_search: Final = sync_twin(asimilarity_search)
    similarity_search_with_score: Final = sync_twin(asimilarity_search_with_score)
    similarity_search_by_vector: Final = sync_twin(asimilarity_search_by_vector)
    max_marginal_relevance_search: Final = sync_twin(amax_marginal_relevance_search)
    max_marginal_relevance_search_by_vector: Final = sync_twin(amax_marginal_relevance_search_by_vector)
    hybrid_search: Final = sync_twin(ahybrid_search)

    # -- inside

    async def _embed_query(self, query: str, k: int) -> Sequence[float]:
        _check_k(k)
        if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"a search takes a text, not {type(query).__name__}")
        vector = await self._embedding.aembed_query(query)
        check_vectors([vector], 1, self._embedding)
        return vector

    async def _search(self, vector: Sequence[float], k: int, filter: Filter | None) -> list[Match]:
        _check_k(k)
        length = math.hypot(*vector)
        if not (0 < length < math.inf):
            raise InvalidInput(f"the vector has the length {length}; without a direction it is near to nothing")
        return await self.asearch_vector(vector, k, filter)

    async def _add_vectors(self, found: list[Match]) -> list[Match]:
        """Return the matches with their vectors, those embedded again that the store did not give."""
        texts = [match.document.page_content for match in found if match.vector is None]
        vectors = dict(zip(texts, await self.aembed_texts(texts), strict=True)) if texts else {}
        return [
            one if one.vector is not None else one._replace(vector=vectors[one.document.page_content]) for one in found
        ]


def _check_k(k: int) -> None:
    """Refuse a number of documents that is no whole number above 0."""
    if not isinstance(k, int) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"k is {k!r}; it is a whole number above 0")


def _list_documents(found: Iterable[Match], score_threshold: float | None) -> list[Document]:
    documents: list[Document] = []
    for match in found:
        if score_threshold is None or match.score >= score_threshold:
            match.document.score = match.score
            documents.append(match.document)
    return documents


class VectorStoreRetriever(BaseRetriever):
    """Searches a vector store. `VectorStore.as_retriever` makes one.

    Args:
        vectorstore: the store.
        search_type: "similarity"; "similarity_score_threshold", which needs ``score_threshold`` among its arguments;
            "mmr", for variety; or "hybrid", meaning and words.
        search_kwargs: arguments of that search, such as ``k`` and ``filter``. A call's own arguments win.
    """

    vectorstore: SkipValidation[VectorStore]
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
