"""What the stores on servers promise alike, beyond what every store is examined for."""

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import EmbeddingMismatch, InvalidInput, VectorStoreError, VectorStoreUnavailable
from hocket.testing import Body, Hangup, OpenAIFormat, serve
from hocket.vectorstores import (
    ChromaVectorStore,
    InMemoryVectorStore,
    QdrantVectorStore,
    VectorStore,
    open_vector_store,
)
from hocket.vectorstores.filters import is_met, parse_filter
from tests.kit.amount import limit_examples
from tests.vectorstores.filter_strategies import FACTS, FILTERS
from tests.vectorstores.models import Model, make_documents

KEY = "canary-41f7"
CHROMA: dict[str, Any] = {"id": "1", "metadata": {"hocket_model": "Model:first:8", "hocket_format": 1}, "dimension": 8}
QDRANT: dict[str, Any] = {
    "result": {
        "config": {"params": {"vectors": {"meaning": {"size": 8}}}, "metadata": CHROMA["metadata"]},
        "payload_schema": {},
    }
}
FOUND = {"id": "a", "page_content": "x", "metadata": "{}", "order": 1, "hash": "00"}
MAKERS: dict[str, Callable[..., VectorStore]] = {
    "chroma": lambda url, model, key=KEY, **others: ChromaVectorStore(
        url, model, headers={"x-chroma-token": key}, **others
    ),
    "qdrant": lambda url, model, key=KEY, **others: QdrantVectorStore(url, model, api_key=key, **others),
}
Opener: TypeAlias = Callable[[Embeddings], VectorStore]


@pytest.fixture(params=MAKERS)
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of store."""
    return str(request.param)


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest) -> str:
    """The address of a collection of the test's own, on a server."""
    return f"{kind}+{request.getfixturevalue(f'{kind}_url')}/test-{uuid4().hex}"


@pytest.fixture
def opened(address: str) -> Iterator[Opener]:
    """What opens that collection, which is deleted afterwards."""
    yield lambda model: open_vector_store(address, model)
    open_vector_store(address, Model()).delete()


async def test_another_model_is_refused(opened: Opener) -> None:
    """Both are named, nothing is embedded, and nothing changes; to delete everything helps."""
    first = opened(Model())
    await first.aadd_documents(make_documents(3))
    model = Model("second", 4)
    second = opened(model)
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
    await second.adelete()


def test_filters_mean_what_they_mean_in_memory(opened: Opener) -> None:
    """Whatever they are, and whatever the metadata, also of documents that had others before: Chroma keeps old keys."""
    store = opened(Model())
    chance = random.Random(5)
    for facts in (chance.sample(FACTS, len(FACTS)), FACTS):
        store.add_documents([Document("text", id=str(number), metadata=one) for number, one in enumerate(facts)])

    @given(FILTERS)
    @settings(max_examples=limit_examples(200), suppress_health_check=list(HealthCheck), deadline=None)
    def check(filter: dict[str, Any]) -> None:
        condition = parse_filter(filter)
        expected = [str(number) for number, one in enumerate(FACTS) if is_met(condition, one)]
        for k in (3, 99):
            found = store.similarity_search_by_vector([1.0] * 8, k=k, filter=filter)
            assert [one.id for one in found] == expected[:k]

    check()


async def test_the_nearest_are_found_among_many(opened: Opener) -> None:
    """Of 3,000, with filters that a server can and cannot tell candidates by, nearly all that an exact store finds."""
    model = Model()
    stores = [opened(model), InMemoryVectorStore(model)]
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
    assert len(await stores[0].alist_ids({"n": {"$gte": 500}})) == 2500


async def test_equal_ones_beyond_what_was_asked_for_come_in_order(opened: Opener) -> None:
    """A hundred and fifty documents are as near, of which a server would name any three."""
    store = opened(Model())
    for start in range(0, 150, 50):
        documents = [Document(f"text {n}", id=str(n)) for n in range(start, start + 50)]
        await store.aadd_vectors(documents, [[0.1, 0.2, 0.3]] * 50)
    assert [one.id for one in await store.asimilarity_search_by_vector([3.0, 1.0, 2.0], k=3)] == ["0", "1", "2"]


async def test_a_store_that_is_not_there_is_empty(opened: Opener) -> None:
    """To look into it makes nothing."""
    store = opened(Model())
    for _ in range(2):
        assert await store.asimilarity_search("text") == []
        assert await store.aget_by_ids(["1"]) == []
        assert await store.alist_ids() == []
        await store.adelete(["1"])
    await store.adelete()
    await opened(Model("second")).aadd_documents(make_documents(1))
    await opened(Model("second")).adelete()


# -- what goes wrong


async def test_a_server_that_is_away_is_unavailable(kind: str) -> None:
    """The error shows no password, and no key."""
    store = MAKERS[kind](f"http://me:{KEY}@127.0.0.1:1", Model())
    with pytest.raises(VectorStoreUnavailable) as failure:
        await store.asimilarity_search("text")
    assert KEY not in f"{failure.value} {store!r}"


