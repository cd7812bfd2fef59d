"""Embedding models of OpenAI, and of the servers that speak its format."""

import binascii
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.providers.openai.service import OpenAIService
from hocket.remote.chat_completion import decode_token_usage
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.reply import read_reply

__all__ = ["OpenAIEmbeddings", "decode_embeddings"]


class OpenAIEmbeddings(OpenAIService, RemoteEmbeddings):
    """An embedding model of OpenAI, or of a server that speaks its format.

        vectors = await OpenAIEmbeddings().aembed_documents(["one text", "another"])

    Texts go out in batches, several at once; vector *i* is that of text *i*. A text that is longer than the model's window
    is refused by the server (`ContextLengthExceeded`): it is not cut, which would embed another text than was given.

    Args:
        model: name of the model; for Azure's older URLs the deployment.
        dimensions: numbers in a vector, where the model can shorten them. Default: as many as it has.
        encoding_format: how vectors travel. ``base64`` is a third as long as ``float`` and exact; either is understood,
            whatever was asked for. None: nothing is asked for.
        chunk_size: texts in one request, at most; the API takes 2,048, with 300,000 tokens in all, which is kept, too.
        user: names the end user to the provider.

    `OpenAIService` and `RemoteEmbeddings` tell the rest.

    Raises, from every verb:
        InvalidInput: an empty text, or something that is no text. Nothing was sent.
        LLMError: a request failed.
    """

    model: str = Field(default="text-embedding-3-small", min_length=1)
    dimensions: int | None = Field(default=None, ge=1)
    encoding_format: Literal["base64", "float"] | None = "base64"
    chunk_size: int = Field(default=1000, ge=1, le=2048)
    user: str | None = None

    _max_tokens: ClassVar[int | None] = 300_000

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        fields = {"dimensions": self.dimensions, "encoding_format": self.encoding_format, "user": self.user}
        options = {name: value for name, value in fields.items() if value is not None}
        return self._post_to("embeddings", self.model, {"model": self.model, "input": texts, **options})

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        return decode_embeddings(reply, self._provider)


def decode_embeddings(reply: HTTPReply, provider: str) -> EmbeddingResult:
    """Return the vectors of a reply, in the order of the texts, which is that of ``index`` and not that of the list.

    Raises:
        LLMError: the reply says that the request failed, although its status is that of a good one.
        InvalidReply: it is not what the format says, or has not one vector for each index.
    """
    return read_reply(reply, provider, _read, "list of vectors")


def _read(data: Mapping[str, Any]) -> EmbeddingResult:
    items: list[dict[str, Any]] = data["data"]
    vectors = {item.get("index", place): _vector(item["embedding"]) for place, item in enumerate(items)}
    return EmbeddingResult([vectors[index] for index in range(len(items))], decode_token_usage(data.get("usage")))


def _vector(embedding: Any) -> list[float]:
    """Return a vector, out of a list of numbers or out of base64 of little-endian 32-bit floats."""
    if not isinstance(embedding, str):
        return array("d", embedding).tolist()  # refuses what is no number
    numbers = array("f", binascii.a2b_base64(embedding, strict_mode=True))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()
