"""What keeps of some documents those that a question is about, or several such steps in a row."""

from collections.abc import Sequence

from hocket._runtime.mode import ASYNC
from hocket.callbacks.base_manager import Callbacks
from hocket.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from hocket.embeddings import Embeddings
from hocket.embeddings.base import check_vectors
from hocket.embeddings.similarity import measure_cosine
from hocket.errors import InvalidInput
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch

__all__ = ["DocumentCompressorPipeline", "EmbeddingsFilter"]


class EmbeddingsFilter(BaseDocumentCompressor):
    """Keeps the documents whose vectors are nearest to the question's, best first, each with its ``score``, the cosine.

    Args:
        embeddings: the model. The documents are embedded again for each question: give a `CacheBackedEmbeddings` for
            those that come often.
        k: documents at most; None: any number.
        similarity_threshold: the least score, from -1 to 1; None: any.

    Raises:
        InvalidInput: neither is given, or one is out of its range.
        InvalidHook: by the verbs: the model returned too few vectors.
    """

    def __init__(
        self, embeddings: Embeddings, *, k: int | None = 20, similarity_threshold: float | None = None
    ) -> None:
        if k is None and similarity_threshold is None:
            raise InvalidInput("an EmbeddingsFilter needs k or similarity_threshold: without both it keeps everything")
        if k is not None and k < 1:
            raise InvalidInput(f"k is {k!r}; it is a whole number above 0")
        if similarity_threshold is not None and not -1 <= similarity_threshold <= 1:
            raise InvalidInput(f"similarity_threshold is {similarity_threshold!r}; it is a cosine, from -1 to 1")
        self.embeddings: Embeddings = embeddings
        self.k: int | None = k
        self.similarity_threshold: float | None = similarity_threshold

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Return the documents that are near to the question."""
        if not documents:
            return []
        texts = [one.page_content for one in documents]

        async def embed(what: str | list[str], _: RunnableConfig) -> Sequence[Sequence[float]]:
            if isinstance(what, str):
                return [await self.embeddings.aembed_query(what)]
            return await self.embeddings.aembed_documents(what)

        asked: list[str | list[str]] = [query, texts]
        (vector,), vectors = await Batch(embed, asked, None, return_exceptions=False).collect()
        return await ASYNC.call_sync(self._choose, documents, vector, vectors)

    def _choose(
        self, documents: Sequence[Document], vector: Sequence[float], vectors: Sequence[Sequence[float]]
    ) -> list[Document]:
        check_vectors([vector], 1, self.embeddings)
        check_vectors(vectors, len(documents), self.embeddings)
        scores = [measure_cosine(vector, one) for one in vectors]
        least = -1.0 if self.similarity_threshold is None else self.similarity_threshold
        best = sorted((place for place, score in enumerate(scores) if score >= least), key=lambda place: -scores[place])
        return [documents[place].model_copy(update={"score": scores[place]}) for place in best[: self.k]]


class DocumentCompressorPipeline(BaseDocumentCompressor):
    """Several steps in a row, each over what the one before has left.

        DocumentCompressorPipeline([RecursiveCharacterTextSplitter(chunk_size=500), EmbeddingsFilter(model, k=5)])

    Args:
        transformers: compressors, and transformers, such as a splitter, which know nothing of the question.

    Raises:
        InvalidInput: there are none, or one of them is something else.
    """

    def __init__(self, transformers: Sequence[BaseDocumentTransformer | BaseDocumentCompressor]) -> None:
        if not transformers:
            raise InvalidInput("a pipeline has at least one step")
        for one in transformers:
            if not isinstance(one, BaseDocumentTransformer | BaseDocumentCompressor):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
                raise InvalidInput(f"{one!r:.200} is neither a BaseDocumentTransformer nor a BaseDocumentCompressor")
        self.transformers: list[BaseDocumentTransformer | BaseDocumentCompressor] = list(transformers)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Return what the last step has left; when nothing is left, the steps behind are not asked."""
        for step in self.transformers:
            if not documents:
                return []
            if isinstance(step, BaseDocumentCompressor):
                documents = await step.acompress_documents(documents, query, callbacks)
            else:
                documents = await step.atransform_documents(documents)
        return documents
