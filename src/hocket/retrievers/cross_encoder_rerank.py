"""Documents put in order by a model that reads each of them together with the question."""

from collections.abc import Sequence

from hocket.callbacks.base_manager import Callbacks
from hocket.cross_encoders import BaseCrossEncoder
from hocket.documents import BaseDocumentCompressor, Document
from hocket.errors import InvalidHook, InvalidInput

__all__ = ["CrossEncoderReranker"]


class CrossEncoderReranker(BaseDocumentCompressor):
    """Keeps the documents that answer a question best, best first, each with its ``score``, the model's number.

    Args:
        model: reads each document with the question.
        top_n: documents at most.

    Raises:
        InvalidInput: ``top_n`` is no whole number above 0.
        InvalidHook: by the verbs: the model returned too few numbers.
    """

    def __init__(self, model: BaseCrossEncoder, top_n: int = 3) -> None:
        if top_n < 1:
            raise InvalidInput(f"top_n is {top_n!r}; it is a whole number above 0")
        self.model: BaseCrossEncoder = model
        self.top_n: int = top_n

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Return the documents that answer best. Without documents no model is asked."""
        if not documents:
            return []
        found = await self.model.ascore([(query, one.page_content) for one in documents])
        scores = [float(score) for score in found]
        if len(scores) != len(documents):
            raise InvalidHook(f"{type(self.model).__name__} returned {len(scores)} scores for {len(documents)} texts")
        best = sorted(range(len(documents)), key=lambda place: -scores[place])[: self.top_n]
        return [documents[place].model_copy(update={"score": scores[place]}) for place in best]
