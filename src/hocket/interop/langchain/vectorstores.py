"""Any vector store of LangChain's as one of hocket's, and embedding models both ways.

LangChain's stores embed for themselves, and each has scores and filters of its own. Here a score is a cosine, as in every
store of hocket's: what a search found is embedded once more for it, with the store's own model (`CacheBackedEmbeddings`
around that saves it). The store's sync code is called, in worker threads under an event loop, so that it runs on trio, too.
"""

import inspect
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence

from langchain_core.documents import Document as LCDocument
from langchain_core.embeddings import Embeddings as LCEmbeddings
from langchain_core.vectorstores import VectorStore as LCVectorStore

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.embeddings.similarity import measure_cosine
from hocket.errors import InvalidInput
from hocket.interop.langchain.callables import Forwarding
from hocket.interop.langchain.values import document_from_langchain, document_to_langchain
from hocket.vectorstores import VectorStore
from hocket.vectorstores.filters import Filter, check_document, is_met, parse_filter
from hocket.vectorstores.ranking import Match

__all__ = [
    "HocketEmbeddings",
    "LangChainEmbeddings",
    "LangChainVectorStore",
    "embeddings_from_langchain",
    "embeddings_to_langchain",
    "store_from_langchain",
]


class LangChainEmbeddings(Embeddings):
    """An embedding model of LangChain's in hocket: its sync code, which runs anywhere. Made by `from_langchain`."""

    def __init__(self, model: LCEmbeddings) -> None:
        self.langchain_model = model

    @property
    def model_id(self) -> str:
        """Which model it is: its class and the name that it has, if any."""
        name: object = getattr(self.langchain_model, "model", None) or getattr(self.langchain_model, "model_name", None)
        cls = type(self.langchain_model)
        return ":".join(part for part in (f"{cls.__module__}.{cls.__qualname__}", str(name or "")) if part)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return self.langchain_model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with."""
        return self.langchain_model.embed_query(text)


class HocketEmbeddings(LCEmbeddings):
    """An embedding model of hocket's in LangChain. Made by `to_langchain`."""

    def __init__(self, model: Embeddings) -> None:
        self.hocket_model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return self.hocket_model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with."""
        return self.hocket_model.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return await self.hocket_model.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with."""
        return await self.hocket_model.aembed_query(text)


class LangChainVectorStore(Forwarding, VectorStore):
    """A vector store of LangChain's in hocket. Made by `from_langchain`.

    A filter is hocket's where LangChain's store takes a function for one, as its stores in memory do. Any other store has a
    language of its own, and is given the filter as it is.
    """

    _original = "store"

    def __init__(self, store: LCVectorStore, embedding: Embeddings) -> None:
        super().__init__(embedding)
        self.store = store

    async def aadd_documents(
        self, /, documents: Iterable[Document], *, ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """Store documents, which LangChain's store embeds; see `VectorStore.aadd_documents`."""
        checked = [check_document(document) for document in documents]
        if ids is not None and len(ids) != len(checked):
            raise InvalidInput(f"there are {len(ids)} ids for {len(checked)} documents; give one for each")
        names = [
            given or one.id or str(uuid.uuid4())
            for given, one in zip(ids or [None] * len(checked), checked, strict=True)
        ]
        last = dict(zip(names, checked, strict=True))
        if last:
            await self._store_documents(last)
        return names

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents. LangChain's store makes its own vectors: these are not used."""
        await self._store_documents({document.id or str(uuid.uuid4()): document for document in documents})

    async def _store_documents(self, documents: dict[str, Document]) -> None:
        given = [document_to_langchain(one.model_copy(update={"id": id})) for id, one in documents.items()]
        await finish_write(lambda: ASYNC.call_sync(self.store.add_documents, given, ids=[*documents]))

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the ``k`` documents that are nearest, best first."""
        options = {} if filter is None else {"filter": self._make_filter(filter)}
        found = await ASYNC.call_sync(self.store.similarity_search_by_vector, list(vector), k, **options)
        documents = [document_from_langchain(document) for document in found]
        vectors = await self.aembed_texts([document.page_content for document in documents])
        matches = [
            Match(document, measure_cosine(vector, own), own) for document, own in zip(documents, vectors, strict=True)
        ]
        return sorted(matches, key=lambda match: -match.score)

    def _make_filter(self, filter: Filter) -> Filter | Callable[[LCDocument], bool]:
        """Return a filter as the store takes it: a function that says the same, or what was given."""
        is_data = isinstance(filter, Mapping)  # pyright: ignore[reportUnnecessaryIsInstance]  # or an object of the store's own
        if not (is_data and _takes_functions(self.store)):
            return filter
        condition = parse_filter(filter)
        return lambda document: is_met(condition, document.metadata)

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all, where LangChain's store can."""
        await finish_write(lambda: ASYNC.call_sync(self.store.delete, None if ids is None else list(ids)))

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids, in the order of the ids."""
        found = await ASYNC.call_sync(self.store.get_by_ids, list(ids))
        by_id = {document.id: document_from_langchain(document) for document in found}
        return [by_id[id] for id in ids if id in by_id]


def _takes_functions(store: LCVectorStore) -> bool:
    """Whether a store says that a filter is a function of a document."""
    searches = (getattr(store, name, None) for name in ("similarity_search_with_score_by_vector", "similarity_search"))
    parameters = [inspect.signature(search).parameters.get("filter") for search in searches if search is not None]
    return any("Callable" in str(one.annotation) for one in parameters if one is not None)


def embeddings_from_langchain(model: LCEmbeddings) -> Embeddings:
    """Return an embedding model of LangChain's as hocket's."""
    return model.hocket_model if isinstance(model, HocketEmbeddings) else LangChainEmbeddings(model)


def embeddings_to_langchain(model: Embeddings) -> LCEmbeddings:
    """Return an embedding model of hocket's as LangChain's."""
    return model.langchain_model if isinstance(model, LangChainEmbeddings) else HocketEmbeddings(model)


def store_from_langchain(store: LCVectorStore) -> LangChainVectorStore:
    """Return a vector store of LangChain's as hocket's.

    Raises:
        InvalidInput: it does not say which model it embeds with.
    """
    model = store.embeddings
    if model is None:
        raise InvalidInput(
            f"{type(store).__name__} does not say which model it embeds with; "
            "LangChainVectorStore(store, embedding) takes it"
        )
    return LangChainVectorStore(store, embeddings_from_langchain(model))
