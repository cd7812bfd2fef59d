"""Embeddings of a real server. Its vectors are poor, being those of a chat model: only their structure is looked at."""

import math
from typing import Any

import pytest

from hocket.errors import AuthenticationError
from hocket.providers.openai.embeddings import OpenAIEmbeddings

TEXTS = ["a cat", "a dog", "the stock market fell"]


def embeddings(server: Any, **options: Any) -> OpenAIEmbeddings:
    """Return a model of the server's."""
    return OpenAIEmbeddings(**{**server.options, **options})


@pytest.mark.parametrize("encoding", ["base64", "float", None])
async def test_vectors(live_server: Any, encoding: str | None) -> None:
    """One a text, all of one size and of length 1, however they travel and are batched."""
    whole = await embeddings(live_server, encoding_format=encoding).aembed_documents(TEXTS)
    batched = await embeddings(live_server, encoding_format=encoding, chunk_size=2).aembed_documents(TEXTS)

    assert [len(vector) for vector in (*whole, *batched)] == 6 * [len(whole[0])]
    assert [math.hypot(*vector) for vector in (*whole, *batched)] == pytest.approx(6 * [1])


async def test_both_encodings_say_the_same(live_server: Any) -> None:
    """Base64 of 32-bit floats is read with the right byte order."""
    exact, plain = [
        await embeddings(live_server, encoding_format=encoding).aembed_query("a cat")
        for encoding in ("base64", "float")
    ]

    assert exact == pytest.approx(plain, abs=1e-6)


async def test_usage(live_server: Any) -> None:
    """It is that of all requests."""
    result = await embeddings(live_server, chunk_size=2).aembed(TEXTS)

    assert len(result.embeddings) == 3
    assert result.usage is not None
    assert result.usage["input_tokens"] == result.usage["total_tokens"] >= 6


def test_sync_verbs(live_server: Any) -> None:
    """In a script."""
    model = embeddings(live_server)

    assert len(model.embed_documents(TEXTS)[0]) == len(model.embed_query(TEXTS[0]))


async def test_a_bad_key(live_server: Any) -> None:
    """It is not repeated in the error."""
    with pytest.raises(AuthenticationError) as caught:
        await embeddings(live_server, api_key="sk-wrong-one").aembed_query("a cat")

    assert "sk-wrong-one" not in repr(caught.value)
