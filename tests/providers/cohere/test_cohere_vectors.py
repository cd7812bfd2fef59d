"""Cohere's embeddings say what they are for, and its reranker tries again and ends in time."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from hocket.documents import Document
from hocket.errors import InvalidInput, InvalidReply, RateLimitError, TotalTimeout
from hocket.providers.cohere import CohereEmbeddings, CohereRerank
from hocket.retrievers import ContextualCompressionRetriever
from hocket.runnables import RunnableLambda
from hocket.testing import Body, CohereFormat, Hangup, Status, Vectors, serve
from tests.kit.recordings import load_recordings

RANKED = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]
REPLY = Body({"id": "1", "results": [{**one, "document": {"text": "t"}} for one in RANKED], "meta": {}})
TEXTS = ["rain", "sun"]


def reranker(url: str, **fields: Any) -> CohereRerank:
    return CohereRerank(base_url=url, api_key="k", **fields)


async def test_a_request_for_vectors_is_the_official_sdks() -> None:
    """The body and the vectors of the recorded exchange; what it costs is told."""
    recorded = load_recordings("cohere_v2")["cohere_v2/embed"]
    async with serve(CohereFormat(), Body(recorded["response"]["body"])) as server:
        embeddings = CohereEmbeddings(base_url=server.url, api_key="co-test", dimensions=2, truncate=None)
        result = await embeddings.aembed(["a"])
        assert (server.requests[0].path, server.requests[0].json) == (
            recorded["request"]["path"],
            recorded["request"]["body"],
        )
    assert result.embeddings == recorded["sdk_parsed"]["embeddings"]["float_"]
    assert result.usage is not None and result.usage["input_tokens"] == 1


async def test_vectors_are_made_to_search_or_to_be_searched() -> None:
    """Unless the model is told what all of them are for; a text that is too long is refused, unless it may be cut."""
    async with serve(CohereFormat(), [Vectors()] * 4) as server:
        embeddings = CohereEmbeddings(base_url=server.url, api_key="k")
        await embeddings.aembed_documents(["a"])
        await embeddings.aembed_query("a")
        grouping = CohereEmbeddings(base_url=server.url, api_key="k", input_type="clustering", truncate="END")
        await grouping.aembed_documents(["a"])
        await grouping.aembed_query("a")
        said = [(request.json["input_type"], request.json["truncate"]) for request in server.requests]
    assert said == [("search_document", "NONE"), ("search_query", "NONE"), *[("clustering", "END")] * 2]


async def test_a_request_has_so_many_texts_as_the_api_takes() -> None:
    async with serve(CohereFormat(), [Vectors()] * 2) as server:
        made = await CohereEmbeddings(base_url=server.url, api_key="k").aembed_documents([str(n) for n in range(97)])
        assert sorted(len(request.json["texts"]) for request in server.requests) == [1, 96]
    assert len(made) == 97
    with pytest.raises(ValidationError, match="chunk_size"):
        CohereEmbeddings(api_key="k", chunk_size=97)


async def test_texts_are_put_in_order() -> None:
    """By a model's own number of them, or by the call's."""
    async with serve(CohereFormat(), [REPLY, REPLY]) as server:
        model = reranker(server.url, top_n=2, max_tokens_per_doc=100)
        assert await model.arerank(TEXTS, "wet?") == RANKED
        await model.arerank(TEXTS, "wet?", top_n=1)
        assert await model.arerank([], "wet?") == []
        first, second = (request.json for request in server.requests)
        assert server.requests[0].path == "/v2/rerank"
    expected = {"model": "rerank-v3.5", "query": "wet?", "documents": TEXTS, "max_tokens_per_doc": 100}
    assert (first, second) == ({**expected, "top_n": 2}, {**expected, "top_n": 1})


def test_texts_are_put_in_order_in_sync_code() -> None:
    with serve(CohereFormat(), [REPLY]) as server:
        assert reranker(server.url).rerank(TEXTS, "wet?") == RANKED


async def test_a_ranking_that_failed_is_asked_for_again(virtual_clock: Any) -> None:
    """As often as the policy says, and not at all where it would not help."""
    async with serve(CohereFormat(), [Status(500), Hangup(), REPLY]) as server:
        assert await reranker(server.url).arerank(TEXTS, "wet?") == RANKED
        assert len(server.requests) == 3
    async with serve(CohereFormat(), [Status(429)]) as server:
        with pytest.raises(RateLimitError):
            await reranker(server.url, retry=None).arerank(TEXTS, "wet?")
        assert len(server.requests) == 1


async def test_a_ranking_ends_in_time(virtual_clock: Any) -> None:
    """All its attempts together."""
    async with serve(CohereFormat(), [Body({}, delay=math.inf)]) as server:
        with pytest.raises(TotalTimeout, match="the ranking took longer than 5 s"):
            await reranker(server.url, timeout=5).arerank(TEXTS, "wet?")


@pytest.mark.parametrize(
    ("documents", "query", "named"), [("rain", "q", "a text"), (["a", 1], "q", r"documents\[1\]"), (["a"], 1, "query")]
)
async def test_what_is_no_text_is_refused(documents: Any, query: Any, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        await reranker("http://localhost:9").arerank(documents, query)


async def test_a_reply_that_is_no_ranking_is_invalid() -> None:
    async with serve(CohereFormat(), [Body({"results": [{"index": None}]})]) as server:
        with pytest.raises(InvalidReply, match="no ranking"):
            await reranker(server.url).arerank(TEXTS, "wet?")


async def test_documents_are_put_in_order_behind_a_retriever() -> None:
    """With their metadata, and the answer's scores."""
    found = [Document(text, metadata={"place": place}, score=0.5) for place, text in enumerate(TEXTS)]
    async with serve(CohereFormat(), REPLY) as server:
        reranked = ContextualCompressionRetriever(
            base_compressor=reranker(server.url), base_retriever=RunnableLambda(lambda query: found)
        )
        best = await reranked.ainvoke("wet?")
    assert best == found[::-1]
    assert [one.score for one in best] == [0.9, 0.1]


async def test_a_place_that_no_document_has() -> None:
    results = [{"index": 2, "relevance_score": 0.9}]
    async with serve(CohereFormat(), Body({"id": "1", "results": results, "meta": {}})) as server:
        with pytest.raises(InvalidReply):
            await reranker(server.url, retry=None).arerank(TEXTS, "wet?")
