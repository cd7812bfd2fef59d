"""Scorers of what was found, by binary relevance, and of what is cited.

Formulas: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002; with a discount of
log2(rank + 1).
"""

import math
from collections.abc import Callable, Sequence

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.evaluation.answer import Answer
from hocket.evaluation.cases import Case
from hocket.evaluation.scorer import NamedScorer, Score

__all__ = ["cites", "mrr", "ndcg_at", "recall_at"]


def recall_at(k: int, *, key: str = "relevant", name: str | None = None) -> NamedScorer:
    """Return a scorer: the share of the relevant documents that is among the first ``k``. The metric is ``recall@5``.

    What is relevant is in ``metadata["relevant"]``: the id or the source of a document, or a list of them. A second
    document of the same source, such as another part of it, counts no more.

    Args:
        k: 1 or more.
        key: of the metadata. A case without it, or with an empty list, is not scored.
        name: of the metric; None: ``recall@`` and the number.

    Raises:
        InvalidInput: ``k`` is less than 1, or no number.
    """
    _check_rank(k)
    return _make(name or f"recall@{k}", key, f"k={k}", lambda hits, relevant: sum(hits[:k]) / relevant)


def mrr(*, key: str = "relevant", name: str = "mrr") -> NamedScorer:
    """Return a scorer: one divided by the rank of the first relevant document; 0 without one. See `recall_at`."""

    def measure(hits: Sequence[int], relevant: int) -> float:
        return next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)

    return _make(name, key, "", measure)


def ndcg_at(k: int, *, key: str = "relevant", name: str | None = None) -> NamedScorer:
    """Return a scorer: how early the relevant documents come among the first ``k``, 1 being the best order.

    It is the discounted gain, divided by that of the best order: ``ndcg@5``. See `recall_at` for arguments and errors.
    """
    _check_rank(k)

    def measure(hits: Sequence[int], relevant: int) -> float:
        best = sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
        gain = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits[:k], 1) if hit)
        return min(gain / best, 1.0)  # rounding may drive it out

    return _make(name or f"ndcg@{k}", key, f"k={k}", measure)


def cites(*, name: str = "cites") -> NamedScorer:
    """Return a scorer: whether the answer cites a source at least, and none that it was not given."""

    def score(answer: Answer, case: Case) -> Score:
        if answer.unsupported:
            return Score(False, f"cites what is not there: {', '.join(map(str, answer.unsupported))}")
        return Score(bool(answer.citations), "" if answer.citations else "cites nothing")

    return NamedScorer(name, score)


def _make(name: str, key: str, arguments: str, measure: Callable[[Sequence[int], int], float]) -> NamedScorer:
    def score(answer: Answer, case: Case) -> Score | None:
        wanted = _read_relevant(case, key)
        if not wanted:
            return None
        hits = _count_hits(answer, wanted)
        return Score(measure(hits, len(wanted)), f"{sum(hits)} of {len(wanted)} among {len(hits)} documents")

    return NamedScorer(name, score, f"{arguments} key={key}".strip())


def _read_relevant(case: Case, key: str) -> set[str]:
    given: object = case.metadata.get(key)
    several = [given] if isinstance(given, str) else given
    if several is None or several == "":
        return set()
    if not isinstance(several, list | tuple | set | frozenset):
        raise InvalidInput(
            f"the case {case.id!r} has {key} = {excerpt(given)}; it is an id or a source, or a list of them"
        )
    return {str(one) for one in several if one != ""}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _count_hits(answer: Answer, wanted: set[str]) -> list[int]:
    """Return for each document how many it is of those that were not found before it."""
    left = set(wanted)
    hits: list[int] = []
    for document in answer.documents:
        found = {document.id, document.source} & left
        hits.append(len(found))
        left -= found
    return hits


def _check_rank(k: object) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InvalidInput(f"k is {k!r}; it is a number of documents, 1 or more")
