"""Embedding models of Google's."""

from array import array
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import FieldsView
from hocket.providers.google.decode import decode_usage
from hocket.providers.google.service import PROVIDER, GoogleService, name_model
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.reply import read_reply

__all__ = ["GoogleGenerativeAIEmbeddings"]

BATCH = 100
"""Texts that the API takes in one request."""


class GoogleGenerativeAIEmbeddings(GoogleService, RemoteEmbeddings):
    """An embedding model of Google's, behind the Gemini API.

        vectors = await GoogleGenerativeAIEmbeddings().aembed_documents(["one text", "another"])

    Texts go out in batches, several at once; vector *i* is that of text *i*.

    Args:
        model: its name, with or without ``models/``.
        task_type: what the vectors are for: SEMANTIC_SIMILARITY, CLASSIFICATION, CLUSTERING … Default: RETRIEVAL_QUERY for
            a query and RETRIEVAL_DOCUMENT for documents.
        output_dimensionality: numbers in a vector. Default: as many as the model has.
        chunk_size: texts in one request; the API takes 100.

    `GoogleService` and `RemoteEmbeddings` tell the rest.

    Raises, from every verb:
        InvalidInput: an empty text, or something that is no text. Nothing was sent.
        LLMError: a request failed.
    """

    model: str = Field(default="gemini-embedding-001", min_length=1)
    task_type: str | None = None
    output_dimensionality: int | None = Field(default=None, ge=1)
    chunk_size: int = Field(default=BATCH, ge=1, le=BATCH)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with."""
        asked = self if self.task_type else self.model_copy(update={"task_type": "RETRIEVAL_QUERY"})
        return (await asked.aembed_documents([text]))[0]

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        name = name_model(self.model)
        said: dict[str, object] = {"model": name, "taskType": self.task_type or "RETRIEVAL_DOCUMENT"}
        if self.output_dimensionality is not None:
            said["outputDimensionality"] = self.output_dimensionality
        requests = [{"content": {"role": "user", "parts": [{"text": text}]}, **said} for text in texts]
        return self._post(self._url(self._path(f"{name}:batchEmbedContents")), {"requests": requests})

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        return read_reply(reply, PROVIDER, _read, "list of vectors")


def _read(data: FieldsView) -> EmbeddingResult:
    items: Sequence[dict[str, Any]] = data["embeddings"]
    vectors = [array("d", item["values"]).tolist() for item in items]  # refuses what is no number
    return EmbeddingResult(vectors, decode_usage(data.get("usageMetadata")))
