"""`OpenAIEmbeddings`: batches, order, what travels, and what is refused."""

import base64
import math
import struct
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists
from pydantic_core import to_json

from hocket.errors import (
    InvalidInput,
    InvalidReply,
    LLMError,
    QuotaExceeded,
    RateLimitError,
    TotalTimeout,
)
from hocket.http.request import HTTPReply
from hocket.providers.openai.embeddings import OpenAIEmbeddings
from hocket.remote.vectors import decode_vectors
from hocket.testing import Body, OpenAIFormat, ReceivedRequest, Status, Vectors, serve

TEXTS = [f"text {number}" for number in range(10)]


def embeddings(server: Any, **options: Any) -> OpenAIEmbeddings:
    """Return a model of the scripted server's."""
    return OpenAIEmbeddings(base_url=server.url, api_key="sk-test", **options)


# -- one request


async def test_a_request_holds_the_texts() -> None:
    """Base64 is asked for, and what is unset is not sent."""
    async with serve(OpenAIFormat(), Vectors()) as server:
        await embeddings(server).aembed_documents(["one", "two"])

    (request,) = server.requests
    assert (request.method, request.path, request.headers["authorization"]) == (
        "POST",
        "/v1/embeddings",
        "Bearer sk-test",
    )
    assert request.json == {"model": "text-embedding-3-small", "input": ["one", "two"], "encoding_format": "base64"}


async def test_options_are_sent() -> None:
    """The size of a vector, and who asks."""
    async with serve(OpenAIFormat(), Vectors()) as server:
        model = embeddings(server, model="m", dimensions=5, encoding_format=None, user="u")
        vector = await model.aembed_query("one")

    assert len(vector) == 5
    assert server.requests[0].json == {"model": "m", "input": ["one"], "dimensions": 5, "user": "u"}


async def test_base64_is_exact() -> None:
    """The vectors are those that travel as numbers, to the last of their 32 bits."""
    async with serve(OpenAIFormat(), Vectors(dimensions=64)) as server:
        packed = await embeddings(server).aembed_documents(TEXTS)
        plain = await embeddings(server, encoding_format="float").aembed_documents(TEXTS)

    assert packed == plain


# -- batches


@pytest.mark.parametrize(("size", "batches"), [(1, 10), (3, 4), (5, 2), (10, 1), (2048, 1)])
async def test_vector_i_is_that_of_text_i(size: int, batches: int) -> None:
    """However the texts are batched, and whichever request is answered first."""

    def slow_at_first(request: ReceivedRequest) -> Vectors:
        return Vectors(delay=0.05 if TEXTS[0] in request.json["input"] else 0)

    async with serve(OpenAIFormat(), slow_at_first) as server:
        alone = [await embeddings(server).aembed_query(text) for text in TEXTS]
        asked = len(server.requests)
        together = await embeddings(server, chunk_size=size).aembed_documents(TEXTS)

    assert together == alone
    assert len(server.requests) - asked == batches


@pytest.mark.parametrize("limit", [1, 3])
async def test_so_many_requests_are_made_at_once(limit: int) -> None:
    """And no more: a large call does not shut out others."""
    async with serve(OpenAIFormat(), Vectors(delay=math.inf)) as server, anyio.create_task_group() as group:
        model = embeddings(server, chunk_size=1, max_concurrency=limit)
        group.start_soon(model.aembed_documents, TEXTS)
        await server.wait_for_requests(limit)
        await anyio.sleep(0.05)
        assert len(server.requests) == limit
        group.cancel_scope.cancel()


async def test_a_request_keeps_the_limit_on_its_tokens() -> None:
    """300,000 in all: no more bytes than that go together, and a text with more goes alone."""
    sizes = [200_000, 100_000, 1, 400_000, 7]
    async with serve(OpenAIFormat(), Vectors()) as server:
        await embeddings(server, max_concurrency=1).aembed_documents(["é" * (size // 2) or "a" for size in sizes])

    sent = [[len(text.encode()) for text in request.json["input"]] for request in server.requests]
    assert sent == [[200_000, 100_000], [1], [400_000], [6]]


async def test_usage_is_that_of_all_requests() -> None:
    """The one thing that a list of vectors has no place for."""
    async with serve(OpenAIFormat(), Vectors()) as server:
        result = await embeddings(server, chunk_size=4).aembed(TEXTS)

    assert result.usage == {"input_tokens": 20, "output_tokens": 0, "total_tokens": 20}
    assert len(result.embeddings) == 10


@pytest.mark.usefixtures("virtual_clock")
async def test_the_first_failure_is_raised_as_itself() -> None:
    """The requests beside it are cancelled, and their connections closed."""

    def script(request: ReceivedRequest) -> Any:
        return Status(429) if TEXTS[3] in request.json["input"] else Vectors(delay=math.inf)

    async with serve(OpenAIFormat(), script) as server:
        with pytest.raises(RateLimitError):
            await embeddings(server, chunk_size=1).aembed_documents(TEXTS)
        await server.wait_for(lambda server: server.open_connections <= 1)  # the answered one is kept


def test_a_reply_of_megabytes() -> None:
    """It is read in a thread, to the same end; the sync verbs work without a loop."""
    with serve(OpenAIFormat(), Vectors(dimensions=1536)) as server:
        vectors = embeddings(server).embed_documents([f"text {number}" for number in range(64)])
        query = embeddings(server).embed_query("text 63")

    assert (len(vectors), len(query)) == (64, 1536)
    assert vectors[63] == query


# -- what is refused


async def test_no_texts_are_no_request() -> None:
    """And no vectors, and no usage."""
    async with serve(OpenAIFormat(), []) as server:
        result = await embeddings(server).aembed([])

    assert (result.embeddings, result.usage, server.requests) == ([], None, [])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", ""], r"texts\[1\] is empty"),
        ("a text", r"texts is of type str; it must be a list of texts: \[text\]"),
        (["a", 1], r"texts\[1\] is of type int"),
        (["a", "b\ud800"], r"texts\[1\] holds half of a surrogate pair at position 1"),
    ],
)
async def test_bad_texts_are_refused_before_anything_is_sent(texts: Any, message: str) -> None:
    """Those of a later batch, too."""
    async with serve(OpenAIFormat(), []) as server:
        with pytest.raises(InvalidInput, match=message):
            await embeddings(server, chunk_size=1).aembed_documents(texts)

    assert server.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 0},
        {"chunk_size": 2049},
        {"dimensions": 0},
        {"dimension": 3},
        {"encoding_format": "hex"},
        {"model": ""},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    """At construction, a misspelt name too."""
    with pytest.raises(ValueError, match=next(iter(options))):
        OpenAIEmbeddings(api_key="sk-test", **options)


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_too_few_and_too_many_vectors(count: int) -> None:
    """They would be those of other texts."""
    reply = {"data": [{"index": index, "embedding": [1.0]} for index in range(count)]}
    async with serve(OpenAIFormat(), Body(reply)) as server:
        with pytest.raises(InvalidReply, match=f"the reply has {count} vectors for 2 texts") as caught:
            await embeddings(server, model="m").aembed_documents(["one", "two"])

    assert (caught.value.provider, caught.value.model) == ("openai_compatible", "m")


