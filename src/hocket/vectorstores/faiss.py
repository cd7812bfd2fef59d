"""A vector store for a million passages: SQLite's, with an approximate index of FAISS's in a file beside it.

The database has everything; the index is made of it, and finds candidates, whose scores are counted from their vectors in
the database. So whatever happens to the index, no document is lost, and a document is searchable once it is committed: what
came after the index was made is searched exactly, in memory. When that is some thousands, the addition that made it so
many writes the next index, at the end, in its own thread; others may read and write meanwhile.

A document that was deleted or replaced stays in the index until the next one is made. Its number finds nothing in the
database, and the search asks for more.
"""

import glob
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from hocket._databases.file_lock import try_file_lock
from hocket._databases.sqlite import SQLiteDatabase, snapshot, transaction
from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_twin
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import MissingDependency, VectorStoreError
from hocket.vectorstores.cached_rows import CachedRows, RowsView
from hocket.vectorstores.faiss_tables import FaissTables, StoredIndex, narrow
from hocket.vectorstores.filter_sql import Clause, write_condition
from hocket.vectorstores.filters import All, Condition, Filter, check_size, parse_filter
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import Row, normalize
from hocket.vectorstores.sqlite import SQLiteFilters, SQLiteVectorStore
from hocket.vectorstores.sqlite_tables import CollectionState
from hocket.vectorstores.words import split_query

if TYPE_CHECKING:
    from hocket.vectorstores.faiss_index import FaissIndex

__all__ = ["FAISSVectorStore"]

SMALLEST = 20_000
"""Documents from which on there is an index; fewer are searched in a few milliseconds without."""

TAIL = 8_000
"""Documents that came after the index, of which it is made anew; or a 64th of all, where that is more."""

_GROWTH = 4
"""How many times as many documents want other centres."""

_CHUNK = 10_000
_FILTERS = SQLiteFilters("d.metadata")


class _View(NamedTuple):
    """What a search works on: the index, if there is one, and the documents after it."""

    base: "FaissIndex | None"
    tail: RowsView
    size: int

    def search(self, row: Row, count: int, effort: float, wanted: Sequence[int] | None) -> tuple[list[int], bool]:
        """Return the numbers of the nearest documents of each part, and whether there are no more."""
        near = [number for number, *_ in self.tail.search(row, count, wanted)]
        is_all = len(near) < count
        if self.base is None:
            return near, is_all
        more, has_all = self.base.search(row, count, effort, wanted)
        return near + more, is_all and has_all


class _Tail(CachedRows):
    """The vectors of the documents that came after an index.

    Args:
        first: the number of the last one in it.
        state: of the collection.
    """

    def __init__(self, first: int, state: CollectionState) -> None:
        super().__init__(state.size, state.changes, state.removals)
        self.first = self.last = first


