"""What every loader can do: four verbs, of which one is enough.

Loading is sync code at heart: a generator that opens a file, reads a piece of it, and yields. The async verb runs it in
worker threads, a batch at a time: a thread is used only while something is read, so that many slow readers hold none,
and the generator is closed where the stream is left.
"""

import functools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from hocket._runtime.definitions import EitherVerb
from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.documents import Document

__all__ = ["AHEAD", "BaseLoader", "StreamLoader", "read_in_threads"]

AHEAD = 4
"""Documents that wait for the reader of a stream: each may be a whole file."""

BATCH = 64  # documents that one visit to a worker thread reads at most,
BATCH_CHARACTERS = 65_536  # so much text,
BATCH_SECONDS = 0.02  # and so long: the first document is there at once


class BaseLoader(EitherVerb):
    """Loads documents. A subclass defines `lazy_load`, a generator, or `alazy_load`, an async one; the rest follows.

    Nothing is opened before the first document is asked for, and each load begins again.
    """

    _verbs: ClassVar = ("lazy_load",)

    def lazy_load(self) -> Iterator[Document]:
        """Return an iterator over the documents, which are loaded as it is read. By default: those of `alazy_load`."""
        return SyncStream(self._forward, stepped=False)

    def load(self) -> list[Document]:
        """Load all documents at once."""
        return list(self.lazy_load())

    def alazy_load(self) -> AsyncIterator[Document]:
        """Return an async iterator over the documents, which are loaded as it is read. By default: those of `lazy_load`.

        It is a `Stream`, which may be left anywhere: what is open behind it is closed when `aclose` returns, or a cancelled
        pull. Reading happens in worker threads, which cannot be stopped: a document that is being read is waited for, five
        seconds at most.
        """
        return Stream(functools.partial(read_in_threads, self.lazy_load), bound=AHEAD)

    async def aload(self) -> list[Document]:
        """Load all documents at once."""
        documents = self.alazy_load()
        try:
            return [document async for document in documents]
        finally:
            await _aclose(documents)

    async def _forward(self, sink: Sink[Document]) -> None:
        documents = self.alazy_load()
        try:
            async for document in documents:
                if (waiting := sink.put(document)) is not None:
                    await waiting
        finally:
            await _aclose(documents)


class StreamLoader(BaseLoader):
    """A loader whose async iterator is known to be a `Stream`, as all of hocket's are."""

    if TYPE_CHECKING:  # a loader of the user's own may have an async generator there

        def alazy_load(self) -> Stream[Document]:
            """Return a stream of the documents."""
            ...


class _Closable(Protocol):
    async def aclose(self) -> object: ...


async def _aclose(documents: AsyncIterator[Document]) -> None:
    if hasattr(documents, "aclose"):
        await ASYNC.finish_within_grace(cast("_Closable", documents).aclose())


async def read_in_threads(load: Callable[[], Iterator[Document]], sink: Sink[Document]) -> None:
    """Hand over the documents of a sync iterator, which is read in worker threads."""
    reader = _BatchReader(load)
    try:
        while batch := await ASYNC.call_sync(reader.read):
            for document in batch:
                if (waiting := sink.put(document)) is not None:
                    await waiting
    finally:
        if not reader.over:  # the thread that reads ends at its next document; a file is closed when this has ended
            await ASYNC.finish_within_grace(ASYNC.call_sync(reader.close))


class _BatchReader:
    """A sync iterator of documents, read by one worker thread after another."""

    def __init__(self, load: Callable[[], Iterator[Document]]) -> None:
        self._load = load
        self._documents: Iterator[Document] | None = None
        self._failure: Exception | None = None
        self._left = False
        self._lock = threading.Lock()
        self.over = False

    def read(self) -> list[Document]:
        """Return some documents; none at the end."""
        with self._lock:
            batch: list[Document] = []
            try:
                self._fill(batch)
            except Exception as error:
                self.over = True
                if not batch:
                    raise
                self._failure = error  # after what came before it
            return batch

    def _fill(self, batch: list[Document]) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self.over or self._left:
            return
        if self._documents is None:
            self._documents = iter(self._load())
        characters, until = 0, time.monotonic() + BATCH_SECONDS
        for document in self._documents:
            batch.append(document)
            characters += len(document.page_content)
            if self._left or len(batch) == BATCH or characters >= BATCH_CHARACTERS or time.monotonic() > until:
                return
        self.over = True

    def close(self) -> None:
        """Close the iterator, as soon as the thread that reads it has its next document."""
        self._left = True
        with self._lock:
            getattr(self._documents, "close", bool)()
