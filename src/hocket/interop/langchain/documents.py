"""What reads documents and what keeps some of them, of LangChain's, in hocket. Their sync code is called, in worker threads
under an event loop, so that it runs on trio, too.
"""

from collections.abc import Iterator, Sequence

from langchain_core.cross_encoders import BaseCrossEncoder as LCBaseCrossEncoder
from langchain_core.document_loaders import BaseLoader as LCBaseLoader
from langchain_core.documents import BaseDocumentCompressor as LCBaseDocumentCompressor

from hocket.callbacks import Callbacks
from hocket.cross_encoders import BaseCrossEncoder
from hocket.document_loaders import BaseLoader
from hocket.documents import BaseDocumentCompressor, Document
from hocket.interop.langchain.callables import Forwarding
from hocket.interop.langchain.values import document_from_langchain, document_to_langchain

__all__ = ["LangChainCompressor", "LangChainCrossEncoder", "LangChainLoader"]


class LangChainLoader(Forwarding, BaseLoader):
    """A loader of LangChain's in hocket. Made by `from_langchain`."""

    _original = "loader"

    def __init__(self, loader: LCBaseLoader) -> None:
        self.loader: LCBaseLoader = loader

    def lazy_load(self) -> Iterator[Document]:
        """Return an iterator over the documents, which are loaded as it is read."""
        for document in self.loader.lazy_load():
            yield document_from_langchain(document)


class LangChainCompressor(Forwarding, BaseDocumentCompressor):
    """What keeps of some documents what a question is about, of LangChain's, in hocket. Made by `from_langchain`."""

    _original = "compressor"

    def __init__(self, compressor: LCBaseDocumentCompressor) -> None:
        self.compressor: LCBaseDocumentCompressor = compressor

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Return what the question is about. LangChain's own runs inside are told to nobody."""
        kept = self.compressor.compress_documents([document_to_langchain(one) for one in documents], query)
        return [document_from_langchain(one) for one in kept]


class LangChainCrossEncoder(Forwarding, BaseCrossEncoder):
    """A model of LangChain's that scores pairs of texts, in hocket. Made by `from_langchain`."""

    _original = "cross_encoder"

    def __init__(self, cross_encoder: LCBaseCrossEncoder) -> None:
        self.cross_encoder: LCBaseCrossEncoder = cross_encoder

    def score(self, text_pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return a number for each pair."""
        return self.cross_encoder.score(text_pairs)
