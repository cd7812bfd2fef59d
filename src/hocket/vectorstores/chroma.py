"""A vector store on a Chroma server, under LangChain's name for it, nearly.

Chroma's metadata hold less than JSON does, an update of it keeps old keys, and its conditions mean something else. So the
metadata are kept as JSON in one field, and Chroma's own fields only choose candidates, which are then looked at here.
"""

import hashlib
import json
import re
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from pydantic import SecretStr

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._secrets import redact_url
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.embeddings.similarity import measure_cosine
from hocket.errors import EmbeddingMismatch, HocketError, InvalidInput, VectorStoreError
from hocket.errors.hints import excerpt, explain_arguments
from hocket.vectorstores.base import VectorStore
from hocket.vectorstores.chroma_filters import RESERVED, Where, list_facts, write_where
from hocket.vectorstores.chroma_server import ChromaServer, NotThere
from hocket.vectorstores.filters import Condition, Filter, check_size, is_met, parse_filter
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import clip_cosine, normalize

__all__ = ["ChromaVectorStore"]

T = TypeVar("T")

_FORMAT: Final = 1
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_METADATA: Final = f"{RESERVED}metadata"
_ORDER: Final = f"{RESERVED}order"
_HASH: Final = f"{RESERVED}hash"
_MODEL: Final = f"{RESERVED}model"
_FORMAT_KEY: Final = f"{RESERVED}format"

_MOST: Final = 2**31 - 1
"""Documents that a search asks for; Chroma counts no further than 2**32."""

_MARGIN: Final = 1e-5
"""Scores that Chroma counts in 32 bits may be off by this; equal ones are put in order here."""

_ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises where a reply has another shape than Chroma's."""


class _Collection(NamedTuple):
    """A collection as the server has it.

    Attributes:
        path: of requests to it.
        size: of its vectors; None: it has had none yet.
    """

    path: str
    size: int | None


