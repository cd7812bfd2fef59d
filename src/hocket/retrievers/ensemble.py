"""Several retrievers as one.

How their findings become one list matters more than one thinks. Ranks forget how sure a retriever was. Of 40 questions in
other words than their passages, vectors alone had the right passage first for 38, and words (BM25) for 2; fused by rank, for
13; fused by scores, four parts vectors to one part words, for 38 again (`tests/retrieval`). Where question and passage share
their words, scores do as well as ranks, or a little better. So ``method="scores"`` is the better one wherever the retrievers
give scores.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, SkipValidation, field_validator, model_validator

from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.retrievers.at_once import Retriever, check_retrievers, retrieve_all
from hocket.retrievers.base import BaseRetriever

__all__ = ["EnsembleRetriever"]

FusionMethod: TypeAlias = Literal["rrf", "scores"]


class EnsembleRetriever(BaseRetriever):
    """Asks several retrievers at once, and puts what they have found into one list, best first.

        both = EnsembleRetriever(retrievers=[by_words, by_meaning], weights=[0.2, 0.8], method="scores")

    A document that several have found counts once, by its text, or by ``id_key``. Its ``score`` is the sum of what it
    gets from each retriever, times the retriever's weight; equal ones stand in the order in which they were found.

    Args:
        retrievers: runnables from a question to documents, best first.
        weights: how much each counts, numbers from 0 on, of which only the proportions matter. Default: all the same.
        method: what a document gets from a retriever that has found it. "rrf": 1 / (c + its rank), reciprocal rank
            fusion (Cormack, Clarke and Büttcher, 2009), which needs no scores. "scores": its score, scaled so that the
            retriever's worst one is 0 and its best is 1; better where there are scores.
        c: how little ranks differ, for "rrf".
        id_key: the key of the metadata that says which documents are the same.

    Raises, from every verb:
        InvalidInput: the method is "scores", and a document has none; or it has nothing under ``id_key``.
        InvalidHook: a retriever returned no list of documents.
        what the retrievers raise: the first to fail cancels the others.
    """

    retrievers: SkipValidation[Sequence[Retriever]]
    weights: Sequence[float] | None = None
    method: FusionMethod = "rrf"
    c: int = Field(default=60, ge=0)
    id_key: str | None = None

    @field_validator("retrievers")
    @classmethod
    def _check_retrievers(cls, retrievers: object) -> object:
        return check_retrievers(retrievers)

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        weights = self._list_weights()
        if len(weights) != len(self.retrievers):
            raise ValueError(f"there are {len(weights)} weights for {len(self.retrievers)} retrievers")
        if not all(0 <= weight < math.inf for weight in weights) or not any(weights):
            raise ValueError(f"weights are {weights}; they are numbers from 0 on, and one of them is above 0")
        return self

    def _list_weights(self) -> Sequence[float]:
        return [1.0] * len(self.retrievers) if self.weights is None else self.weights

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        asked = [(retriever, query) for retriever in self.retrievers]
        found = await retrieve_all(asked, run_manager, "retriever", kwargs)
        rate = self._rate_ranks if self.method == "rrf" else _rate_scores
        return self._fuse(found, rate)

    def _fuse(self, found: Sequence[list[Document]], rate: Callable[[list[Document]], list[float]]) -> list[Document]:
        weights = self._list_weights()
        first: dict[object, Document] = {}
        scores: dict[object, float] = {}
        for documents, weight in zip(found, weights, strict=True):
            own = {self._get_key(one): one for one in reversed(documents)}  # one found twice counts where it is first
            kept = [one for one in documents if own[self._get_key(one)] is one]
            for document, value in zip(kept, rate(kept), strict=True):
                key = self._get_key(document)
                first.setdefault(key, document)
                scores[key] = scores.get(key, 0.0) + value * weight / sum(weights)
        best = sorted(first, key=lambda key: -scores[key])
        return [first[key].model_copy(update={"score": scores[key]}) for key in best]

    def _get_key(self, document: Document) -> object:
        if self.id_key is None:
            return document.page_content
        key: object = document.metadata.get(self.id_key)
        if not isinstance(key, str | int | float):
            raise InvalidInput(
                f"{document!r:.200} has {key!r} under {self.id_key!r}; id_key needs a text or a number there"
            )
        return key

    def _rate_ranks(self, documents: list[Document]) -> list[float]:
        return [1 / (self.c + rank) for rank in range(1, len(documents) + 1)]


def _rate_scores(documents: list[Document]) -> list[float]:
    scores: list[float] = []
    for document in documents:
        if document.score is None:
            raise InvalidInput("a retriever of an ensemble gives no scores; fuse by ranks: method='rrf'")
        scores.append(document.score)
    least, span = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    return [(score - least) / span if span else 1.0 for score in scores]
