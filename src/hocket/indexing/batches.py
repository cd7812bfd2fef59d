"""Whatever gives documents, read in batches: the next one is read while one is embedded."""

import functools
from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterable, Sequence
from typing import Protocol, TypeAlias

from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Sink, Stream
from hocket.document_loaders import BaseLoader
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.text_splitters import TextSplitter

__all__ = ["DocumentSource", "Loadable", "open_batches"]


class Loadable(Protocol):
    """A loader: hocket's, LangChain's or one's own."""

    def alazy_load(self) -> AsyncIterator[Document]:
        """Return an async iterator over its documents."""
        ...


DocumentSource: TypeAlias = Iterable[Document] | AsyncIterable[Document] | Loadable
"""Documents, as they are or as they come, or what loads them."""


def open_batches(source: DocumentSource, size: int, splitter: TextSplitter | None = None) -> Stream[list[Document]]:
    """Return the documents of ``source``, or their pieces, in lists of ``size``, the last one shorter. A sync iterable is
    read in worker threads.

    An error of the source is raised behind the full batches that were read before it. Leaving the stream closes the source.

    Raises:
        InvalidInput: it is no source of documents, or the splitter is none.
    """
    if isinstance(source, str | bytes | Document):
        raise InvalidInput(f"the documents are of type {type(source).__name__}; give a list of documents, or a loader")
    if splitter is not None:
        if not isinstance(splitter, TextSplitter):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"splitter is {type(splitter).__name__}; it is a TextSplitter")
        whole = source if isinstance(source, Iterable | AsyncIterable) else _open_loader(source)
        return Stream(functools.partial(_read, splitter.alazy_split_documents(whole), size), bound=1)
    if isinstance(source, Sequence):
        return Stream(functools.partial(_cut, source, size), bound=1)
    if isinstance(source, AsyncIterable):
        return Stream(functools.partial(_read, aiter(source), size), bound=1)
    if isinstance(source, Iterable):
        source = _IterableLoader(source)
    return Stream(functools.partial(_read, _open_loader(source), size), bound=1)


def _open_loader(loader: Loadable) -> AsyncIterator[Document]:
    if not hasattr(loader, "alazy_load"):
        raise InvalidInput(
            f"{type(loader).__name__} gives no documents; it is a list, an iterable, a stream or a loader"
        )
    return loader.alazy_load()


class _IterableLoader(BaseLoader):
    """Loads what an iterable has."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = documents

    def lazy_load(self) -> Generator[Document]:
        """Yield the documents. A generator is closed where this one is left."""
        documents = iter(self._documents)
        try:
            for document in documents:
                if not isinstance(document, Document):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
                    raise InvalidInput(
                        f"a store takes documents, not {type(document).__name__}: Document(text){bridge_hint(document)}"
                    )
                yield document
        finally:
            getattr(documents, "close", bool)()


async def _cut(documents: Sequence[Document], size: int, sink: Sink[list[Document]]) -> None:
    for start in range(0, len(documents), size):
        if (waiting := sink.put(list(documents[start : start + size]))) is not None:
            await waiting


async def _read(documents: AsyncIterator[Document], size: int, sink: Sink[list[Document]]) -> None:
    batch: list[Document] = []
    try:
        async for document in documents:
            batch.append(document)
            if len(batch) == size:
                full, batch = batch, []
                if (waiting := sink.put(full)) is not None:
                    await waiting
        if batch and (waiting := sink.put(batch)) is not None:
            await waiting
    finally:
        close = getattr(documents, "aclose", None)
        if close is not None:
            await ASYNC.finish_within_grace(close())
