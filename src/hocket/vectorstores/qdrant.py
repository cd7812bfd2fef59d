"""A vector store on a Qdrant server.

Qdrant's ids are numbers and UUIDs, and its own fields do not hold all that JSON does. So a point has a UUID that is made of
the document's id, and the metadata are JSON in one field; beside them are the facts that filters go by
(`hocket.vectorstores.qdrant_filters`). A second, sparse vector has the words: how often each is there, weighed as BM25 does;
how rare a word is, Qdrant counts itself.
"""

import json
import math
import re
import uuid
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from pydantic import SecretStr

from hocket._runtime.mode import ASYNC
from hocket._secrets import redact_url
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.errors.hints import explain_arguments
from hocket.vectorstores.filters import Condition, Filter
from hocket.vectorstores.qdrant_filters import FACTS, NUMBERS, list_numbers, write_clause, write_facts
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rest_server import AlreadyThere, NotThere, RESTServer
from hocket.vectorstores.rows import Row
from hocket.vectorstores.served import Candidates, Collection, ServedDocument, ServedVectorStore
from hocket.vectorstores.words import split_query, split_words

__all__ = ["QdrantVectorStore"]

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}")
_IDS: Final = uuid.UUID("6f4f1a5e-6d0c-5b58-9f0e-5a7d1c9be6a1")
"""The name space of the UUIDs that are made of documents' ids."""

_MEANING: Final = "meaning"
_WORDS: Final = "words"
_INDEXES: Final = {FACTS: "keyword", "hash": "keyword", f"{NUMBERS}[].key": "keyword", f"{NUMBERS}[].value": "float"}
"""What is looked for; a server in its strict mode refuses to look for anything else."""

_PAGE: Final = 1_000
"""Documents that a list is read by."""

_K1, _B = 1.2, 0.75
_USUAL_LENGTH: Final = 150
"""Words of a document of usual length: those of a passage of some 900 characters. BM25 asks for the mean of all documents,
which nobody knows when the first one is written."""


