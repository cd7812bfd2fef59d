"""A store on a server that other programs may use, too: what such stores have in common.

A server's own conditions mean something else than hocket's, its indexes are not exact, and it puts equal ones in no order.
So whoever talks to it (`CollectionDriver`) only finds candidates. They are looked at here, their scores are counted again,
and the server is asked for more until nothing that belongs to the answer may be missing.
"""

import hashlib
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from hocket._databases.writes import finish_write
from hocket._runtime.fork import free_at_fork
from hocket._runtime.mode import ASYNC
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.embeddings.similarity import measure_cosine
from hocket.errors import EmbeddingMismatch, HocketError, VectorStoreError
from hocket.errors.hints import excerpt
from hocket.vectorstores.base import VectorStore
from hocket.vectorstores.filters import All, Condition, Filter, check_size, compile_condition, parse_filter
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rest_server import NotThere
from hocket.vectorstores.rows import Row, clip_cosine, normalize

__all__ = ["Candidates", "Collection", "CollectionDriver", "ServedDocument", "ServedVectorStore", "make_marks"]

T = TypeVar("T")

_FORMAT: Final = 1
_FORMAT_KEY: Final = "hocket_format"
_MODEL_KEY: Final = "hocket_model"

_MOST: Final = 2**31 - 1
"""Documents that a search asks for; Chroma counts no further than 2**32."""

_MARGIN: Final = 1e-5
"""Scores that a server counts in 32 bits may be off by this; equal ones are put in order here."""

_ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises where a reply has another shape than the server's."""


class Collection(NamedTuple):
    """A collection as the server has it.

    Attributes:
        path: of requests to it.
        marks: notes of its maker.
        size: of its vectors; None: it has had none yet.
    """

    path: str
    marks: Mapping[str, object]
    size: int | None


class ServedDocument(NamedTuple):
    """A document as a server keeps it; what was not asked for is empty.

    Attributes:
        id: of the document.
        content: its text.
        metadata: its metadata.
        order: a number that grows with each document.
        hash: of its text.
        vector: of length 1.
        score: that the server gave it.
    """

    id: str
    content: str
    metadata: dict[str, Any]
    order: int
    hash: str
    vector: Sequence[float] = ()
    score: float = 0.0


class Candidates(NamedTuple):
    """What a search found.

    Attributes:
        records: best first, as far as the server knows.
        is_all: whether there are no others.
        least: the score that others may have at most.
    """

    records: Sequence[ServedDocument]
    is_all: bool
    least: float


class CollectionDriver(Protocol):
    """Talks to a server about one collection. Each method raises `NotThere` where the collection is not there."""

    name: str
    """Of the kind of server, as errors show it."""

    async def open(self) -> Collection:
        """Return the collection."""
        ...

    async def make(self, marks: Mapping[str, object], size: int) -> Collection:
        """Return the collection, made if absent."""
        ...

    async def drop(self) -> None:
        """Delete the collection."""
        ...

    async def write(self, collection: Collection, records: Sequence[ServedDocument]) -> None:
        """Store documents, in one request."""
        ...

    async def remove(self, collection: Collection, ids: Sequence[str]) -> None:
        """Delete documents."""
        ...

    async def search(self, collection: Collection, row: Row, count: int, condition: Condition | None) -> Candidates:
        """Return the nearest, with their vectors. All that meet the condition are candidates; others may be among them."""
        ...

    async def read_ids(self, collection: Collection, ids: Sequence[str]) -> Sequence[ServedDocument]:
        """Return the documents with these ids, those that are there."""
        ...

    async def read_hashes(self, collection: Collection, hashes: Sequence[str]) -> Sequence[ServedDocument]:
        """Return the documents with these hashes, with their vectors; no text."""
        ...

    async def read_matching(self, collection: Collection, condition: Condition | None) -> Sequence[ServedDocument]:
        """Return the documents that meet a condition; others may be among them; no text."""
        ...

    async def aclose(self) -> None:
        """Close the running loop's idle connections."""
        ...


