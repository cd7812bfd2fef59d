"""The store on a Qdrant server, beyond what every store is examined for, and every store on a server."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest
from pydantic_core import from_json

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import VectorStoreError
from hocket.http.clients import ClientSettings
from hocket.http.exchange import send
from hocket.http.request import HTTPRequest, json_request
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import InMemoryVectorStore, QdrantVectorStore
from tests.vectorstores.models import Model, make_documents
from tests.vectorstores.qdrant_server import KEY

WORDS = [
    "the",
    "of",
    "is",
    "in",
    "pump",
    "boiler",
    "valve",
    "water",
    *(f"word{number}" for number in range(400)),
    "May",
    "E4711",
]


class TestQdrant(VectorStoreConformance):
    """The exam of every store, on Qdrant's engine."""

    is_exhaustive = False

    @pytest.fixture(autouse=True)
    def _server(self, qdrant_url: str) -> None:
        self.url = qdrant_url

    def make(self, embedding: Embeddings) -> QdrantVectorStore:
        return QdrantVectorStore(self.url, embedding, collection=f"exam-{uuid4().hex}")


@pytest.fixture
def make(qdrant_url: str) -> Callable[..., QdrantVectorStore]:
    """What opens a collection of the test's own."""
    return partial(QdrantVectorStore, qdrant_url, Model(), collection=f"test-{uuid4().hex}")


async def _ask(url: str, body: Any = None, method: str = "PUT") -> Any:
    if body is None:
        return from_json((await send(HTTPRequest("GET", url, {}), ClientSettings())).content)["result"]
    request = json_request(url, body)
    return await send(HTTPRequest(method, url, request.headers, request.content), ClientSettings())


async def test_a_server_may_want_a_key(qdrant_url: str) -> None:
    """Without it, it refuses, and the error says where it is given; with it, it serves."""
    name = f"locked-{uuid4().hex}"
    with pytest.raises(VectorStoreError, match=r"says 401: Must provide an API key.*is there a key in api_key\?"):
        await QdrantVectorStore(qdrant_url, Model(), collection=name).alist_ids()
    store = QdrantVectorStore(qdrant_url, Model(), collection=name, api_key=KEY)
    await store.aadd_documents(make_documents(2))
    assert await store.alist_ids() == ["0", "1"]
    assert KEY not in repr(store) + repr(vars(store))


async def test_a_collection_of_somebody_else_is_left_alone(qdrant_url: str) -> None:
    """What another program keeps there cannot be read, and is not written to."""
    name = f"test-{uuid4().hex}"
    await _ask(f"{qdrant_url}/collections/{name}", {"vectors": {"size": 8, "distance": "Cosine"}})
    store = QdrantVectorStore(qdrant_url, Model(), collection=name)
    for asked in (
        lambda: store.aadd_documents(make_documents(1)),
        lambda: store.aadd_vectors(make_documents(1), [[1.0] * 8]),
        lambda: store.asimilarity_search("text"),
    ):
        with pytest.raises(VectorStoreError, match="hocket has not made this collection"):
            await asked()
    assert (await _ask(f"{qdrant_url}/collections/{name}"))["payload_schema"] == {}


async def test_ids_are_uuids_there(qdrant_url: str, make: Callable[..., QdrantVectorStore]) -> None:
    """Made of the document's own, which is beside its text, so that the next one with that id takes its place."""
    store = make()
    for text in ("old", "new"):
        await store.aadd_documents([Document(text, id="a/b", metadata={"n": 1})])
    listed = await _ask(f"{qdrant_url}/collections/{store.collection}/points/scroll", {"with_payload": True}, "POST")
    (point,) = from_json(listed.content)["result"]["points"]
    assert UUID(point["id"]).version == 5
    assert (point["payload"]["id"], point["payload"]["page_content"]) == ("a/b", "new")


async def test_what_is_looked_for_has_an_index(qdrant_url: str, make: Callable[..., QdrantVectorStore]) -> None:
    """Also where whoever made the collection died before there was one; many who make it at once make it once."""
    store = make()
    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(store.aadd_documents, make_documents(1, start=number))
    assert sorted(await store.alist_ids()) == [str(number) for number in range(8)]
    indexes = {"facts", "hash", "numbers[].key", "numbers[].value"}
    url = f"{qdrant_url}/collections/{store.collection}"
    assert set((await _ask(url))["payload_schema"]) == indexes
    unfinished = make(collection=f"test-{uuid4().hex}")
    config = (await _ask(url))["config"]
    url = f"{qdrant_url}/collections/{unfinished.collection}"
    await _ask(url, {**config["params"], "metadata": config["metadata"]})
    await unfinished.aadd_documents(make_documents(1))
    assert set((await _ask(url))["payload_schema"]) == indexes


async def test_words_rank_as_they_do_in_memory(make: Callable[..., QdrantVectorStore]) -> None:
    """Nearly, for Qdrant knows no mean length: of two hundred documents the best ten are the same, but for a few."""
    stores = [make(), InMemoryVectorStore(Model())]
    chance = random.Random(3)
    rarity = [1 / (place + 1) for place in range(len(WORDS))]
    texts = [" ".join(chance.choices(WORDS, rarity, k=chance.randint(60, 200))) for _ in range(200)]
    documents = [Document(f"{text} n{number}", id=str(number)) for number, text in enumerate(texts)]
    for store in stores:
        await store.aadd_documents(documents)
    same = total = 0
    for query in ("E4711 of the word40", "word77 valve", "in May", "n17 water", "word90 word5 boiler"):
        found, expected = [{one.document.id for one in await store.asearch_words(query, 10)} for store in stores]
        same, total = same + len(found & expected), total + len(expected)
    assert same / total >= 0.8


async def test_an_exact_search_is_asked_for(make: Callable[..., QdrantVectorStore]) -> None:
    """And finds what an exact store finds."""
    model = Model()
    exact, memory = make(exact=True), InMemoryVectorStore(model)
    for store in (exact, memory):
        await store.aadd_documents(make_documents(500))
    found, expected = [await store.asimilarity_search("text 7", k=20) for store in (exact, memory)]
    assert [one.id for one in found] == [one.id for one in expected]
