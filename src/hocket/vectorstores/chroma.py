"""A vector store on a Chroma server, under LangChain's name for it, nearly.

Chroma's metadata hold less than JSON does, an update of it keeps old keys, and its conditions mean something else. So the
metadata are kept as JSON in one field, and Chroma's own fields only choose candidates.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from pydantic import SecretStr

from hocket._runtime.mode import ASYNC
from hocket._secrets import redact_url
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.errors.hints import explain_arguments
from hocket.vectorstores.chroma_filters import RESERVED, Where, list_facts, write_where
from hocket.vectorstores.filters import Condition
from hocket.vectorstores.rest_server import RESTServer
from hocket.vectorstores.rows import Row
from hocket.vectorstores.served import Candidates, Collection, ServedDocument, ServedVectorStore

__all__ = ["ChromaVectorStore"]

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_METADATA: Final = f"{RESERVED}metadata"
_ORDER: Final = f"{RESERVED}order"
_HASH: Final = f"{RESERVED}hash"


class ChromaVectorStore(ServedVectorStore):
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
        if not _NAME.fullmatch(collection):
            raise InvalidInput(
                f"collection is {collection!r}; it must consist of 3 to 512 letters, digits, dots, hyphens and underscores, "
                "with a letter or digit at both ends"
            )
        self.collection: str = collection
        owner = f"ChromaVectorStore({redact_url(url)!r}, collection={collection!r})"
        server = RESTServer(
            url,
            f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}",
            headers or {},
            owner,
            read_refusal=lambda said: said["message"],  # {"error": "NotFoundError", "message": ...}
            key_hint="headers={'x-chroma-token': ...}",
        )
        super().__init__(embedding, _ChromaCollection(server, collection), owner)


class _ChromaCollection:
    """A collection of a Chroma server; see `CollectionDriver`."""

    name: str = "Chroma"

    def __init__(self, server: RESTServer, collection: str) -> None:
        self._server = server
        self._collection = collection

    async def open(self) -> Collection:
        return _parse_collection(await self._server.request("GET", f"/collections/{self._collection}"))

    async def make(self, marks: Mapping[str, object], size: int) -> Collection:
        body = {
            "name": self._collection,
            "get_or_create": True,
            "metadata": marks,
            "configuration": {"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200}},
        }
        return _parse_collection(await self._server.request("POST", "/collections", body))

    async def drop(self) -> None:
        await self._server.request("DELETE", f"/collections/{self._collection}")

    async def write(self, collection: Collection, records: Sequence[ServedDocument]) -> None:
        body = await ASYNC.call_sync(_encode, records)
        await self._server.request("POST", f"{collection.path}/upsert", body)

    async def remove(self, collection: Collection, ids: Sequence[str]) -> None:
        await self._server.request("POST", f"{collection.path}/delete", {"ids": ids})

    async def search(self, collection: Collection, row: Row, count: int, condition: Condition | None) -> Candidates:
        body = {
            "query_embeddings": [row.tolist()],
            "include": ["documents", "metadatas", "embeddings", "distances"],
            "n_results": count,
            **_limit(condition),
        }
        reply = await self._server.read(f"{collection.path}/query", body)
        only = {name: reply[name][0] for name in ("ids", "documents", "embeddings", "metadatas")}
        farthest = max((one or 0.0 for one in reply["distances"][0]), default=0.0)
        return Candidates(await ASYNC.call_sync(_list_records, only), len(only["ids"]) < count, 1 - farthest)

    async def read_ids(self, collection: Collection, ids: Sequence[str]) -> list[ServedDocument]:
        return await self._get(collection, {"ids": ids, "include": ["documents", "metadatas"]})

    async def read_hashes(self, collection: Collection, hashes: Sequence[str]) -> list[ServedDocument]:
        where = {_HASH: {"$in": hashes}}
        return await self._get(collection, {"where": where, "include": ["embeddings", "metadatas"]})

    async def read_matching(self, collection: Collection, condition: Condition | None) -> list[ServedDocument]:
        return await self._get(collection, {"include": ["metadatas"], **_limit(condition)})

    async def aclose(self) -> None:
        await self._server.aclose()

    async def _get(self, collection: Collection, body: Mapping[str, object]) -> list[ServedDocument]:
        reply = await self._server.read(f"{collection.path}/get", body)
        return await ASYNC.call_sync(_list_records, reply)


def _parse_collection(reply: Mapping[str, Any]) -> Collection:
    return Collection(f"/collections/{quote(reply['id'], safe='')}", reply["metadata"] or {}, reply["dimension"])


def _limit(condition: Condition | None) -> dict[str, Where]:
    """Return what tells Chroma which documents are candidates."""
    where = None if condition is None else write_where(condition)
    return {} if where is None else {"where": where}


def _encode(records: Sequence[ServedDocument]) -> dict[str, object]:
    """Return the documents as Chroma keeps them."""
    return {
        "ids": [record.id for record in records],
        "documents": [record.content for record in records],
        "metadatas": [
            {
                **list_facts(record.metadata),
                _METADATA: json.dumps(record.metadata, ensure_ascii=False),
                _ORDER: record.order,
                _HASH: record.hash,
            }
            for record in records
        ],
        "embeddings": [list(record.vector) for record in records],
    }


def _list_records(reply: Mapping[str, Any]) -> list[ServedDocument]:
    """Return the documents of a reply.

    Of a document that is deleted while Chroma looks for it, it names the id, and has nothing else left.
    """
    count = len(reply["ids"])
    texts, vectors = reply.get("documents") or [""] * count, reply.get("embeddings") or [()] * count
    rows = zip(reply["ids"], texts, reply["metadatas"], vectors, strict=True)
    return [
        ServedDocument(id, content, json.loads(facts[_METADATA]), facts[_ORDER], facts[_HASH], vector)
        for id, content, facts, vector in rows
        if None not in (content, facts, vector)
    ]
