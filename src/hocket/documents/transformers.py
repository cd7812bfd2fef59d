"""What turns documents into others: all of them (a splitter, a filter), or those that a question is about.

Of the two verbs of a class a subclass defines one, and the other follows.
"""

import functools
from collections.abc import Sequence
from typing import ClassVar

from hocket._runtime.definitions import EitherVerb
from hocket._runtime.mode import ASYNC
from hocket._runtime.portal import run_in_portal
from hocket.callbacks.base_manager import Callbacks
from hocket.documents.document import Document

__all__ = ["BaseDocumentCompressor", "BaseDocumentTransformer"]


class BaseDocumentTransformer(EitherVerb):
    """Turns documents into others. A subclass defines `atransform_documents` or, in sync code, `transform_documents`."""

    _verbs: ClassVar = ("transform_documents",)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: object) -> Sequence[Document]:
        """Return the documents that are made of these. By default `transform_documents`, in a worker thread."""
        return await ASYNC.call_sync(self.transform_documents, documents, **kwargs)

    def transform_documents(self, documents: Sequence[Document], **kwargs: object) -> Sequence[Document]:
        """Return the documents that are made of these: the sync face of `atransform_documents`."""
        return run_in_portal(functools.partial(self.atransform_documents, documents, **kwargs))


class BaseDocumentCompressor(EitherVerb):
    """Keeps of some documents what a question is about: fewer of them, shorter ones, or in a better order.

    A subclass defines `acompress_documents` or, in sync code, `compress_documents`.
    """

    _verbs: ClassVar = ("compress_documents",)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Return what the question is about. By default `compress_documents`, in a worker thread.

        Args:
            documents: what was found, best first.
            query: the question.
            callbacks: for runs that this takes, such as those of a model.
        """
        return await ASYNC.call_sync(self.compress_documents, documents, query, callbacks)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Return what the question is about: the sync face of `acompress_documents`."""
        return run_in_portal(functools.partial(self.acompress_documents, documents, query, callbacks))