class ChromaVectorStore(VectorStore):
    """Keeps documents in a collection of a Chroma server (version 1), which the first document makes.

    Searches are Chroma's: nearly exact (HNSW). They do not search by words. A batch is one request. Filters mean what they
    mean everywhere; those that Chroma cannot tell candidates by (``$not``, ``$exists``, the order of texts) have it send all
    documents. "The order in which documents were added" is that of the clocks of those that add them.

    Args:
        url: of the server: ``http://localhost:8000``.
        embedding: the model whose vectors it holds.
        collection: its name, 3 to 512 letters, digits, dots, hyphens and underscores. It has to be hocket's own.
        tenant, database: where it is.
        headers: for each request: ``{"x-chroma-token": key}``.

    Raises, from every verb:
        VectorStoreUnavailable: the server cannot be reached, or takes too long.
        VectorStoreError: it refuses, or the collection is somebody else's.
        EmbeddingMismatch: the collection holds vectors of another model: take another collection, or delete it.
    """

    @explain_arguments(collection_name="collection", host="url", embedding_function="embedding", embeddings="embedding")
    def __init__(
        self,
        url: str,
        embedding: Embeddings,
        *,
        collection: str = "hocket_documents",
        tenant: str = "default_tenant",
        database: str = "default_database",
        headers: Mapping[str, str | SecretStr] | None = None,
    ) -> None:
        super().__init__(embedding)
        if not _NAME.fullmatch(collection):
            raise InvalidInput(
                f"collection is {collection!r}; it must consist of 3 to 512 letters, digits, dots, hyphens and underscores, "
                "with a letter or digit at both ends"
            )
        self.collection: str = collection
        self._owner = f"ChromaVectorStore({redact_url(url)!r}, collection={collection!r})"
        self._server = ChromaServer(url, tenant, database, headers, self._owner)

    def __repr__(self) -> str:
        return self._owner

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors."""

        def encode() -> dict[str, object]:
            first = _take_numbers(len(documents))
            return {
                "ids": [document.id for document in documents],
                "documents": [document.page_content for document in documents],
                "metadatas": [_encode(document, first + place) for place, document in enumerate(documents)],
                "embeddings": [normalize(vector).tolist() for vector in vectors],
            }

        async def add() -> None:
            collection = await self._make()
            if collection.size is not None:
                check_size(len(vectors[0]), collection.size, self._owner)
            await self._server.request("POST", f"{collection.path}/upsert", await ASYNC.call_sync(encode))

        if documents:
            await finish_write(lambda: _again(add))

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents.

        Chroma is asked for some more than ``k``, and for more again, until those that match are ``k`` and none that is as
        near as the last of them may be missing.
        """
        condition = parse_filter(filter)
        row = normalize(vector).tolist()
        asked: dict[str, object] = {
            "query_embeddings": [row],
            "include": ["documents", "metadatas", "embeddings", "distances"],
            **_limit(condition, filter),
        }

        async def search(collection: _Collection) -> list[Match]:
            if collection.size is None:
                return []
            check_size(len(row), collection.size, self._owner)
            count = k + 8 if filter is None else 4 * k + 16
            while True:
                wanted = min(count, _MOST)
                reply = await self._server.read(f"{collection.path}/query", {**asked, "n_results": wanted})
                found, least = await ASYNC.call_sync(_rank, reply, row, condition)
                is_all = len(reply["ids"][0]) < wanted or wanted == _MOST
                if is_all or (len(found) >= k and found[k - 1].score > least + _MARGIN):
                    return found[:k]
                count *= 4

        return await self._read(search, [])

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: the collection."""

        async def delete(collection: _Collection) -> None:
            await self._server.request("POST", f"{collection.path}/delete", {"ids": list(ids or ())})

        async def delete_all() -> None:
            try:
                await self._server.request("DELETE", f"/collections/{self.collection}")
            except NotThere:
                return

        if ids is None:
            await finish_write(delete_all)
        elif ids:
            await finish_write(lambda: self._read(delete, None))

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids."""
        asked = {"ids": list(dict.fromkeys(ids)), "include": ["documents", "metadatas"]}

        async def get(collection: _Collection) -> list[Document]:
            reply = await self._server.read(f"{collection.path}/get", asked)
            found = {row[0]: row for row in _list_rows(reply, "ids", "documents")}
            return [_decode(*found[one]) for one in ids if one in found]

        return await self._read(get, []) if ids else []

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors of texts that are in the store."""
        names = {_hash(text): text for text in texts}
        asked = {"where": {_HASH: {"$in": list(names)}}, "include": ["embeddings", "metadatas"]}

        async def find(collection: _Collection) -> Mapping[str, Sequence[float]]:
            reply = await self._server.read(f"{collection.path}/get", asked)
            return {names[metadata[_HASH]]: vector for vector, metadata in _list_rows(reply, "embeddings")}

        return await self._read(find, {}) if names else {}

    async def alist_ids(self, filter: Filter | None = None) -> list[str]:
        """Return the ids of the documents that match a filter, in the order in which they were added."""
        condition = parse_filter(filter)
        asked = {"include": ["metadatas"], **_limit(condition, filter)}

        async def list_ids(collection: _Collection) -> list[str]:
            reply = await self._server.read(f"{collection.path}/get", asked)
            return await ASYNC.call_sync(_choose_ids, reply, condition)

        return await self._read(list_ids, [])

    async def aclose(self, /) -> None:
        """Close the running loop's idle connections."""
        await self._server.aclose()

    # -- inside

    async def _make(self) -> _Collection:
        """Return the collection, made if absent."""
        body = {
            "name": self.collection,
            "get_or_create": True,
            "metadata": {_MODEL: self.embeddings.model_id, _FORMAT_KEY: _FORMAT},
            "configuration": {"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200}},
        }
        reply = await self._server.request("POST", "/collections", body)
        with self._refuse_odd_replies():
            return self._check(reply)

    async def _read(self, work: Callable[[_Collection], Awaitable[T]], nothing: T) -> T:
        """Do some work on the collection; one that is not there has nothing."""
        try:
            with self._refuse_odd_replies():
                return await work(self._check(await self._server.request("GET", f"/collections/{self.collection}")))
        except NotThere:
            return nothing

    @contextmanager
    def _refuse_odd_replies(self) -> Generator[None]:
        """Turn what Python says of a reply that is not Chroma's into an error of hocket's."""
        try:
            yield
        except HocketError:
            raise
        except _ODD as error:
            reason = f"{type(error).__name__}: {excerpt(str(error))}"
            raise VectorStoreError(f"{self._owner}: the reply is not what Chroma's API says ({reason})") from error

    def _check(self, reply: Mapping[str, Any]) -> _Collection:
        facts: Mapping[str, object] = reply["metadata"] or {}
        if facts.get(_FORMAT_KEY) != _FORMAT:
            raise VectorStoreError(f"{self._owner}: hocket has not made this collection; take one of another name")
        if facts.get(_MODEL) != self.embeddings.model_id:
            raise EmbeddingMismatch(
                f"{self._owner} holds vectors of {facts.get(_MODEL)!r}, and was opened with {self.embeddings.model_id!r}: "
                "open it with that model, take another collection, or delete it with `adelete()`"
            )
        return _Collection(f"/collections/{quote(reply['id'], safe='')}", reply["dimension"])


async def _again(work: Callable[[], Awaitable[None]]) -> None:
    """Do some work on a collection, once more if it was deleted meanwhile."""
    for is_last in (False, True):
        try:
            return await work()
        except NotThere as error:
            if is_last:
                raise VectorStoreError(str(error)) from None


_lock = threading.Lock()
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


def _encode(document: Document, number: int) -> dict[str, object]:
    """Return the metadata of a document as Chroma keeps them."""
    own = {
        _METADATA: json.dumps(document.metadata, ensure_ascii=False),
        _ORDER: number,
        _HASH: _hash(document.page_content),
    }
    return {**list_facts(document.metadata), **own}


def _decode(id: str, content: str, metadata: Mapping[str, Any]) -> Document:
    return Document(content, metadata=json.loads(metadata[_METADATA]), id=id)


def _limit(condition: Condition, filter: Filter | None) -> dict[str, Where]:
    """Return what tells Chroma which documents are candidates."""
    where = None if filter is None else write_where(condition)
    return {} if where is None else {"where": where}


def _list_rows(reply: Mapping[str, Any], *names: str) -> list[tuple[Any, ...]]:
    """Return the rows of a reply, some of their fields and the metadata.

    Of a document that is deleted while Chroma looks for it, it names the id, and has nothing else left.
    """
    rows = zip(*(reply[name] for name in names), reply["metadatas"], strict=True)
    return [row for row in rows if None not in row]


def _rank(reply: Mapping[str, Any], row: Sequence[float], condition: Condition) -> tuple[list[Match], float]:
    """Return the matches among what a query found, best first, and the least score of all that it found."""
    only: dict[str, Any] = {name: reply[name][0] for name in ("ids", "documents", "embeddings", "metadatas")}
    found: list[tuple[float, int, Match]] = []
    for id, content, vector, metadata in _list_rows(only, "ids", "documents", "embeddings"):
        document = _decode(id, content, metadata)
        if is_met(condition, document.metadata):
            score = clip_cosine(measure_cosine(row, vector))
            found.append((-score, metadata[_ORDER], Match(document, score, vector)))
    found.sort(key=lambda one: one[:2])
    return [match for _, _, match in found], 1 - max((one or 0.0 for one in reply["distances"][0]), default=0.0)


def _choose_ids(reply: Mapping[str, Any], condition: Condition) -> list[str]:
    rows = _list_rows(reply, "ids")
    chosen = [(metadata[_ORDER], id) for id, metadata in rows if is_met(condition, json.loads(metadata[_METADATA]))]
    return [id for _, id in sorted(chosen)]
