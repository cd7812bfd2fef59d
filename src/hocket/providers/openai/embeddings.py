"""Embedding models of OpenAI, and of the servers that speak its format."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.providers.openai.service import OpenAIService
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.vectors import decode_vectors

__all__ = ["OpenAIEmbeddings"]


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
        return decode_vectors(reply, self._provider)
