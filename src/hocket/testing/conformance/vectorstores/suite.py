"""What a vector store can, and where it comes from: what all tests of the exam ask, and a store's author answers."""

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import anyio
import pytest

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.vectorstores import VectorStore

__all__ = ["ExamEmbeddings", "VectorStoreSuite"]

Fault = Literal["NaN", "infinite", "zeros", "too few", "too many", "uneven", "other size", "empty"]

SIZE = 32


class ExamEmbeddings(Embeddings):
    """A model that finds texts alike that are spelled alike, and does wrong when it is told to.

    Attributes:
        fault: what it does wrong from now on.
        embedded: the texts of documents that it has embedded.
        delay: seconds that it takes.
    """

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self.embedded: list[str] = []
        self.delay: float = 0

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text, unless there is a fault."""
        await anyio.sleep(self.delay)
        self.embedded += texts
        return _spoil([_embed(text) for text in texts], self.fault)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return _spoil([_embed(text)], self.fault)[0]


def _embed(text: str) -> list[float]:
    vector = [0.01] * SIZE
    padded = f"  {text} "
    for place in range(len(padded) - 2):
        number = zlib.crc32(padded[place : place + 3].encode("utf-8", "replace"))
        vector[number % SIZE] += 1 if number & 1024 else -1
    length = math.hypot(*vector)
    return [number / length for number in vector]


def _spoil(vectors: list[list[float]], fault: Fault | None) -> list[list[float]]:
    *others, last = vectors
    match fault:
        case None:
            return vectors
        case "NaN":
            return [*others, [math.nan, *last[1:]]]
        case "infinite":
            return [*others, [math.inf, *last[1:]]]
        case "zeros":
            return [*others, [0.0] * len(last)]
        case "too few":
            return others
        case "too many":
            return [*vectors, last]
        case "uneven":
            return [*others, last[1:]]
        case "other size":
            return [vector[1:] for vector in vectors]
        case "empty":
            return [[] for _ in vectors]


class VectorStoreSuite:
    """What the author says of a store.

    Attributes:
        has_words: whether `asearch_words` and hybrid searches work; if not, they are refused.
        has_listing: whether `alist_ids` works; if not, it is refused.
        keeps_vectors: whether `afind_vectors` finds vectors of texts, so that none is embedded twice.
        is_exhaustive: whether a search sees every document; an approximate index (HNSW) may miss a few of thousands.
        precision: by how much a score may differ from the cosine.
    """

    pytestmark: ClassVar[Any] = [pytest.mark.anyio]

    has_words: bool = True
    has_listing: bool = True
    keeps_vectors: bool = True
    is_exhaustive: bool = True
    precision: float = 1e-5

    def make(self, embedding: Embeddings) -> VectorStore:
        """Return a new store that has nothing in it and shares nothing with others."""
        raise NotImplementedError(f"{type(self).__name__} must define make()")

    @pytest.fixture(autouse=True)
    def _stores(self) -> Iterator[None]:
        self.__made: list[VectorStore] = []
        yield
        for store in self.__made:
            store.delete()
            store.close()

    def store(self, embedding: Embeddings | None = None) -> VectorStore:
        """Return a store that the test leaves behind empty."""
        store = self.make(embedding or ExamEmbeddings())
        self.__made.append(store)
        return store

    async def read(self, store: VectorStore, ids: Sequence[str]) -> list[str]:
        """Return the texts of the documents with these ids."""
        return [document.page_content for document in await store.aget_by_ids(ids)]

    def is_near(self, found: float | None, expected: float) -> bool:
        """Whether a score is what it has to be, as far as the store is exact."""
        return found is not None and abs(found - expected) <= self.precision

    async def add_rows(self, store: VectorStore, rows: Sequence[Sequence[float]]) -> None:
        """Store vectors under the ids "0", "1" …"""
        documents = [Document(f"text {number}", id=str(number)) for number in range(len(rows))]
        await store.aadd_vectors(documents, rows)
