"""Loaders in two parts: one finds raw content, wherever it is, and the other reads it. LangChain's names."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from hocket.document_loaders.base import StreamLoader
from hocket.documents import Blob, Document

__all__ = ["BaseBlobParser", "BlobLoader", "GenericLoader"]


class BlobLoader(ABC):
    """Finds raw content. A subclass defines `yield_blobs`."""

    @abstractmethod
    def yield_blobs(self) -> Iterator[Blob]:
        """Return an iterator over the blobs, which are found as it is read."""


class BaseBlobParser(ABC):
    """Reads raw content as documents. A subclass defines `lazy_parse`."""

    @abstractmethod
    def lazy_parse(self, blob: Blob) -> Iterator[Document]:
        """Return an iterator over the documents of a blob, which are made as it is read."""

    def parse(self, blob: Blob) -> list[Document]:
        """Return all documents of a blob."""
        return list(self.lazy_parse(blob))


class GenericLoader(StreamLoader):
    """Loads the documents that a parser reads out of the blobs that a blob loader finds, one blob after another.

    Under an event loop both work in worker threads, as every loader's `lazy_load`.

    Args:
        blob_loader: finds.
        blob_parser: reads.
    """

    def __init__(self, blob_loader: BlobLoader, blob_parser: BaseBlobParser) -> None:
        self.blob_loader: BlobLoader = blob_loader
        self.blob_parser: BaseBlobParser = blob_parser

    def lazy_load(self) -> Iterator[Document]:
        """Yield the documents of each blob."""
        for blob in self.blob_loader.yield_blobs():
            yield from self.blob_parser.lazy_parse(blob)
