"""The store on a Chroma server, beyond what every store is examined for."""

import random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic_core import from_json

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import EmbeddingMismatch, InvalidInput, VectorStoreError, VectorStoreUnavailable
from hocket.http.clients import ClientSettings
from hocket.http.exchange import send
from hocket.http.request import HTTPRequest, json_request
from hocket.testing import Body, OpenAIFormat, VectorStoreConformance, serve
from hocket.vectorstores import ChromaVectorStore, InMemoryVectorStore, VectorStore, open_vector_store
from hocket.vectorstores.filters import is_met, parse_filter
from tests.kit.amount import limit_examples
from tests.vectorstores.filter_strategies import FACTS, FILTERS
from tests.vectorstores.models import Model, make_documents

KEY = "canary-41f7"
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


@pytest.fixture
def name() -> str:
    """A collection of the test's own."""
    return f"test-{uuid4().hex}"


async def test_an_address_opens_it(chroma_url: str, name: str) -> None:
    """What one keeps the next one finds."""
    address = f"chroma+{chroma_url}/{name}"
    await open_vector_store(address, Model()).aadd_documents(make_documents(3))
    async with open_vector_store(address, Model()) as store:
        assert [one.id for one in await store.asimilarity_search("text 1", k=1)] == ["1"]


async def test_another_model_is_refused(chroma_url: str, name: str) -> None:
    """Both are named, nothing is embedded, and nothing changes; to delete everything helps."""
    first = ChromaVectorStore(chroma_url, Model(), collection=name)
    await first.aadd_documents(make_documents(3))
    model = Model("second", 4)
    second = ChromaVectorStore(chroma_url, model, collection=name)
    for asked in (
        lambda: second.aadd_documents(make_documents(1, start=9)),
        lambda: second.asimilarity_search("text"),
        lambda: second.aget_by_ids(["1"]),
        lambda: second.alist_ids(),
    ):
        with pytest.raises(EmbeddingMismatch, match=r"'Model:first:8'.*'Model:second:4'"):
            await asked()
    assert "text 9" not in model.embedded
    with pytest.raises(EmbeddingMismatch, match="8 numbers"):
        await first.asimilarity_search_by_vector([1.0, 2.0])
    assert await first.alist_ids() == ["0", "1", "2"]
    await second.adelete()
    await second.aadd_documents(make_documents(2))
    assert await second.alist_ids() == ["0", "1"]
    with pytest.raises(EmbeddingMismatch):
        await first.asimilarity_search("text")


async def test_a_collection_of_somebody_else_is_left_alone(chroma_url: str, name: str) -> None:
    """What another program keeps there cannot be read, and is not written to."""
    settings = ClientSettings()
    await send(json_request(f"{chroma_url}{COLLECTIONS}", {"name": name}), settings)
    store = ChromaVectorStore(chroma_url, Model(), collection=name)
    for asked in (lambda: store.aadd_documents(make_documents(1)), lambda: store.asimilarity_search("text")):
        with pytest.raises(VectorStoreError, match="hocket has not made this collection"):
            await asked()
    found = await send(HTTPRequest("GET", f"{chroma_url}{COLLECTIONS}/{name}", {}), settings)
    assert from_json(found.content)["dimension"] is None


def test_filters_mean_what_they_mean_in_memory(chroma_url: str, name: str) -> None:
    """Whatever they are, and whatever the metadata, also of documents that had others before: Chroma keeps old keys."""
    store = ChromaVectorStore(chroma_url, Model(), collection=name)
    chance = random.Random(5)
    for facts in (chance.sample(FACTS, len(FACTS)), FACTS):
        store.add_documents([Document("text", id=str(number), metadata=one) for number, one in enumerate(facts)])

    @given(FILTERS)
    @settings(max_examples=limit_examples(200), suppress_health_check=list(HealthCheck))
    def check(filter: dict[str, Any]) -> None:
        condition = parse_filter(filter)
        expected = [str(number) for number, one in enumerate(FACTS) if is_met(condition, one)]
        for k in (3, 99):
            found = store.similarity_search_by_vector([1.0] * 8, k=k, filter=filter)
            assert [one.id for one in found] == expected[:k]

    check()


async def test_the_nearest_are_found_among_many(chroma_url: str, name: str) -> None:
    """Of 3,000, with filters that Chroma can and cannot tell candidates by, nearly all that an exact store finds."""
    model = Model()
    stores: list[VectorStore] = [ChromaVectorStore(chroma_url, model, collection=name), InMemoryVectorStore(model)]
    for store in stores:
        await store.aadd_documents(make_documents(3000))
    right = total = 0
    for question in ("text 5", "text 2702", "elsewhere", "nowhere"):
        for filter in (None, {"n": {"$lt": 40}}, {"n": {"$not": {"$gt": 40}}}, {"n": {"$in": [1, 2000]}}):
            found, expected = [await store.asimilarity_search(question, k=10, filter=filter) for store in stores]
            assert len(found) == len(expected)
            right += len({one.id for one in found} & {one.id for one in expected})
            total += len(expected)
    assert right / total >= 0.97