class QdrantVectorStore(ServedVectorStore):
    """Keeps documents in a collection of a Qdrant server (1.16 or newer), which the first document makes.

    Searches go by Qdrant's index (HNSW), or exactly. A batch is one request; who reads meanwhile may see a part of it. "The
    order in which documents were added" is that of the clocks of those that add them.

    Args:
        url: of the server: ``http://localhost:6333``.
        embedding: the model whose vectors it holds.
        collection: its name, at most 255 letters, digits, dots, hyphens and underscores. It has to be hocket's own.
        api_key: of the server, if it wants one.
        exact: whether searches compare with every vector.

    Raises, from every verb:
        VectorStoreUnavailable: the server is away or busy, or takes more than a minute.
        VectorStoreError: it refuses, or somebody else has made the collection.
        EmbeddingMismatch: the collection is of another model: take another one, or delete it.
    """

    @explain_arguments(client="url", host="url", collection_name="collection", embeddings="embedding")
    def __init__(
        self,
        url: str,
        embedding: Embeddings,
        *,
        collection: str = "hocket_documents",
        api_key: str | SecretStr | None = None,
        exact: bool = False,
    ) -> None:
        if not _NAME.fullmatch(collection):
            raise InvalidInput(
                f"collection is {collection!r}; it must consist of at most 255 letters, digits, dots, hyphens and "
                "underscores, and begin with a letter or digit"
            )
        self.collection: str = collection
        owner = f"QdrantVectorStore({redact_url(url)!r}, collection={collection!r})"
        server = RESTServer(
            url,
            "",
            {} if api_key is None else {"api-key": api_key},
            owner,
            read_refusal=lambda said: said["status"]["error"],
            key_hint="api_key",
        )
        self._collection = _QdrantCollection(server, collection, exact)
        super().__init__(embedding, self._collection, owner)

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the documents that have words of ``query``, best first by BM25."""
        words = split_query(query)

        async def ask(collection: Collection, count: int, condition: Condition | None) -> Candidates:
            return await self._collection.search_words(collection, words, count, condition)

        return await self._find_best(ask, lambda record: record.score, k, filter) if words else []


class _QdrantCollection:
    """A collection of a Qdrant server; see `CollectionDriver`."""

    name: str = "Qdrant"

    def __init__(self, server: RESTServer, collection: str, is_exact: bool) -> None:
        self._server = server
        self._path = f"/collections/{quote(collection, safe='')}"
        self._params = {"params": {"exact": True}} if is_exact else {}

    async def open(self) -> Collection:
        return self._parse(await self._read_collection())

    async def make(self, marks: Mapping[str, object], size: int) -> Collection:
        body = {
            "vectors": {_MEANING: {"size": size, "distance": "Dot"}},  # all have length 1: this is the cosine
            "sparse_vectors": {_WORDS: {"modifier": "idf"}},
            "metadata": marks,
        }
        try:
            found = await self._read_collection()
        except NotThere:
            with suppress(AlreadyThere):  # another one has made it meanwhile
                await self._server.request("PUT", self._path, body)
            found = await self._read_collection()
        collection = self._parse(found)
        for field, kind in _INDEXES.items() if collection.marks == marks else ():
            if field not in found["payload_schema"]:
                asked = {"field_name": field, "field_schema": kind}
                await self._server.request("PUT", f"{self._path}/index?wait=true", asked)
        return collection

    async def drop(self) -> None:
        await self._server.request("DELETE", self._path)

    async def write(self, collection: Collection, records: Sequence[ServedDocument]) -> None:
        points = await ASYNC.call_sync(lambda: [_encode(record) for record in records])
        await self._server.request("PUT", f"{self._path}/points?wait=true", {"points": points})

    async def remove(self, collection: Collection, ids: Sequence[str]) -> None:
        body = {"points": [_make_point_id(one) for one in ids]}
        await self._server.request("POST", f"{self._path}/points/delete?wait=true", body)

    async def search(self, collection: Collection, row: Row, count: int, condition: Condition | None) -> Candidates:
        records = await self._query({"query": row.tolist(), "using": _MEANING, **self._params}, count, condition)
        return Candidates(records, len(records) < count, min((one.score for one in records), default=0.0))

    async def search_words(
        self, collection: Collection, words: Sequence[str], count: int, condition: Condition | None
    ) -> Candidates:
        """Return the documents that have some of the words. Many may be as good, and are not looked for."""
        numbers = sorted(set(map(_number_word, words)))
        query = {"indices": numbers, "values": [1.0] * len(numbers)}
        records = await self._query({"query": query, "using": _WORDS}, count, condition)
        return Candidates(records, len(records) < count, -math.inf)

    async def read_ids(self, collection: Collection, ids: Sequence[str]) -> list[ServedDocument]:
        body = {"ids": [_make_point_id(one) for one in ids], "with_payload": True}
        reply = await self._server.read(f"{self._path}/points", body)
        return await ASYNC.call_sync(_list_records, reply["result"])

    async def read_hashes(self, collection: Collection, hashes: Sequence[str]) -> list[ServedDocument]:
        wanted = {"must": [{"key": "hash", "match": {"any": hashes}}]}
        return await self._scroll({"filter": wanted, "with_vector": [_MEANING]})

    async def read_matching(self, collection: Collection, condition: Condition | None) -> list[ServedDocument]:
        return await self._scroll(_limit(condition))

    async def aclose(self) -> None:
        await self._server.aclose()

    async def _read_collection(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (await self._server.request("GET", self._path))["result"]
        return found

    def _parse(self, found: Mapping[str, Any]) -> Collection:
        marks: Mapping[str, object] = found["config"].get("metadata") or {}
        vectors: Mapping[str, Any] = found["config"]["params"]["vectors"]
        return Collection(self._path, marks, vectors[_MEANING]["size"] if _MEANING in vectors else None)

    async def _query(
        self, asked: Mapping[str, object], count: int, condition: Condition | None
    ) -> list[ServedDocument]:
        body = {**asked, **_limit(condition), "limit": count, "with_payload": True, "with_vector": [_MEANING]}
        reply = await self._server.read(f"{self._path}/points/query", body)
        return await ASYNC.call_sync(_list_records, reply["result"]["points"])

    async def _scroll(self, asked: Mapping[str, object]) -> list[ServedDocument]:
        """Return all documents of a list, without their texts."""
        found: list[ServedDocument] = []
        start: dict[str, object] = {}
        while True:
            body = {**asked, **start, "limit": _PAGE, "with_payload": {"exclude": ["page_content", FACTS, NUMBERS]}}
            result = (await self._server.read(f"{self._path}/points/scroll", body))["result"]
            found += await ASYNC.call_sync(_list_records, result["points"])
            if result["next_page_offset"] is None:
                return found
            start = {"offset": result["next_page_offset"]}


def _make_point_id(id: str) -> str:
    return str(uuid.uuid5(_IDS, id))


def _number_word(word: str) -> int:
    """Return the place of a word in the vectors of words."""
    return zlib.crc32(word.encode())


def _limit(condition: Condition | None) -> dict[str, object]:
    """Return what tells Qdrant which documents are candidates."""
    return {} if condition is None else {"filter": {"must": [write_clause(condition)]}}


def _encode(record: ServedDocument) -> dict[str, object]:
    """Return a document as Qdrant keeps it."""
    return {
        "id": _make_point_id(record.id),
        "vector": {_MEANING: list(record.vector), **_weigh_words(record.content)},
        "payload": {
            "id": record.id,
            "page_content": record.content,
            "metadata": json.dumps(record.metadata, ensure_ascii=False),
            "order": record.order,
            "hash": record.hash,
            FACTS: write_facts(record.metadata),
            NUMBERS: list_numbers(record.metadata),
        },
    }


def _weigh_words(text: str) -> dict[str, object]:
    """Return the vector of a text's words; there is none of a text without any."""
    counts = Counter(map(_number_word, split_words(text)))
    length = _K1 * (1 - _B + _B * counts.total() / _USUAL_LENGTH)
    weights = [count * (_K1 + 1) / (count + length) for count in counts.values()]
    return {_WORDS: {"indices": list(counts), "values": weights}} if counts else {}


def _list_records(points: Sequence[Mapping[str, Any]]) -> list[ServedDocument]:
    return [
        ServedDocument(
            facts["id"],
            facts.get("page_content", ""),
            json.loads(facts["metadata"]),
            facts["order"],
            facts["hash"],
            point["vector"][_MEANING] if point.get("vector") else (),
            point.get("score", 0.0),
        )
        for point in points
        for facts in (point["payload"],)
    ]
