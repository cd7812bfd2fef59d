"""Embedding models of Cohere's."""

from array import array
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import Fields, FieldsView
from hocket.providers.cohere.decode import decode_usage
from hocket.providers.cohere.service import PROVIDER, CohereService
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.reply import read_reply

__all__ = ["CohereEmbeddings"]


class CohereEmbeddings(CohereService, RemoteEmbeddings):
    """An embedding model of Cohere's.

        vectors = await CohereEmbeddings().aembed_documents(["one text", "another"])

    The API wants to know what vectors are for: those of documents are made to be searched, and that of a query to search.

    Args:
        model: its name.
        dimensions: numbers in a vector, where the model can shorten them. Default: as many as it has.
        input_type: what all vectors are for: classification, clustering, search_document, search_query. Default:
            search_document for documents, and search_query for a query.
        truncate: START or END: a text that is longer than the model's window is cut there. NONE: the server refuses it.
        chunk_size: texts in one request, at most; the API takes 96.

    `CohereService`, `RemoteEmbeddings` and `RemoteService` tell the rest.

    Raises, from every verb:
        InvalidInput: an empty text, or something that is no text. Nothing was sent.
        LLMError: a request failed.
    """

    model: str = Field(default="embed-v4.0", min_length=1)
    dimensions: int | None = Field(default=None, ge=1)
    input_type: str | None = None
    truncate: Literal["NONE", "START", "END"] | None = "NONE"
    chunk_size: int = Field(default=96, ge=1, le=96)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with. Raises as `aembed`."""
        searching = self.model_copy(update={"input_type": self.input_type or "search_query"})
        return (await searching.aembed_documents([text]))[0]

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        body: Fields = {"model": self.model, "texts": texts, "input_type": self.input_type or "search_document"}
        said = {"output_dimension": self.dimensions, "truncate": self.truncate, "embedding_types": ["float"]}
        return self._post(self._url("v2/embed"), body | {name: word for name, word in said.items() if word is not None})

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        return read_reply(reply, PROVIDER, _read, "list of vectors")


def _read(data: FieldsView) -> EmbeddingResult:
    vectors: Sequence[Sequence[float]] = data["embeddings"]["float"]
    return EmbeddingResult([array("d", vector).tolist() for vector in vectors], decode_usage(data.get("meta")))