class FAISSVectorStore(SQLiteVectorStore):
    """Keeps documents in an SQLite database, as `SQLiteVectorStore` does, in the same tables, and finds them by an index of
    FAISS's, for collections of up to some millions.

    Searches are nearly exact: of the ten nearest of a million some 97 in 100 are found, in a few milliseconds; scores are
    exact. The index is in files beside the database, and takes a byte for each number of a vector; it is mapped, so that a
    store opens at once. It is made from 20,000 documents on, and made anew as they become more: most additions wait for
    nothing, one in some thousands for a second or two at a million documents, and one at each fourfold size for the
    centres to be placed, which takes a minute or two there. A killed process loses at most the unfinished file.

    Filters find what they find everywhere: by a table of keys and values. Searches by words leave out words that very many
    documents have, where a question has rarer ones.

    Args:
        path: the database's file; one of a `SQLiteVectorStore` will do (call `acreate_index` once).
        embedding: the model.
        collection: which documents of the file.

    Raises:
        MissingDependency: ``pip install 'hocket[faiss]'`` brings FAISS.
        InvalidInput, VectorStoreError, EmbeddingMismatch: as of `SQLiteVectorStore`.
    """

    def __init__(self, path: str | os.PathLike[str], embedding: Embeddings, *, collection: str = "documents") -> None:
        if find_spec("faiss") is None:
            raise MissingDependency("FAISSVectorStore needs FAISS; run `pip install 'hocket[faiss]'`")
        super().__init__(path, embedding, collection=collection)
        self._tables: FaissTables = FaissTables(collection, f"{self.path}, {collection!r}")
        self._index: tuple[StoredIndex, FaissIndex | None] | None = None
        self._builder: SQLiteDatabase | None = None
        self._removals = -1

    def __repr__(self) -> str:
        return super().__repr__().replace("SQLite", "FAISS", 1)

    # -- write

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors, in one transaction; then make the index anew, if it is time."""
        await super().aadd_vectors(documents, vectors)
        await self._keep_index()

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all documents."""
        await super().adelete(ids)
        await self._keep_index()

    async def areembed(self, /, *, batch_size: int = 100) -> int:
        """Have all texts embedded by this store's model, and make it the collection's; see `SQLiteVectorStore`."""
        count = await super().areembed(batch_size=batch_size)
        await self._keep_index()
        return count

    async def acreate_index(self, /) -> None:
        """Make the index anew now, with its centres: for a database that had none, or before many searches.

        Additions do so by themselves, when it is time. Where another process is at it already, nothing is done.
        """
        await self._keep_index(is_wanted=True)

    create_index: Final = sync_twin(acreate_index)

    # -- read

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents."""
        condition = None if filter is None else parse_filter(filter)

        def search(connection: sqlite3.Connection) -> list[Match]:
            with snapshot(connection):
                row = normalize(vector)
                view = self._look(connection, len(row))
                return [] if view is None else self._find(connection, view, row, k, condition)

        return await self._read(search)

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the documents that have words of ``query``, best first by BM25."""
        words, condition = split_query(query), parse_filter(filter)
        clause = write_condition(condition, _FILTERS)
        model = self.embeddings.model_id

        def search(connection: sqlite3.Connection) -> list[Match]:
            with snapshot(connection):
                state = self._tables.read_state(connection)
                self._tables.check_model(state, model)
                stored = self._tables.read_index(connection)
                if stored is None or not words:
                    return self._tables.search_words(connection, words, k, clause, model) if words else []
                rare = self._tables.choose_words(connection, words)
                asked = k if filter is None else 8 * k + 64
                found = self._tables.rank_words(connection, rare, asked)
                scores = dict(found)
                there = self._tables.load_where(connection, narrow(clause, [*scores]), model, state.size)
                if len(there) < k and len(found) == asked:
                    return self._tables.search_words(connection, rare, k, clause, model)
                best = sorted(((scores[number], -number, row) for number, row in there), reverse=True)[:k]
                return self._make_matches(connection, [(-number, score, row) for score, number, row in best])

        return await self._read(search)

    # -- inside

    def _look(self, connection: sqlite3.Connection, size: int) -> _View | None:
        """Bring what is in memory up to date, and return it; None: there are no documents. See `_follow`."""
        tables, model = self._tables, self.embeddings.model_id
        state = tables.read_state(connection)
        tables.check_model(state, model)
        if state.model is None:
            return None
        check_size(size, state.size, repr(self))
        stored, index = self._open_index(connection, state)
        first = stored.last if index is not None and stored is not None else 0
        cache = self._cache
        if not isinstance(cache, _Tail) or cache.first != first or not cache.fits(state.size, state.changes):
            cache = _Tail(first, state)
        if cache.last < state.last:
            for numbers, rows in tables.load_rows(connection, cache.last, model, state.size):
                cache.append(numbers, rows)
        if cache.removals != state.removals:
            cache.keep(tables.list_numbers(connection, Clause("d.number > ?", (first,))), state.removals)
        self._cache = cache
        return _View(index, cache.view(), state.size)

    def _open_index(
        self, connection: sqlite3.Connection, state: CollectionState
    ) -> tuple[StoredIndex | None, "FaissIndex | None"]:
        """Return the newest index; one that cannot be read, or is of other vectors, is none."""
        stored = self._tables.read_index(connection)
        if stored is None or (stored.model, stored.changes) != (state.model, state.changes):
            return stored, None
        if self._index is None or self._index[0] != stored:
            from hocket.vectorstores import faiss_index  # FAISS takes a second to load

            opened = None
            with suppress(RuntimeError):  # made of the database again by the next addition
                opened = faiss_index.FaissIndex(os.path.join(self._folder, stored.file))
            self._index = stored, opened
        return self._index

    def _find(
        self, connection: sqlite3.Connection, view: _View, row: Row, k: int, condition: Condition | None
    ) -> list[Match]:
        """Find candidates, look which of them are there and match, and ask for more until they are enough."""
        from hocket.vectorstores import faiss_index

        tables, model = self._tables, self.embeddings.model_id
        clause = Clause("TRUE") if condition is None else write_condition(condition, _FILTERS)
        asked, effort = (2 * k + 32 if condition is None else 8 * k + 64), 1.0
        wanted: list[int] | None = None
        while True:
            numbers, is_all = view.search(row, asked, effort, wanted)
            there = tables.load_where(connection, narrow(clause, numbers), model, view.size)
            if len(there) >= k or is_all:
                break
            if condition is not None and wanted is None and view.base is not None:
                wanted = tables.list_matching(connection, condition)
                if wanted is not None:
                    clause = clause if isinstance(condition, All) else Clause("TRUE")  # they match, one and all
                    continue
            asked, effort = 4 * asked, 4 * effort
        scores = faiss_index.score_rows(row, [one for _, one in there])
        ranked = sorted((-score, number, one) for score, (number, one) in zip(scores, there, strict=True))
        return self._make_matches(connection, [(number, -score, one) for score, number, one in ranked[:k]])

    def _make_matches(self, connection: sqlite3.Connection, found: Iterable[tuple[int, float, Row]]) -> list[Match]:
        rows = list(found)
        documents = self._tables.read_documents(connection, "number", [number for number, *_ in rows])
        return [Match(document, score, row) for document, (_, score, row) in zip(documents, rows, strict=True)]

    # -- the index

    async def _keep_index(self, *, is_wanted: bool = False) -> None:
        await finish_write(lambda: ASYNC.call_sync(self._build, is_wanted))

    def _build(self, is_wanted: bool) -> None:
        """Make the index anew, if it is time and nobody else is at it."""
        with try_file_lock(self.path, f"-{self.collection}.lock", VectorStoreError) as is_ours:
            if not is_ours:
                return
            if self._builder is None:
                self._builder = self._share_database("to index vectors")
            with self._builder.open(self._tables.schema, VectorStoreError) as connection:
                state, stored = self._tables.read_state(connection), self._tables.read_index(connection)
                if state.model == self.embeddings.model_id:
                    base = self._choose_base(connection, state, stored, is_wanted)
                    if base is not None:
                        self._write_index(connection, state, base)
                elif stored is not None:
                    self._replace_index(state, None)

    def _choose_base(
        self, connection: sqlite3.Connection, state: CollectionState, stored: StoredIndex | None, is_wanted: bool
    ) -> StoredIndex | None:
        """Return the index that the next one goes on from; one of no documents: from none; None: it is not time."""
        new = StoredIndex("", state.model or "", state.changes, 0, 0, 0)
        tables = self._tables
        is_of_these = stored is not None and (stored.model, stored.changes) == new[1:3]
        if is_wanted or stored is None or not (is_of_these and os.path.exists(os.path.join(self._folder, stored.file))):
            return new if is_wanted or tables.count_documents(connection) >= SMALLEST else None
        tail, gone = tables.count_documents(connection, stored.last), 0
        if state.removals != self._removals:
            gone = stored.total + tail - tables.count_documents(connection)
            self._removals = state.removals
        if stored.total + tail >= _GROWTH * stored.placed:
            return new
        return stored if tail >= max(TAIL, stored.total // 64) or 2 * gone > stored.total else None

    def _write_index(self, connection: sqlite3.Connection, state: CollectionState, base: StoredIndex) -> None:
        """Write an index of all documents up to now, and let everybody know of it."""
        from hocket.vectorstores import faiss_index

        tables, model = self._tables, state.model or ""
        words: list[tuple[str, int]] | None = None
        if base.file:
            writer = faiss_index.FaissWriter(os.path.join(self._folder, base.file))
            if base.total > tables.count_documents(connection) - tables.count_documents(connection, base.last):
                writer.keep(tables.list_numbers(connection, Clause("d.number <= ?", (base.last,))))
        else:
            count = tables.count_documents(connection)
            wanted = 50 * faiss_index.count_centres(count)
            base = base._replace(placed=count)
            words = tables.count_words(connection)
            writer = faiss_index.FaissWriter(None, tables.sample_vectors(connection, model, state.size, wanted), count)
        after = base.last
        while after < state.last:
            part = Clause("d.number > ? AND d.number <= ?", (after, min(after + _CHUNK, state.last)))
            chunk = tables.load_where(connection, part, model, state.size)
            if chunk:
                writer.append([number for number, _ in chunk], [row for _, row in chunk])
            after += _CHUNK
        prefix = f"{os.path.basename(self.path)}-{self.collection}-"
        made = base._replace(file=f"{prefix}{uuid4().hex}.faiss", last=state.last)
        for name in glob.glob(f"{glob.escape(os.path.join(self._folder, prefix))}{'?' * 32}.faiss"):
            if os.path.basename(name) != base.file:  # of a process that was killed
                _remove(name)
        try:
            made = made._replace(total=writer.write(os.path.join(self._folder, made.file)))
        except (OSError, RuntimeError) as error:
            raise VectorStoreError(f"{self.path}: its index cannot be written: {error}") from error
        self._replace_index(state, made, words)

    def _replace_index(
        self, state: CollectionState, made: StoredIndex | None, words: Sequence[tuple[str, int]] | None = None
    ) -> None:
        """Let everybody know of an index, unless its vectors were changed meanwhile, and delete the file of the old one."""
        with self._write() as connection, transaction(connection):
            now, old = self._tables.read_state(connection), self._tables.read_index(connection)
            if (now.model, now.changes) == (state.model, state.changes):
                self._tables.write_index(connection, made)
                if words is not None:
                    self._tables.write_words(connection, words)
                made = old
        if made is not None:
            _remove(os.path.join(self._folder, made.file))

    @property
    def _folder(self) -> str:
        return os.path.dirname(os.path.realpath(self.path))

    def _close(self) -> None:
        super()._close()
        if self._builder is not None:
            self._builder.close()
        self._index = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_index": None, "_builder": None}


def _remove(path: str) -> None:
    with suppress(OSError):  # on Windows somebody may have it open: the next build tries again
        os.unlink(path)
