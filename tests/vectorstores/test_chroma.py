"""The store on a Chroma server, beyond what every store is examined for, and every store on a server."""

from typing import Any
from uuid import uuid4

import pytest
from pydantic_core import from_json

from hocket.embeddings import Embeddings
from hocket.errors import VectorStoreError, VectorStoreUnavailable
from hocket.http.clients import ClientSettings
from hocket.http.exchange import send
from hocket.http.request import HTTPRequest, json_request
from hocket.testing import Body, OpenAIFormat, VectorStoreConformance, serve
from hocket.vectorstores import ChromaVectorStore
from tests.vectorstores.models import Model, make_documents

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


class TestChroma(VectorStoreConformance):
    """The exam of every store, on a real server."""

    has_words = False
    is_exhaustive = False

    @pytest.fixture(autouse=True)
    def _server(self, chroma_url: str) -> None:
        self.url = chroma_url

    def make(self, embedding: Embeddings) -> ChromaVectorStore:
        return ChromaVectorStore(self.url, embedding, collection=f"exam-{uuid4().hex}")


async def test_a_collection_of_somebody_else_is_left_alone(chroma_url: str) -> None:
    """What another program keeps there cannot be read, and is not written to."""
    name, settings = f"test-{uuid4().hex}", ClientSettings()
    await send(json_request(f"{chroma_url}{COLLECTIONS}", {"name": name}), settings)
    store = ChromaVectorStore(chroma_url, Model(), collection=name)
    for asked in (lambda: store.aadd_documents(make_documents(1)), lambda: store.asimilarity_search("text")):
        with pytest.raises(VectorStoreError, match="hocket has not made this collection"):
            await asked()
    found = await send(HTTPRequest("GET", f"{chroma_url}{COLLECTIONS}/{name}", {}), settings)
    assert from_json(found.content)["dimension"] is None


async def test_a_server_that_stumbles_over_a_deleted_document_is_asked_again() -> None:
    """It fails, or names an id that has nothing else left; what is written is sent once."""
    own: dict[str, Any] = {"hocket_model": "Model:first:8", "hocket_format": 1}
    collection = Body({"id": "1", "metadata": own, "dimension": 8})
    facts = {"hocket_metadata": '{"n": 1}', "hocket_order": 1, "hocket_hash": "00"}
    found = {"ids": ["gone", "there"], "metadatas": [None, facts]}
    failure = Body({"error": "InternalError", "message": "Error finding id"}, status=500)
    async with serve(OpenAIFormat(), [collection, failure, Body(found), collection, failure]) as server:
        store = ChromaVectorStore(server.origin, Model())
        assert await store.alist_ids() == ["there"]
        with pytest.raises(VectorStoreUnavailable, match="Error finding id"):
            await store.aadd_vectors(make_documents(1), [[1.0] * 8])
        assert len(server.requests) == 5
