"""Vector stores with a fault, and the exam that each has to fail, in the tests that are for it.

Run by `test_broken_stores.py`, in a suite of its own, on asyncio.
"""

import time
from collections.abc import Mapping, Sequence

import anyio

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import InMemoryVectorStore, Match, VectorStore
from hocket.vectorstores.filters import Filter, is_met, parse_filter

Vectors = Sequence[Sequence[float]]


class Products(InMemoryVectorStore):
    """Its scores are products, which grow with the vectors."""

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        scale = sum(number * number for number in vector) ** 0.5
        return [one._replace(score=one.score * scale) for one in await super().asearch_vector(vector, k, filter)]


class FiltersAfterwards(InMemoryVectorStore):
    """It takes the nearest, and then looks which of them match."""

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        condition = parse_filter(filter)
        found = await super().asearch_vector(vector, k)
        return [one for one in found if is_met(condition, one.document.metadata)]


class FiltersTexts(InMemoryVectorStore):
    """It compares what values look like: 1 is "1"."""

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        found = await super().asearch_vector(vector, 9_999)
        wanted = {key: str(value) for key, value in (filter or {}).items()}
        return [
            one for one in found if wanted.items() <= {k: str(v) for k, v in one.document.metadata.items()}.items()
        ][:k]


class NewestFirst(InMemoryVectorStore):
    """Of equal scores, the last one is first."""

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        found = (await super().asearch_vector(vector, 9_999, filter))[::-1]
        return sorted(found, key=lambda one: -one.score)[:k]


class AddsOneByOne(InMemoryVectorStore):
    """It adds a batch document by document, and lets others go on in between."""

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Vectors) -> None:
        for document, vector in zip(documents, vectors, strict=True):
            await super().aadd_vectors([document], [vector])
            await anyio.sleep(0.002)


class AddsItLater(InMemoryVectorStore):
    """Cancelled, it adds the batch all the same, as one does that leaves its thread behind: once somebody has looked."""

    def __init__(self, embedding: Embeddings) -> None:
        super().__init__(embedding)
        self._late: list[tuple[Sequence[Document], Vectors]] = []

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Vectors) -> None:
        late = (documents, vectors)
        self._late.append(late)
        await anyio.sleep(0.01)
        self._late.remove(late)
        await super().aadd_vectors(documents, vectors)

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        found = await super().asearch_vector(vector, k, filter)
        for late in self._late:
            await super().aadd_vectors(*late)
        self._late.clear()
        return found


class GivesItsOwn(InMemoryVectorStore):
    """It returns the documents that it has."""

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        table = self._table
        return [table.documents[table.numbers[one]] for one in ids if one in table.numbers]


class KeepsTheOld(InMemoryVectorStore):
    """A document whose id is there is left out."""

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Vectors) -> None:
        there = {one.id for one in await self.aget_by_ids([str(document.id) for document in documents])}
        new = [place for place, document in enumerate(documents) if document.id not in there]
        await super().aadd_vectors([documents[place] for place in new], [vectors[place] for place in new])


class EmbedsAgain(InMemoryVectorStore):
    """It does not say which vectors it has."""

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        return {}


class Blocks(InMemoryVectorStore):
    """It works on the event loop."""

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        time.sleep(1.2)  # noqa: ASYNC251  # its fault
        return await super().asearch_vector(vector, k, filter)


class _Exam(VectorStoreConformance):
    store_class: type[VectorStore]

    def make(self, embedding: Embeddings) -> VectorStore:
        return self.store_class(embedding)


class TestProducts(_Exam):
    store_class = Products


class TestFiltersAfterwards(_Exam):
    store_class = FiltersAfterwards


class TestFiltersTexts(_Exam):
    store_class = FiltersTexts


class TestNewestFirst(_Exam):
    store_class = NewestFirst


class TestAddsOneByOne(_Exam):
    store_class = AddsOneByOne


class TestAddsItLater(_Exam):
    store_class = AddsItLater


class TestGivesItsOwn(_Exam):
    store_class = GivesItsOwn


class TestKeepsTheOld(_Exam):
    store_class = KeepsTheOld


class TestEmbedsAgain(_Exam):
    store_class = EmbedsAgain


class TestBlocks(_Exam):
    store_class = Blocks
