"""Embedding models on Bedrock: Titan's one text a request, Cohere's many, and what each takes."""

from typing import Any

import pytest
from pydantic import ValidationError

from hocket.embeddings import init_embeddings
from hocket.errors import InvalidInput, InvalidReply, RateLimitError
from hocket.http.request import HTTPReply
from hocket.providers.bedrock import BedrockEmbeddings
from hocket.retries import RetryPolicy
from hocket.testing import BedrockFormat, Body, ReceivedRequest, Status, serve

COHERE = "eu.cohere.embed-v4:0"
TEXTS = [f"text {number}" for number in range(97)]


def make(url: str = "http://127.0.0.1:1", **fields: Any) -> BedrockEmbeddings:
    fields = {"region_name": "eu-west-1", "api_key": "k", "retry": RetryPolicy(max_attempts=1), **fields}
    return BedrockEmbeddings(base_url=url, **fields)


def answer(request: ReceivedRequest) -> Body:
    """A vector of each text's number."""
    body = request.json
    if "inputText" in body:
        return Body({"embedding": [float(body["inputText"].split()[1]), 0.5], "inputTextTokenCount": 2})
    vectors = [[float(text.split()[1]), 0.5] for text in body["texts"]]
    return Body({"embeddings": {"float": vectors}}, headers={"X-Amzn-Bedrock-Input-Token-Count": str(2 * len(vectors))})


@pytest.mark.parametrize("model", ["amazon.titan-embed-text-v2:0", COHERE])
async def test_vectors_come_in_the_order_of_the_texts_whatever_a_request_takes(model: str) -> None:
    """Titan: one text a request, several requests at once; Cohere: 96 texts; and what they cost is told."""
    async with serve(BedrockFormat(), answer) as server:
        result = await make(server.url, model=model).aembed(TEXTS)
    assert result.embeddings == [[float(number), 0.5] for number in range(97)]
    assert result.usage is not None and result.usage["input_tokens"] == 194
    assert {request.path for request in server.requests} == {f"/model/{model.replace(':', '%3A')}/invoke"}
    if model == COHERE:
        assert sorted(len(request.json["texts"]) for request in server.requests) == [1, 96]
    else:
        assert len(server.requests) == 97
        assert 1 < len({request.connection for request in server.requests}) <= 8


async def test_a_request_says_what_was_asked_for_and_no_more() -> None:
    """Of Titan's first model, which knows no options, as of Cohere's."""
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"model": "amazon.titan-embed-text-v1"}, {"inputText": "text 1"}),
        ({"dimensions": 256, "normalize": False}, {"inputText": "text 1", "dimensions": 256, "normalize": False}),
        ({"model": COHERE, "dimensions": 256, "truncate": "END"}, {"output_dimension": 256, "truncate": "END"}),
        ({"model_id": "cohere.embed-english-v3", "input_type": "clustering"}, {"input_type": "clustering"}),
    ]
    for fields, body in cases:
        async with serve(BedrockFormat(), answer) as server:
            embeddings = make(server.url, **fields)
            await embeddings.aembed_documents(["text 1"])
            await embeddings.aembed_query("text 1")
        usual = {"texts": ["text 1"], "embedding_types": ["float"]} if embeddings._is_cohere else {}
        for request, use in zip(server.requests, ("search_document", "search_query"), strict=True):
            of_use = {"input_type": use} if usual else {}
            assert request.json == {**usual, **of_use, **body}


async def test_older_models_and_odd_replies_are_read() -> None:
    """A bare list; and what holds no vectors, or too few, is an error."""
    fine = [{"embeddings": [[1, 2]]}, {"embeddings": {"float": [[1, 2]]}}, {"embedding": [1.0, 2.0]}]
    odd: list[Any] = [
        {},
        {"embeddings": {"int8": [[1]]}},
        {"embedding": None},
        {"embedding": ["a"]},
        [],
        {"embeddings": []},
    ]
    embeddings = make(model=COHERE)
    for document in fine:
        async with serve(BedrockFormat(), Body(document)) as server:
            result = await embeddings.model_copy(update={"base_url": server.url}).aembed(["a"])
        assert result.embeddings == [[1.0, 2.0]] and result.usage is None
    for document in odd:
        async with serve(BedrockFormat(), Body(document)) as server:
            with pytest.raises(InvalidReply):
                await embeddings.model_copy(update={"base_url": server.url}).aembed(["a"])
    with pytest.raises(InvalidReply):
        embeddings._decode(HTTPReply(200, {}, b"<html>"))


async def test_what_fails_is_told() -> None:
    """Before anything is sent: options of the other maker's; and the server's words."""
    for fields, told in (
        ({"input_type": "clustering"}, "amazon.titan-embed-text-v2:0 has no input_type; leave it out"),
        ({"truncate": "END"}, "has no truncate"),
        ({"model": COHERE, "normalize": True}, "eu.cohere.embed-v4:0 has no normalize"),
        ({"chunk_size": 97}, "chunk_size"),
        ({"typo": 1}, "typo"),
    ):
        with pytest.raises((InvalidInput, ValidationError), match=told):
            make(**fields)
    with pytest.raises(InvalidInput, match="is empty"):
        await make().aembed([""])
    async with serve(BedrockFormat(), Status(429, "slow down")) as server:
        with pytest.raises(RateLimitError, match="slow down"):
            await make(server.url).aembed(["a"])


def test_it_is_made_by_its_name() -> None:
    """By the names that providers have elsewhere, too."""
    for name in ("bedrock", "bedrock:cohere.embed-v4:0", "aws:x", "amazon_bedrock:x"):
        made = init_embeddings(name, region_name="eu-west-1", api_key="k")
        assert isinstance(made, BedrockEmbeddings)
        assert made.model == (name.partition(":")[2] or "amazon.titan-embed-text-v2:0")
