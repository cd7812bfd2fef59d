"""Embedding models of Google's behind Vertex AI, whose vectors are asked for in two forms."""

from array import array
from collections.abc import Iterator, Sequence
from typing import ClassVar

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import Fields, FieldsView
from hocket.providers.google.embeddings import GoogleGenerativeAIEmbeddings
from hocket.providers.google.service import VERTEX
from hocket.providers.google.vertex import VertexService
from hocket.remote.embeddings import EmbeddingResult
from hocket.remote.reply import read_reply
from hocket.remote.usage import count_of, make_usage

__all__ = ["VertexAIEmbeddings"]


class VertexAIEmbeddings(VertexService, GoogleGenerativeAIEmbeddings):
    """An embedding model of Google's, behind Vertex AI.

        vectors = await VertexAIEmbeddings(project="shop").aembed_documents(["one text", "another"])

    `GoogleGenerativeAIEmbeddings` tells the fields and what is raised. ``gemini-embedding-*`` takes one text a request,
    whatever ``chunk_size`` says; several go out at once.
    """

    _max_tokens: ClassVar[int | None] = 20_000

    def _batches(self, texts: list[str], sizes: list[int]) -> Iterator[list[str]]:
        if not self.model.removeprefix("models/").startswith("gemini-embedding"):
            return super()._batches(texts, sizes)
        return ([text] for text in texts)

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        name = self.model.removeprefix("models/")
        task, size = self.task_type or "RETRIEVAL_DOCUMENT", self.output_dimensionality
        limits: Fields = {"outputDimensionality": size} if size else {}
        if name.startswith("gemini-embedding") and name != "gemini-embedding-001":
            content = {"role": "user", "parts": [{"text": text} for text in texts]}
            verb = "embedContent"
            body: Fields = {"content": content, "embedContentConfig": {"taskType": task, **limits}}
        else:
            instances = [{"content": text, "task_type": task} for text in texts]
            verb, body = "predict", {"instances": instances, **({"parameters": limits} if limits else {})}
        return self._post(self._url(self._path(f"models/{name}:{verb}")), body)

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        return read_reply(reply, VERTEX, _read, "list of vectors")


def _read(data: FieldsView) -> EmbeddingResult:
    """Return the vectors of ``predict``, or the one of ``embedContent``."""
    usage: FieldsView = data.get("usageMetadata") or {}
    statistics: FieldsView = {"token_count": usage.get("promptTokenCount")}
    items: list[Fields] = [{"statistics": statistics, **data["embedding"]}] if "embedding" in data else []
    items += [each["embeddings"] for each in data.get("predictions") or ()]
    vectors = [array("d", item["values"]).tolist() for item in items]  # refuses what is no number
    counts = [_count(item) for item in items]
    told = [count for count in counts if count is not None]
    return EmbeddingResult(vectors, make_usage(sum(told), 0) if told else None)


def _count(item: FieldsView) -> int | None:
    statistics: FieldsView = item.get("statistics") or {}
    return count_of(statistics.get("token_count"))