class ServedVectorStore(VectorStore):
    """A store on a server, by a driver.

    Args:
        embedding: the model whose vectors it holds.
        driver: talks to the server.
        owner: the store as errors show it.
    """

    def __init__(self, embedding: Embeddings, driver: CollectionDriver, owner: str) -> None:
        super().__init__(embedding)
        self._driver = driver
        self._owner = owner

    def __repr__(self) -> str:
        return self._owner

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors."""

        def encode() -> list[ServedDocument]:
            first = _take_numbers(len(documents))
            return [
                ServedDocument(
                    str(document.id),
                    document.page_content,
                    document.metadata,
                    first + place,
                    _hash(document.page_content),
                    normalize(vector),
                )
                for place, (document, vector) in enumerate(zip(documents, vectors, strict=True))
            ]

        async def add() -> None:
            with self._refuse_odd_replies():
                made = await self._driver.make(make_marks(self.embeddings.model_id), len(vectors[0]))
                collection = self._check(made)
                if collection.size is not None:
                    check_size(len(vectors[0]), collection.size, self._owner)
                await self._driver.write(collection, await ASYNC.call_sync(encode))

        if documents:
            await finish_write(lambda: _again(add))

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents."""
        row = normalize(vector)

        async def ask(collection: Collection, count: int, condition: Condition | None) -> Candidates:
            if collection.size is not None:
                check_size(len(row), collection.size, self._owner)
            return await self._driver.search(collection, row, count, condition)

        return await self._find_best(ask, lambda record: clip_cosine(measure_cosine(row, record.vector)), k, filter)

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: the collection."""

        async def delete(collection: Collection) -> None:
            await self._driver.remove(collection, ids or ())

        async def delete_all() -> None:
            try:
                await self._driver.drop()
            except NotThere:
                return

        if ids is None:
            await finish_write(delete_all)
        elif ids:
            await finish_write(lambda: self._read(delete, None))

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids."""

        async def get(collection: Collection) -> list[Document]:
            found = {one.id: one for one in await self._driver.read_ids(collection, list(dict.fromkeys(ids)))}
            return [_make_document(found[one]) for one in ids if one in found]

        return await self._read(get, []) if ids else []

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors of texts that are in the store."""
        names = {_hash(text): text for text in texts}

        async def find(collection: Collection) -> Mapping[str, Sequence[float]]:
            found = await self._driver.read_hashes(collection, list(names))
            return {names[one.hash]: one.vector for one in found}

        return await self._read(find, {}) if names else {}

    async def alist_ids(self, filter: Filter | None = None) -> list[str]:
        """Return the ids of the documents that match a filter, in the order in which they were added."""
        condition = None if filter is None else parse_filter(filter)

        async def list_ids(collection: Collection) -> list[str]:
            found = await self._driver.read_matching(collection, condition)
            matches = await ASYNC.call_sync(_rank, found, condition, lambda _: 0.0)
            return [str(match.document.id) for match in matches]

        return await self._read(list_ids, [])

    async def aclose(self, /) -> None:
        """Close the running loop's idle connections."""
        await self._driver.aclose()

    # -- inside

    async def _find_best(
        self,
        ask: Callable[[Collection, int, Condition | None], Awaitable[Candidates]],
        measure: Callable[[ServedDocument], float],
        k: int,
        filter: Filter | None,
    ) -> list[Match]:
        """Ask for some more than ``k`` documents, and for more again, until those that match are ``k`` and none that is as
        near as the last of them may be missing."""
        condition = None if filter is None else parse_filter(filter)

        async def search(collection: Collection) -> list[Match]:
            if collection.size is None:
                return []
            count = k + 8
            while True:
                found = await ask(collection, min(count, _MOST), condition)
                best = await ASYNC.call_sync(_rank, found.records, condition, measure)
                if found.is_all or count >= _MOST or (len(best) >= k and best[k - 1].score > found.least + _MARGIN):
                    return best[:k]
                count *= 4

        return await self._read(search, [])

    async def _read(self, work: Callable[[Collection], Awaitable[T]], nothing: T) -> T:
        """Do some work on the collection; one that is not there has nothing."""
        try:
            with self._refuse_odd_replies():
                return await work(self._check(await self._driver.open()))
        except NotThere:
            return nothing

    @contextmanager
    def _refuse_odd_replies(self) -> Generator[None]:
        """Turn what Python says of a reply that is not the server's into an error of hocket's."""
        try:
            yield
        except HocketError:
            raise
        except _ODD as error:
            reason = f"{type(error).__name__}: {excerpt(str(error))}"
            raise VectorStoreError(
                f"{self._owner}: the reply is not what {self._driver.name}'s API says ({reason})"
            ) from error

    def _check(self, collection: Collection) -> Collection:
        model = collection.marks.get(_MODEL_KEY)
        if collection.marks.get(_FORMAT_KEY) != _FORMAT:
            raise VectorStoreError(f"{self._owner}: hocket has not made this collection; take one of another name")
        if model != self.embeddings.model_id:
            raise EmbeddingMismatch(
                f"{self._owner} holds vectors of {model!r}, and was opened with {self.embeddings.model_id!r}: "
                "open it with that model, take another collection, or delete it with `adelete()`"
            )
        return collection


def make_marks(model: str) -> dict[str, object]:
    """Return what a collection of a model's vectors is known by."""
    return {_MODEL_KEY: model, _FORMAT_KEY: _FORMAT}


async def _again(work: Callable[[], Awaitable[None]]) -> None:
    """Do some work on a collection, once more if it was deleted meanwhile."""
    for is_last in (False, True):
        try:
            return await work()
        except NotThere as error:
            if is_last:
                raise VectorStoreError(str(error)) from None


_lock = free_at_fork(threading.Lock())
_last = 0


def _take_numbers(count: int) -> int:
    """Return the first of some numbers that grow: those of the clock, and each once in this process."""
    global _last
    with _lock:
        first = max(time.time_ns(), _last + 1)
        _last = first + count - 1
        return first


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _make_document(record: ServedDocument) -> Document:
    return Document(record.content, metadata=record.metadata, id=record.id)


def _rank(
    records: Sequence[ServedDocument], condition: Condition | None, measure: Callable[[ServedDocument], float]
) -> list[Match]:
    """Return the records that meet a condition, best first; equal ones in the order in which they were added."""
    holds = compile_condition(condition or All(()))
    met = sorted((-measure(one), one.order, place) for place, one in enumerate(records) if holds(one.metadata))
    return [Match(_make_document(records[place]), -score, records[place].vector) for score, _, place in met]
