"""What a search found, and the two ways to put it in another order: by variety, and by meaning and words together."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hocket.documents import Document
from hocket.embeddings.similarity import measure_cosine

__all__ = ["Match", "blend_matches", "maximal_marginal_relevance", "pick_diverse"]


class Match(NamedTuple):
    """A document that a search found.

    Attributes:
        document: with its id.
        score: greater is better.
        vector: of the document; None: the store does not say.
    """

    document: Document
    score: float
    vector: Sequence[float] | None = None


def pick_diverse(found: Sequence[Match], k: int, lambda_mult: float) -> list[Match]:
    """Pick ``k`` of some matches, one after another, each the best by its score and its unlikeness to those before it.

    This is maximal marginal relevance (Carbonell and Goldstein, 1998).

    Args:
        found: with their vectors, best first.
        k: matches at most.
        lambda_mult: the weight of the score; unlikeness has the rest.
    """
    left = list(found)
    picked: list[Match] = []
    likeness = dict.fromkeys(range(len(found)), -1.0)  # of each to the most similar one that was picked
    places = list(range(len(found)))
    while left and len(picked) < k:
        values = [
            lambda_mult * match.score - (1 - lambda_mult) * (likeness[place] if picked else 0.0)
            for match, place in zip(left, places, strict=True)
        ]
        best = max(range(len(left)), key=values.__getitem__)
        chosen = left.pop(best)
        places.pop(best)
        picked.append(chosen)
        for match, place in zip(left, places, strict=True):
            likeness[place] = max(likeness[place], measure_cosine(match.vector or (), chosen.vector or ()))
    return picked


def maximal_marginal_relevance(
    query_embedding: Sequence[float],
    embedding_list: Sequence[Sequence[float]],
    lambda_mult: float = 0.5,
    k: int = 4,
) -> list[int]:
    """Return the places of ``k`` vectors, each the best by its likeness to a question and its unlikeness to those before.

    Args:
        query_embedding: the vector of the question.
        embedding_list: those to choose from.
        lambda_mult: the weight of the likeness to the question; unlikeness has the rest.
        k: vectors at most.
    """
    found = [
        Match(Document(str(place)), measure_cosine(query_embedding, vector), vector)
        for place, vector in enumerate(embedding_list)
    ]
    picked = pick_diverse(sorted(found, key=lambda match: -match.score), k, lambda_mult)
    return [int(match.document.page_content) for match in picked]


def blend_matches(
    vector: Sequence[float],
    near: Iterable[Match],
    worded: Iterable[Match],
    words: float,
    least_cosine: float | None = None,
) -> list[Match]:
    """Return the matches of two searches, best first by the weighted sum of their scores.

    Each score is scaled to 0…1 among the candidates: cosines from the least to the greatest of them, the scores of words
    by the greatest, so that a document without any of the words gains nothing.

    Args:
        vector: of the question.
        near: found by the vector.
        worded: found by words, with their vectors.
        words: the weight of the words, from 0 to 1.
        least_cosine: of what is returned; None: any. The others count for the scale all the same, so that the order of
            what is left does not depend on it.
    """
    nearness = {match.document.id: match for match in near}
    wordings = {match.document.id: match.score for match in worded if match.score > 0}
    for match in worded:
        if match.document.id not in nearness:
            nearness[match.document.id] = match._replace(score=measure_cosine(vector, match.vector or ()))
    cosines = [match.score for match in nearness.values()]
    least, span = min(cosines, default=0.0), max(cosines, default=0.0) - min(cosines, default=0.0)
    greatest = max(wordings.values(), default=1.0)
    blended = [
        match._replace(
            score=(1 - words) * ((match.score - least) / span if span else 1.0)
            + words * wordings.get(key, 0.0) / greatest
        )
        for key, match in nearness.items()
        if least_cosine is None or match.score >= least_cosine
    ]
    return sorted(blended, key=lambda match: -match.score)