async def test_equal_ones_beyond_what_was_asked_for_come_in_order(chroma_url: str, name: str) -> None:
    """A hundred and fifty documents are as near, of which Chroma would name any three."""
    store = ChromaVectorStore(chroma_url, Model(), collection=name)
    for start in range(0, 150, 50):
        documents = [Document(f"text {n}", id=str(n)) for n in range(start, start + 50)]
        await store.aadd_vectors(documents, [[0.1, 0.2, 0.3]] * 50)
    assert [one.id for one in await store.asimilarity_search_by_vector([3.0, 1.0, 2.0], k=3)] == ["0", "1", "2"]


async def test_a_store_that_is_not_there_is_empty(chroma_url: str, name: str) -> None:
    """To look into it makes nothing."""
    store = ChromaVectorStore(chroma_url, Model(), collection=name)
    assert await store.asimilarity_search("text") == []
    assert await store.aget_by_ids(["1"]) == []
    assert await store.alist_ids() == []
    await store.adelete(["1"])
    await store.adelete()
    reply = await send(HTTPRequest("GET", f"{chroma_url}{COLLECTIONS}/{name}", {}), ClientSettings())
    assert reply.status == 404


# -- what goes wrong


async def test_a_server_that_is_away_is_unavailable() -> None:
    """The error shows no password."""
    store = ChromaVectorStore(f"http://me:{KEY}@127.0.0.1:1", Model())
    with pytest.raises(VectorStoreUnavailable) as failure:
        await store.asimilarity_search("text")
    assert KEY not in f"{failure.value} {store!r}"


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_a_refusal_says_what_the_server_says(status: int) -> None:
    """But not the key, which the server may repeat; busy and broken servers are unavailable."""
    said = {"error": "SomeError", "message": f"not with {KEY}"}
    async with serve(OpenAIFormat(), Body(said, status=status)) as server:
        store = ChromaVectorStore(server.origin, Model(), headers={"X-Chroma-Token": KEY})
        with pytest.raises(VectorStoreError, match=f"says {status}: not with") as failure:
            await store.alist_ids()
    assert KEY not in str(failure.value)
    assert isinstance(failure.value, VectorStoreUnavailable) is (status != 401)


OWN: dict[str, Any] = {"hocket_model": "Model:first:8", "hocket_format": 1}
COLLECTION: dict[str, Any] = {"id": "1", "metadata": OWN, "dimension": 8}


@pytest.mark.parametrize(
    "replies",
    [
        [{}],
        [[]],
        [{"id": 3, "metadata": OWN, "dimension": 8}],
        [{**COLLECTION, "metadata": "text"}],
        [{**COLLECTION, "dimension": "8"}],
        [COLLECTION, {}],
        [COLLECTION, {"ids": [], "distances": []}],
        [COLLECTION, {"ids": [["a"]], "documents": [["x"]], "embeddings": [[["y"]]], "metadatas": [[{}]]}],
        [
            COLLECTION,
            {
                "ids": [["a"]],
                "documents": [[5]],
                "embeddings": [[[1.0] * 8]],
                "metadatas": [[{"hocket_metadata": "[" * 99_999}]],
            },
        ],
    ],
    ids=range(9),
)
async def test_an_odd_reply_is_an_error_of_ours(replies: list[Any]) -> None:
    """Whatever listens there."""
    async with serve(OpenAIFormat(), [Body(reply) for reply in replies]) as server:
        with pytest.raises(VectorStoreError):
            await ChromaVectorStore(server.origin, Model()).asimilarity_search("text")


async def test_a_reply_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket.vectorstores.chroma_server.MAX_REPLY", 1_000)
    async with serve(OpenAIFormat(), [Body(COLLECTION), Body({"ids": ["x" * 2_000]})]) as server:
        with pytest.raises(VectorStoreError, match=r"1,?000"):
            await ChromaVectorStore(server.origin, Model()).alist_ids()


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


@pytest.mark.parametrize("collection", ["", "a", "ab", "a b c", "-abc", "a/../b", "x" * 513])
def test_a_collection_has_a_plain_name(collection: str) -> None:
    """What the server would refuse, or take for a path, is refused here."""
    with pytest.raises(InvalidInput, match="3 to 512 letters"):
        ChromaVectorStore("http://127.0.0.1:8000", Model(), collection=collection)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://there"])
def test_a_url_is_one_of_http(url: str) -> None:
    """Anything else is refused before it is used."""
    with pytest.raises(InvalidInput, match="http"):
        ChromaVectorStore(url, Model())