@pytest.mark.parametrize("status", [400, 401, 403, 413, 429, 500, 503])
async def test_a_refusal_says_what_the_server_says(kind: str, status: int) -> None:
    """But not the key, which the server may repeat; busy and broken servers are unavailable. The way out is said."""
    said: dict[str, Any] = {"error": "SomeError", "message": f"not with {KEY}", "status": {"error": f"not with {KEY}"}}
    async with serve(OpenAIFormat(), Body(said, status=status)) as server:
        store = MAKERS[kind](server.origin, Model())
        with pytest.raises(VectorStoreError, match=f"says {status}: not with") as failure:
            await store.alist_ids()
    assert KEY not in str(failure.value)
    assert isinstance(failure.value, VectorStoreUnavailable) is (status in (429, 500, 503))
    hints = {401: r"is there a key in (api_key|headers=.*)\?", 403: "is there a key in", 413: "add fewer documents"}
    assert failure.match(hints.get(status, ""))


async def test_another_server_is_no_empty_store(kind: str) -> None:
    """One that knows nothing of collections says 404, too: the error is not hidden as a store without documents."""
    async with serve(OpenAIFormat(), Body("<h1>Not found</h1>", status=404)) as server:
        with pytest.raises(VectorStoreError, match="says 404"):
            await MAKERS[kind](server.origin, Model()).alist_ids()


async def test_a_server_that_does_not_answer_is_given_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a minute, or when it hangs up."""
    monkeypatch.setattr("hocket.vectorstores.rest_server.PATIENCE", 0.1)
    for behaviour, said in ((Hangup(delay=30), r"no answer within 0\.1 s"), (Hangup(), "closed the connection")):
        async with serve(OpenAIFormat(), behaviour) as server:
            with pytest.raises(VectorStoreUnavailable, match=said):
                await MAKERS[kind](server.origin, Model()).alist_ids()


NONSENSE = "[" * 99_999
ODD: list[tuple[str, list[Any]]] = [
    ("chroma", [{}]),
    ("chroma", [[]]),
    ("chroma", [{**CHROMA, "id": 3}]),
    ("chroma", [{**CHROMA, "metadata": "text"}]),
    ("chroma", [{**CHROMA, "dimension": "8"}]),
    ("chroma", [CHROMA, {}]),
    ("chroma", [CHROMA, {"ids": [], "distances": []}]),
    (
        "chroma",
        [
            CHROMA,
            {"ids": [["a"]], "documents": [["x"]], "embeddings": [[["y"]]], "metadatas": [[{}]], "distances": [[1]]},
        ],
    ),
    (
        "chroma",
        [
            CHROMA,
            {
                "ids": [["a"]],
                "documents": [[5]],
                "embeddings": [[[1.0] * 8]],
                "metadatas": [[{"hocket_metadata": NONSENSE, "hocket_order": 1, "hocket_hash": "00"}]],
                "distances": [[1]],
            },
        ],
    ),
    ("qdrant", [{}]),
    ("qdrant", [[]]),
    ("qdrant", [{"result": None}]),
    ("qdrant", [{"result": {"config": {"params": {}}}}]),
    ("qdrant", [QDRANT, {}]),
    ("qdrant", [QDRANT, {"result": {"points": [{"id": 1}]}}]),
    ("qdrant", [QDRANT, {"result": {"points": [{"payload": FOUND, "vector": [1.0], "score": 1}]}}]),
    ("qdrant", [QDRANT, {"result": {"points": [{"payload": FOUND, "vector": {"meaning": ["y"]}, "score": 1}]}}]),
    ("qdrant", [QDRANT, {"result": {"points": [{"payload": {**FOUND, "metadata": NONSENSE}, "score": 1}]}}]),
]


@pytest.mark.parametrize(("kind", "replies"), ODD, ids=range(len(ODD)))
async def test_an_odd_reply_is_an_error_of_ours(kind: str, replies: list[Any]) -> None:
    """Whatever listens there."""
    async with serve(OpenAIFormat(), [Body(reply) for reply in replies]) as server:
        with pytest.raises(VectorStoreError):
            await MAKERS[kind](server.origin, Model()).asimilarity_search("text")


async def test_a_reply_without_end_is_cut_off(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends it does not fill the memory."""
    monkeypatch.setattr("hocket.vectorstores.rest_server.MAX_REPLY", 1_000)
    async with serve(OpenAIFormat(), [Body({"filling": "x" * 2_000})]) as server:
        with pytest.raises(VectorStoreError, match=r"1,?000"):
            await MAKERS[kind](server.origin, Model()).alist_ids()


@pytest.mark.parametrize("collection", ["", "a b c", "-abc", "a/../b", "x" * 513])
def test_a_collection_has_a_plain_name(kind: str, collection: str) -> None:
    """What the server would refuse, or take for a path, is refused here."""
    with pytest.raises(InvalidInput, match="letters, digits, dots, hyphens and underscores"):
        MAKERS[kind]("http://127.0.0.1:8000", Model(), collection=collection)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://there"])
def test_a_url_is_one_of_http(kind: str, url: str) -> None:
    """Anything else is refused before it is used."""
    with pytest.raises(InvalidInput, match="http"):
        MAKERS[kind](url, Model())
