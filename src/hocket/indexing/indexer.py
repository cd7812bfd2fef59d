"""Documents into a store, batch by batch: those in the store stay, and those removed from their source are deleted.

The store itself is asked what it has, so that nothing can get out of step, and a process that is killed goes on where its
last batch was stored. A record beside it only says which files need not be read for that (`hocket.indexing.stamps`).
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Self, TypeAlias

import anyio
from typing_extensions import TypedDict

from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Stream
from hocket._runtime.sync_twin import sync_function
from hocket.document_loaders import FilesLoader
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.indexing.batches import DocumentSource, open_batches
from hocket.indexing.ids import IdSet, make_id
from hocket.indexing.stamps import Stamps
from hocket.runnables.batch import Batch
from hocket.text_splitters import TextSplitter
from hocket.vectorstores import VectorStore
from hocket.vectorstores.filters import check_document

__all__ = ["Cleanup", "IndexingResult", "aindex", "index"]

Cleanup: TypeAlias = Literal["incremental", "full"] | None
"""Which stale documents are deleted: of the sources that are met (``incremental``), of all (``full``), or none."""

_FEW_SOURCES = 20
"""Sources that one filter may name. Above that it is cheaper to look at each document that this run has not met."""

_AT_ONCE = 1_000

_PLAIN = frozenset((str, int, bool, type(None)))
"""Types of values that JSON gives back as they are."""

_encode_facts = json.JSONEncoder(sort_keys=True).encode


class IndexingResult(TypedDict):
    """How many documents were new, had changed, were in the store already, and were deleted."""

    num_added: int
    num_updated: int
    num_skipped: int
    num_deleted: int


async def aindex(
    docs: DocumentSource,
    store: VectorStore,
    cleanup: Cleanup = None,
    source_id_key: str = "source",
    batch_size: int = 100,
    *,
    splitter: TextSplitter | None = None,
    max_concurrency: int = 4,
    stamps: str | os.PathLike[str] | None = None,
) -> IndexingResult:
    """Bring a store up to some documents. Only texts that it has no vector of are embedded.

    Documents are read, embedded and stored batch by batch, each batch whole or not at all, and in their order: some are
    embedded at once, and the next one is read meanwhile. A source of any length takes the memory of these batches, and 24
    bytes for each document. A run that was cancelled, failed or killed can be made again: what it has stored is skipped.

        loader = open_documents("handbook", on_error="skip")
        result = await aindex(loader, store, cleanup="full", splitter=RecursiveCharacterTextSplitter(chunk_size=900))

    A document keeps its own id. One that has none gets one made of its source, its text, and how many equal texts of the
    source come before it: a paragraph that moves within its source keeps it.

    Args:
        docs: documents, as a list, an iterable (read in worker threads), an async iterable, a stream, or a loader.
        store: where to.
        cleanup: what is deleted, when all documents are stored: None: nothing; "incremental": of each source that was
            met, the documents that it no longer has; "full": all that were in the store before and were not met.
            Nothing is deleted if the documents end in an error, or if there are none, and no file that was read and is
            blank: `VectorStore.adelete` empties a store. What a loader could not read is left alone, but for what its
            ``metadata`` now says of it: the documents of a file, or of all files in a folder that cannot be listed; "full"
            then deletes only what is in files below the loader's paths that were read, or are not there. So give the loader
            itself, and a ``splitter``: of a stream that is made of its documents nobody knows what was skipped, and "full"
            deletes that.
        source_id_key: which of a document's metadata names its source.
        batch_size: documents in a batch. A larger one makes fewer and larger requests of a remote model, and loses more
            when the run is killed.
        splitter: cuts the documents into the pieces that are stored; None: they are stored as they are.
        max_concurrency: batches that are embedded at once, at most; those that are not stored yet are lost when the run is
            killed. 1: for a model that must not be called by two threads at once.
        stamps: the path of a file that keeps sizes and times of the files that ``docs`` reads: those that have not
            changed, nor what the loader's ``metadata`` says of them, are not opened the next time, and "incremental" then
            deletes the documents of files that are gone, too. Each store has one of its own. Pages on the web are always
            read. None: every file is read.

    Raises:
        InvalidInput: something is no document; two documents with one id differ; with "incremental", one has no source,
            which is a text; or the store cannot list its documents, which a cleanup needs (nothing was embedded then).
        InvalidHook: the embedding model returned something else than a vector for each text. Nothing of the batch is stored.
        VectorStoreError: the store cannot be read or written, or holds vectors of another model.
        Exception: what ``docs`` and the embedding model raise, when the batches before it are stored.
    """
    _check_arguments(store, cleanup, source_id_key, batch_size, max_concurrency)
    known = None if stamps is None else Stamps(stamps, docs, splitter)
    if known is not None:
        await known.look(store, source_id_key)
        docs = known.loader
    batches = open_batches(docs, batch_size, splitter)
    indexer = _Indexer(store, cleanup, source_id_key, batches, known)
    await indexer.look_at_store()
    async with batches:
        await Batch(indexer.store, indexer, {"max_concurrency": max_concurrency}, return_exceptions=False).collect()
    if cleanup is not None:
        loader = docs if isinstance(docs, FilesLoader) else None
        await indexer.update_facts(loader)
        await indexer.delete_stale(loader)
    if known is not None:
        await known.write(indexer.sources)
    return indexer.result


index: Final = sync_function(aindex)
"""Bring a store up to some documents: the sync twin of `aindex`."""


@dataclass
class _Work:
    """A batch on its way into the store.

    Attributes:
        before: set when the batch before it is stored.
        stored: set when this one is.
        count: documents in it.
        changed: those of them that the store lacks.
        updated: how many of these take the place of others.
        texts: those that are embedded for it. Others are in a batch before it, with which their vectors get into the store.
        failure: there are no documents, but this.
    """

    before: anyio.Event
    stored: anyio.Event = field(default_factory=anyio.Event)
    count: int = 0
    changed: list[Document] = field(default_factory=list[Document])
    updated: int = 0
    texts: list[str] = field(default_factory=list[str])
    failure: Exception | None = None


class _Indexer:
    """One run: an async iterator over the batches, looked at one after another, and what stores them in this order.

    Attributes:
        result: of what is done so far.
        sources: documents of each source that was met, if anybody wants to know.
    """

    def __init__(
        self,
        store: VectorStore,
        cleanup: Cleanup,
        source_id_key: str,
        batches: Stream[list[Document]],
        known: Stamps | None,
    ) -> None:
        self.result: IndexingResult = {"num_added": 0, "num_updated": 0, "num_skipped": 0, "num_deleted": 0}
        self.sources: Counter[str] = Counter()
        self._known = known
        self._store = store
        self._cleanup = cleanup
        self._source_id_key = source_id_key
        self._ids = IdSet()
        self._equal_texts: dict[str, int] = {}  # id of the first of some equal texts of a source → how many follow it
        self._before: list[str] = []
        self._batches = batches
        self._coming: dict[str, Document] = {}  # what is being embedded, and not stored yet, by id
        self._last = anyio.Event()  # set when the last batch that was looked at is stored
        self._last.set()
        for key in () if known is None else known.kept:
            self._ids.add(key)
            self.result["num_skipped"] += 1

    async def look_at_store(self) -> None:
        """List the present documents: those that others add meanwhile must stay. A store refuses that is of another
        model, or that cannot list its documents."""
        await self._store.afind_vectors([""])
        if self._cleanup == "full":
            self._before = await self._store.alist_ids()
        elif self._cleanup == "incremental":
            await self._store.alist_ids({self._source_id_key: {"$in": []}})

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Work:
        """Read the next batch, and find out what of it the store lacks. An error of the source takes its turn, too."""
        work = _Work(self._last)
        self._last = work.stored
        batch: Sequence[Document] | None = None
        try:
            batch = await anext(self._batches, None)
            if batch is not None:
                await self._look_at(batch, work)
        except Exception as error:
            work.failure = error
        if batch is None and work.failure is None:
            raise StopAsyncIteration
        return work

    async def _look_at(self, batch: Sequence[Document], work: _Work) -> None:
        documents, repeated = await ASYNC.call_sync(self._name, batch)
        stored = {str(one.id): one for one in await self._store.aget_by_ids(list(documents))}
        there = stored | self._coming
        work.count = len(batch)
        for key, document in documents.items():
            if key not in there or not _is_same(document, there[key]):
                if key in repeated:
                    raise _refuse_twin(key)
                work.changed.append(check_document(document))
                work.changed[-1].id = key
        work.updated = sum(one.id in stored for one in work.changed)
        embedded = {one.page_content for one in self._coming.values()}
        work.texts = [one.page_content for one in work.changed if one.page_content not in embedded]
        self._coming.update((str(one.id), one) for one in work.changed)

    async def store(self, work: _Work, config: object) -> None:
        """Embed a batch, at once with others, and store it when its turn has come; also an error waits for its turn."""
        failure, vectors = work.failure, dict[str, Sequence[float]]()
        try:
            vectors = await self._embed(work.texts)
        except Exception as error:
            failure = error
        await work.before.wait()
        if failure is not None:
            raise failure
        if work.changed:
            texts = [one.page_content for one in work.changed]
            vectors |= await self._embed([text for text in texts if text not in vectors])
            await self._store.aadd_vectors(work.changed, [vectors[text] for text in texts])
        for one in work.changed:
            del self._coming[str(one.id)]
        self.result["num_added"] += len(work.changed) - work.updated
        self.result["num_updated"] += work.updated
        self.result["num_skipped"] += work.count - len(work.changed)
        work.stored.set()

    async def _embed(self, texts: Sequence[str]) -> dict[str, Sequence[float]]:
        """Return a vector of each text, by text; those of the store where it has one."""
        return dict(zip(texts, await self._store.aembed_texts(texts), strict=True)) if texts else {}

    async def delete_stale(self, loader: FilesLoader | None) -> None:
        """Delete what is no longer there.

        Args:
            loader: knows which files were read, blank ones too, and which were not: of these nothing is deleted.
        """
        failed = set[str]() if loader is None else loader.list_failed()
        read = (self.sources.keys() | (set[str]() if loader is None else loader.read_files)) - failed
        if not len(self._ids) and not read:
            return
        gone = () if self._known is None else await ASYNC.call_sync(self._known.list_gone)
        stale = self._before if self._cleanup == "full" else await self._list_ids_of_sources(read.union(gone))
        stale = [one for one in stale if one not in self._ids]
        for start in range(0, len(stale), _AT_ONCE):
            ids = stale[start : start + _AT_ONCE]
            if self._cleanup == "full" and loader is not None and failed:
                documents = await self._store.aget_by_ids(ids)
                ids = await ASYNC.call_sync(self._list_lost, documents, read, loader)
            await self._store.adelete(ids)
            self.result["num_deleted"] += len(ids)

    async def update_facts(self, loader: FilesLoader | None) -> None:
        """Give documents of what could not be read the metadata that their paths have now: rights may be among them."""
        if loader is None or loader.metadata is None:
            return
        failed = loader.list_failed()
        folders = tuple(path for path in failed if path.endswith(("/", os.sep)))
        ids = await self._list_ids_of_sources(failed, folders)
        for start in range(0, len(ids), _AT_ONCE):
            documents = await self._store.aget_by_ids(ids[start : start + _AT_ONCE])
            changed = await ASYNC.call_sync(self._change_facts, documents, loader)
            if texts := [one.page_content for one in changed]:
                await self._store.aadd_vectors(changed, await self._store.aembed_texts(texts))
            self.result["num_updated"] += len(changed)

    def _change_facts(self, documents: Sequence[Document], loader: FilesLoader) -> list[Document]:
        """Return those of some documents whose metadata are no longer what is said of their paths, with the new ones."""
        key = self._source_id_key
        facts = {source: loader.read_path(source) for source in {str(one.metadata[key]) for one in documents}}
        now = [
            Document(one.page_content, id=one.id, metadata=one.metadata | facts[one.metadata[key]]) for one in documents
        ]
        return [check_document(one) for one, before in zip(now, documents, strict=True) if not _is_same(one, before)]

    def _list_lost(self, documents: Sequence[Document], read: set[str], loader: FilesLoader) -> list[str]:
        """Return the ids of the documents that are gone for certain: their file was read without them, or is not there."""
        lost: list[str] = []
        for document in documents:
            source = document.metadata.get(self._source_id_key)
            if isinstance(source, str) and (source in read or loader.has_lost(source)):
                lost.append(str(document.id))
        return lost

    async def _list_ids_of_sources(self, sources: set[str], folders: tuple[str, ...] = ()) -> list[str]:
        """Return the ids of all documents of some sources; of many, or of folders, only of documents that were not met."""
        if len(sources) <= _FEW_SOURCES and not folders:
            return await self._store.alist_ids({self._source_id_key: {"$in": sorted(sources)}}) if sources else []
        others = [one for one in await self._store.alist_ids() if one not in self._ids]
        found: list[str] = []
        for start in range(0, len(others), _AT_ONCE):
            documents = await self._store.aget_by_ids(others[start : start + _AT_ONCE])
            named = [(str(one.id), one.metadata.get(self._source_id_key)) for one in documents]
            found += [id for id, of in named if isinstance(of, str) and (of in sources or of.startswith(folders))]
        return found

    def _name(self, batch: Sequence[Document]) -> tuple[dict[str, Document], set[str]]:
        """Return documents by their ids, and the ids that earlier batches have had."""
        named: dict[str, Document] = {}
        repeated: set[str] = set()
        for given in batch:
            document = given if _is_plain(given) else check_document(given)
            source = document.metadata.get(self._source_id_key)
            if self._cleanup == "incremental":
                _check_source(source, self._source_id_key, document)
            is_new = True
            key = document.id
            if key is None:
                key = self._make_new_id(source, document.page_content)
            elif not (is_new := self._ids.add(key)) and key not in named:
                repeated.add(key)
            if (self._cleanup is not None or self._known is not None) and isinstance(source, str):
                self.sources[source] += is_new
            if not _is_same(document, named.setdefault(key, document)):
                raise _refuse_twin(key)
        return named, repeated

    def _make_new_id(self, source: object, text: str) -> str:
        first = make_id(source, text)
        if self._ids.add(first):
            return first
        occurrence = self._equal_texts[first] = self._equal_texts.get(first, 0) + 1
        name = make_id(source, text, occurrence)
        self._ids.add(name)
        return name


def _is_plain(document: object) -> bool:
    """Whether a store gives a document back as it is: most are so, and need no look by way of JSON."""
    if not isinstance(document, Document) or document.id == "":
        return False
    facts = document.metadata
    return _PLAIN.issuperset(map(type, facts.values())) and all(type(key) is str for key in facts)


def _is_same(document: Document, other: Document) -> bool:
    """Whether two documents of one id say the same. Metadata are compared as JSON: true is not 1 there."""
    if document is other:
        return True
    facts, others = document.metadata, other.metadata
    if document.page_content != other.page_content or facts != others:
        return False
    types = [*map(type, facts.values())]
    if _PLAIN.issuperset(types) and types == [*map(type, others.values())]:
        return True
    return _encode_facts(facts) == _encode_facts(others)


def _refuse_twin(key: str) -> InvalidInput:
    return InvalidInput(
        f"two different documents have the id {key!r}; give each its own, or none: it is then made of the text"
    )


def _check_source(source: object, key: str, document: Document) -> None:
    if not isinstance(source, str) or not source:
        raise InvalidInput(
            f"cleanup='incremental' needs the source of each document, a text under {key!r} in its metadata; "
            f"{document.page_content[:40]!r} has {source!r} there. Set it, or name another key with source_id_key"
        )


def _check_arguments(
    store: object, cleanup: object, source_id_key: object, batch_size: object, max_concurrency: object
) -> None:
    if not isinstance(store, VectorStore):
        raise InvalidInput(
            f"store is {type(store).__name__}; it is a VectorStore. There is no record manager: aindex(documents, store)"
        )
    if cleanup not in (None, "incremental", "full"):
        raise InvalidInput(f"cleanup is {cleanup!r}; it is None, 'incremental' or 'full'")
    if not isinstance(source_id_key, str) or not source_id_key or source_id_key.startswith("$"):
        raise InvalidInput(f"source_id_key is {source_id_key!r}; it is the name of a key in the metadata: 'source'")
    for name, number in (("batch_size", batch_size), ("max_concurrency", max_concurrency)):
        if not isinstance(number, int) or number < 1:
            raise InvalidInput(f"{name} is {number!r}; it is a whole number above 0")
