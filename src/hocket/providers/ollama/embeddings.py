"""Embedding models that a server of Ollama's runs."""

from array import array
from collections.abc import Sequence

from pydantic import Field

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import FieldsView
from hocket.providers.ollama.decode import decode_usage
from hocket.providers.ollama.encode import encode_options
from hocket.providers.ollama.options import RunnerOptions
from hocket.providers.ollama.service import PROVIDER, OllamaService
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.reply import read_reply

__all__ = ["OllamaEmbeddings"]


class OllamaEmbeddings(OllamaService, RunnerOptions, RemoteEmbeddings):
    """An embedding model that a server of Ollama's runs.

        vectors = await OllamaEmbeddings(model="embeddinggemma").aembed_documents(["one text", "another"])

    Args:
        model: its name, as ``ollama list`` shows it.
        dimensions: numbers in a vector, where the model can shorten them. Default: as many as it has.
        truncate: True: a text that is longer than the model's window is cut, and the vector is that of its beginning. By
            default the server refuses it (`ContextLengthExceeded`).

    `RunnerOptions`, `OllamaService` and `RemoteEmbeddings` tell the rest.

    Raises, from every verb:
        InvalidInput: an empty text, or something that is no text. Nothing was sent.
        LLMError: a request failed.
    """

    model: str = Field(min_length=1)
    dimensions: int | None = Field(default=None, ge=1)
    truncate: bool = False

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        options = encode_options(RunnerOptions.model_construct(**{name: getattr(self, name) for name in _RUNNER}))
        body = {"model": self.model, "input": texts, "truncate": self.truncate, **options}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        return self._post(self._url("api/embed"), body)

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        return read_reply(reply, PROVIDER, _read, "list of vectors")


_RUNNER = tuple(RunnerOptions.model_fields)


def _read(data: FieldsView) -> EmbeddingResult:
    vectors: Sequence[Sequence[float]] = data["embeddings"]
    return EmbeddingResult([array("d", vector).tolist() for vector in vectors], decode_usage(data))