# -- replies


def reply(data: Any) -> HTTPReply:
    """Return a reply with this list of vectors."""
    return HTTPReply(200, {}, to_json(data))


def item(index: int | None, embedding: Any) -> dict[str, Any]:
    """Return one vector as the format has it."""
    return {"object": "embedding", "embedding": embedding} | ({} if index is None else {"index": index})


PACKED = base64.b64encode(struct.pack("<2f", 0.5, -2)).decode()


@pytest.mark.parametrize(
    ("items", "vectors"),
    [
        ([item(0, [0.5, 1]), item(1, [2, 3])], [[0.5, 1.0], [2.0, 3.0]]),
        ([item(1, [2.0]), item(0, [0.5])], [[0.5], [2.0]]),
        ([item(0, PACKED), item(1, [1.0, 2.0])], [[0.5, -2.0], [1.0, 2.0]]),
        ([item(None, [1.0]), item(None, [2.0])], [[1.0], [2.0]]),
        ([], []),
    ],
    ids=["numbers", "out of order", "base64 and numbers", "without index", "none"],
)
def test_replies(items: list[Any], vectors: list[list[float]]) -> None:
    """Whatever was asked for, both forms are read, and every number is a float."""
    read = decode_vectors(reply({"data": items}), "openai").embeddings

    assert read == vectors
    assert {type(number) for vector in read for number in vector} <= {float}


@given(lists(floats(width=32, allow_nan=False), min_size=1))
def test_any_numbers_travel_as_base64(numbers: list[float]) -> None:
    """Little-endian, 32 bits each, whatever the machine."""
    packed = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()

    assert decode_vectors(reply({"data": [item(0, packed)]}), "openai").embeddings == [numbers]


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"data": None},
        {"data": [item(0, None)]},
        {"data": [item(0, ["a"])]},
        {"data": [item(0, [None])]},
        {"data": [item(0, "no base64!")]},
        {"data": [item(0, PACKED[:4])]},
        {"data": [item(0, [1.0]), item(0, [2.0])]},
        {"data": [item(1, [1.0]), item(2, [2.0])]},
        {"data": [{"index": 0}]},
        {"data": ["text"]},
    ],
)
def test_odd_replies(data: Any) -> None:
    """Nothing is made up."""
    with pytest.raises(InvalidReply):
        decode_vectors(reply(data), "openai")


CONTENTS: dict[str, tuple[bytes, type[LLMError]]] = {
    "HTML": (b"<html>", InvalidReply),
    "half": (b'{"data": [', InvalidReply),
    "failed": (b'{"error": {"message": "no credit", "code": "insufficient_quota"}}', QuotaExceeded),
}


@pytest.mark.parametrize(("content", "error"), CONTENTS.values(), ids=CONTENTS)
def test_replies_that_are_no_list(content: bytes, error: type[LLMError]) -> None:
    """An error that comes with a good status is the error that it says."""
    with pytest.raises(error):
        decode_vectors(HTTPReply(200, {}, content), "openai")


# -- limits


async def test_a_failed_request_is_made_again() -> None:
    """Each by itself, where its error says that it may help."""
    busy = Status(503, headers={"retry-after": "0"})
    async with serve(OpenAIFormat(), [Vectors(), busy, Vectors()]) as server:
        vectors = await embeddings(server, chunk_size=1, max_concurrency=1).aembed_documents(["one", "two"])
    assert len(vectors) == 2
    assert [request.json["input"] for request in server.requests] == [["one"], ["two"], ["two"]]


async def test_a_server_that_stalls_is_given_up(virtual_clock: Any) -> None:
    """All requests together have one limit."""
    async with serve(OpenAIFormat(), Vectors(delay=math.inf)) as server:
        with pytest.raises(TotalTimeout, match="longer than 7 s"):
            await embeddings(server, timeout=7).aembed_documents(TEXTS)
        await server.wait_for_open_connections(0, within=5)
