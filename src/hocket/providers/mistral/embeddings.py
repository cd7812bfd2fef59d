"""Embedding models of Mistral's."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.providers.mistral.decode import PROVIDER
from hocket.providers.mistral.service import MistralService
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.vectors import decode_vectors

__all__ = ["MistralAIEmbeddings"]


class MistralAIEmbeddings(MistralService, RemoteEmbeddings):
    """An embedding model of Mistral's.

        vectors = await MistralAIEmbeddings().aembed_documents(["one text", "another"])

    Args:
        model: its name.
        dimensions: numbers in a vector, where the model can shorten them. Default: as many as it has.
        chunk_size: texts in one request, at most. The API refuses more than 256, as was observed, and more than 16,384
            tokens in all, which is kept, too.

    `RemoteEmbeddings` and `RemoteService` tell the rest.

    Raises, from every verb:
        InvalidInput: an empty text, or something that is no text. Nothing was sent.
        LLMError: a request failed.
    """

    model: str = Field(default="mistral-embed", min_length=1)
    dimensions: int | None = Field(default=None, ge=1)
    chunk_size: int = Field(default=256, ge=1)

    _max_tokens: ClassVar[int | None] = 16_384

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        size = {} if self.dimensions is None else {"output_dimension": self.dimensions}
        return self._post(self._url("embeddings"), {"model": self.model, "input": texts, **size})

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        return decode_vectors(reply, PROVIDER)
