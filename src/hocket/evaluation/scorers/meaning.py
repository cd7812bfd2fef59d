"""A scorer of meanings: how near two texts are to each other."""

from hocket.batch.fingerprint import make_fingerprint
from hocket.embeddings import Embeddings
from hocket.embeddings.similarity import measure_cosine
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.evaluation.answer import Answer
from hocket.evaluation.cases import Case
from hocket.evaluation.scorer import NamedScorer

__all__ = ["similar"]


def similar(embeddings: Embeddings, *, name: str = "similar") -> NamedScorer:
    """Return a scorer: the cosine of the answer's text and the expected text, as a model embeds both; below 0 it is 0.

    Unlike texts have cosines far above 0, which differ by model: compare two runs by it, and take no value for itself.
    The expected texts are embedded again in each run, unless `CacheBackedEmbeddings` keep them.

    Raises:
        InvalidInput: ``embeddings`` is no embedding model.
    """
    if not isinstance(embeddings, Embeddings):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(
            f"embeddings is {excerpt(embeddings)}; it is an embedding model, such as init_embeddings(...)"
        )

    async def score(answer: Answer, case: Case) -> float | None:
        wanted: object = case.expected
        if wanted is None:
            return None
        if not isinstance(wanted, str) or not wanted.strip():
            raise InvalidInput(f"the case {case.id!r} expects {excerpt(wanted)}; similar() compares with a text")
        if not answer.text.strip():  # which no model embeds
            return 0.0
        first, second = await embeddings.aembed_documents([answer.text, wanted])
        return max(measure_cosine(first, second), 0.0)

    return NamedScorer(name, score, make_fingerprint(embeddings))
