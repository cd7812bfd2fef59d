"""Embedding models on Amazon Bedrock: those of Amazon's and of Cohere's, each in the form of its maker."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self, cast

from pydantic import Field, model_validator

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import Fields, FieldsView
from hocket.providers.bedrock.decode import PROVIDER
from hocket.remote.aws_service import AWSService
from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
from hocket.remote.reply import read_reply
from hocket.remote.usage import count_of, make_usage

__all__ = ["BedrockEmbeddings"]

COUNT = "x-amzn-bedrock-input-token-count"


class BedrockEmbeddings(AWSService, RemoteEmbeddings):
    """An embedding model on Amazon Bedrock: Titan's, or Cohere's where its name says so.

        vectors = await BedrockEmbeddings(region_name="eu-west-1").aembed_documents(["one text", "another"])

    Titan takes one text in a request, so ``max_concurrency`` requests are made at once; Cohere's models take 96.

    Args:
        model: its name, that of an inference profile (``eu.cohere.embed-v4:0``), or an ARN.
        dimensions: numbers in a vector, where the model can shorten them. Default: as many as it has.
        normalize: of Titan's: whether a vector has the length 1. Default: it has.
        input_type: of Cohere's: what all vectors are for: classification, clustering, search_document, search_query.
            Default: search_document for documents, and search_query for a query.
        truncate: of Cohere's: START or END: a text that is longer than the model's window is cut there. Default: the
            server refuses it.
        chunk_size: of Cohere's: texts in one request, at most; the API takes 96.

    `AWSService`, `RemoteEmbeddings` and `RemoteService` tell the rest. The role needs ``bedrock:InvokeModel``.

    Raises, from every verb:
        InvalidInput: an empty text, or something that is no text. Nothing was sent.
        LLMError: a request failed.
    """

    model: str = Field(default="amazon.titan-embed-text-v2:0", min_length=1)
    dimensions: int | None = Field(default=None, ge=1)
    normalize: bool | None = None
    input_type: str | None = None
    truncate: Literal["NONE", "START", "END"] | None = None
    chunk_size: int = Field(default=96, ge=1, le=96)

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        for name in ("normalize",) if self._is_cohere else ("input_type", "truncate"):
            if getattr(self, name) is not None:
                raise ValueError(f"{self.model} has no {name}; leave it out")
        return self

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with. Raises as `aembed`."""
        asked = self
        if self._is_cohere and self.input_type is None:
            asked = self.model_copy(update={"input_type": "search_query"})
        return (await asked.aembed_documents([text]))[0]

    @property
    def _is_cohere(self) -> bool:
        return "cohere." in self.model

    def _batches(self, texts: list[str], sizes: list[int]) -> Iterator[list[str]]:
        return super()._batches(texts, sizes) if self._is_cohere else iter([text] for text in texts)

    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        body: Fields
        if self._is_cohere:
            use = self.input_type or "search_document"
            body = {"texts": texts, "input_type": use, "embedding_types": ["float"], "truncate": self.truncate}
            body["output_dimension"] = self.dimensions
        else:
            body = {"inputText": texts[0], "dimensions": self.dimensions, "normalize": self.normalize}
        said = {name: value for name, value in body.items() if value is not None}
        return self._ask(self.model, "invoke", said)

    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        def read(data: FieldsView) -> EmbeddingResult:
            made: Any = data["embeddings"] if "embeddings" in data else [data["embedding"]]
            vectors = cast("Sequence[Sequence[float]]", made if isinstance(made, list) else made["float"])
            count = count_of(data.get("inputTextTokenCount"))
            if count is None and (told := reply.headers.get(COUNT, "")).isdecimal():
                count = int(told)
            usage = None if count is None else make_usage(count, 0)
            return EmbeddingResult([array("d", vector).tolist() for vector in vectors], usage)

        return read_reply(reply, PROVIDER, read, "list of vectors")
