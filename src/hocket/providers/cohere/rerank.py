"""Models of Cohere's that put texts in the order in which they answer a question."""

import functools
from collections.abc import Sequence
from typing import ClassVar, TypedDict

from pydantic import ConfigDict, Field

from hocket._runtime.portal import run_in_portal
from hocket.callbacks.base_manager import Callbacks
from hocket.documents import BaseDocumentCompressor, Document
from hocket.errors import InvalidInput
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages.content import Fields, FieldsView
from hocket.providers.cohere.service import PROVIDER, CohereService
from hocket.remote.reply import read_reply
from hocket.remote.retrying_service import RetryingService

__all__ = ["CohereRerank", "Ranking"]


class Ranking(TypedDict):
    """The place of a document, counted from 0, and how well it answers the question, from 0 to 1."""

    index: int
    relevance_score: float


class CohereRerank(CohereService, RetryingService, BaseDocumentCompressor):
    """A model of Cohere's that puts texts in order; of documents, as the compressor of a `ContextualCompressionRetriever`.

        ranked = await CohereRerank(top_n=3).arerank(texts, "Who wrote it?")
        best = [texts[place["index"]] for place in ranked]

    Args:
        model: its name.
        top_n: how many to return, the best ones. Default: all.
        max_tokens_per_doc: tokens of a document that are read; what is longer is cut there. Default: the API's, 4096.

    Cohere bills searches, and not tokens: requests go through no rate limiter, budget or ledger.

    `CohereService`, `RetryingService` and `RemoteService` tell the rest.

    Raises, from every verb:
        InvalidInput: something that is no text. Nothing was sent.
        LLMError: the request failed.
        TotalTimeout: it took too long, repetitions included.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    model: str = Field(default="rerank-v3.5", min_length=1)
    top_n: int | None = Field(default=None, ge=1)
    max_tokens_per_doc: int | None = Field(default=None, ge=1)

    async def arerank(self, documents: Sequence[str], query: str, top_n: int | None = None) -> list[Ranking]:
        """Return the places of the documents, the one that answers best first; none, and no request, for no documents.

        Args:
            documents: texts.
            query: what is asked.
            top_n: how many to return; None: as the model says.
        """
        texts = _check_texts(documents, query)
        if not texts:
            return []
        request = self._write(texts, query, self.top_n if top_n is None else top_n)

        async def run(ends_at: float | None) -> list[Ranking]:
            return await self._send_again(lambda: request, functools.partial(_decode, len(texts)), ends_at)

        return await self._run_in_time(run, "the ranking")

    def rerank(self, documents: Sequence[str], query: str, top_n: int | None = None) -> list[Ranking]:
        """Return the places of the documents, the one that answers best first: the sync face of `arerank`."""
        return run_in_portal(functools.partial(self.arerank, documents, query, top_n))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Return the documents that answer best, best first, each with its ``score``, from 0 to 1."""
        ranked = await self.arerank([one.page_content for one in documents], query)
        return [documents[one["index"]].model_copy(update={"score": one["relevance_score"]}) for one in ranked]

    def _write(self, texts: Sequence[str], query: str, top_n: int | None) -> HTTPRequest:
        body: Fields = {"model": self.model, "query": query, "documents": texts}
        said = {"top_n": top_n, "max_tokens_per_doc": self.max_tokens_per_doc}
        return self._post(
            self._url("v2/rerank"), body | {name: count for name, count in said.items() if count is not None}
        )


def _check_texts(documents: Sequence[str], query: str) -> list[str]:
    if isinstance(documents, str):
        raise InvalidInput("documents is a text; it must be a list of texts: [text] for one")
    for name, text in (("query", query), *((f"documents[{place}]", text) for place, text in enumerate(documents))):
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"{name} is of type {type(text).__name__}; it must be a text")
    return list(documents)


def _decode(count: int, reply: HTTPReply) -> list[Ranking]:
    return read_reply(reply, PROVIDER, functools.partial(_read, count), "ranking")


def _read(count: int, data: FieldsView) -> list[Ranking]:
    results: Sequence[FieldsView] = data["results"]
    return [
        {"index": range(count)[int(one["index"])], "relevance_score": float(one["relevance_score"])} for one in results
    ]
