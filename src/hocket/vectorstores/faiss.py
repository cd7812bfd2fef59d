"""A vector store for a million passages: SQLite's, with an approximate index of FAISS's in a file beside it.

The database has everything; the index is made of it, and finds candidates, whose scores are counted from their vectors in
the database. So whatever happens to the index, no document is lost, and one is found as soon as it is committed: what came
after the index was made is searched exactly, in memory. When that is some thousands, the addition that made it so many
writes the next index before it returns; others read and write meanwhile.

A document that was deleted or replaced stays in the index until the next one. Its number finds nothing in the database,
and the search asks for more.
"""

import glob
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from hocket._databases.file_lock import try_file_lock
from hocket._databases.sqlite import SQLiteDatabase, snapshot, transaction
from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_twin
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import MissingDependency, VectorStoreError
from hocket.errors.hints import explain_arguments
from hocket.vectorstores.faiss_tables import FaissTables, StoredIndex
from hocket.vectorstores.filter_sql import Clause, write_condition
from hocket.vectorstores.filters import All, Condition, Filter, parse_filter
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
"""Documents after an index of which the next one is made; or a 64th of all, where that is more."""

_GROWTH = 4
"""How many times as many documents want other centres."""

_CHUNK = 10_000


class FAISSVectorStore(SQLiteVectorStore):
    """Keeps documents in an SQLite database, in the tables of `SQLiteVectorStore`, and finds them by an index of FAISS's:
    for collections of up to some millions.

    Searches are nearly exact: of the ten nearest of a million, 99 in 100 are found, in some milliseconds; scores are exact.
    The index is a file beside the database, of a byte for each number of a vector. There is one from 20,000 documents on,
    and additions make it again by themselves: one in some thousands takes a second or two more at a million documents, and
    one at each fourfold number some minutes. What cannot be written then is left for the next time.

    Searches by words leave out words that thousands of documents have, beside rarer ones.

    Args:
        path: the database's file; one of a `SQLiteVectorStore` will do: call `acreate_index` once.
        embedding: the model.
        collection: which documents of the file.

    Raises:
        MissingDependency: ``pip install 'hocket[faiss]'`` brings FAISS.
        InvalidInput, VectorStoreError, EmbeddingMismatch: as of `SQLiteVectorStore`.
    """

    @explain_arguments(folder_path="path", persist_directory="path", embeddings="embedding")
    def __init__(self, path: str | os.PathLike[str], embedding: Embeddings, *, collection: str = "documents") -> None:
        if find_spec("faiss") is None:
            raise MissingDependency("FAISSVectorStore needs FAISS; run `pip install 'hocket[faiss]'`")
        super().__init__(path, embedding, collection=collection)
        self._tables: FaissTables = FaissTables(collection, f"{self.path}, {collection!r}")
        self._opened: tuple[StoredIndex, FaissIndex | None] | None = None
        self._builder: SQLiteDatabase | None = None
        self._seen_removals = -1

    def __repr__(self) -> str:
        return super().__repr__().replace("SQLite", "FAISS", 1)

    # -- write

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors, in one transaction; then make the index again, if it is time."""
        await super().aadd_vectors(documents, vectors)
        await self._keep_index()

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all documents."""
        await super().adelete(ids)
        await self._keep_index()

    async def areembed(self, /, *, batch_size: int = 100) -> int:
        """Have all texts embedded by this store's model, and make it the collection's, when its index is there."""
        count = await super().areembed(batch_size=batch_size)
        await self._keep_index()
        return count

    async def acreate_index(self, /) -> None:
        """Make the index again now, and place its centres: for a database that had none, or before many searches.

        Where somebody else is at it already, nothing is done.
        """
        await finish_write(lambda: ASYNC.call_sync(self._build, is_wanted=True))

    create_index: Final = sync_twin(acreate_index)

    # -- read

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents."""
        condition = None if filter is None else parse_filter(filter)

        def search(connection: sqlite3.Connection) -> list[Match]:
            with snapshot(connection):
                return self._find(connection, normalize(vector), k, condition)

        return await self._read(search)

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the documents that have words of ``query``, best first by BM25."""
        clause, words = _write(parse_filter(filter)), split_query(query)
        tables, model = self._tables, self.embeddings.model_id

        def search(connection: sqlite3.Connection) -> list[Match]:
            with snapshot(connection):
                state = tables.read_state(connection)
                tables.check_model(state, model)
                if not words or state.model is None:
                    return []
                asked = k if filter is None else 8 * k + 64
                rare, scores = tables.rank_words(connection, words, asked)
                there = tables.load_where(connection, _narrow(clause, [*scores]), model, state.size)
                if len(there) < k and len(scores) == asked:  # the filter wants to be asked of all
                    return tables.search_words(connection, rare, k, clause, model)
                return self._make_matches(connection, ((scores[number], number, row) for number, row in there), k)

        return await self._read(search)

    # -- inside

    def _find(self, connection: sqlite3.Connection, row: Row, k: int, condition: Condition | None) -> list[Match]:
        """Find candidates, look which of them are there and match, and ask for more until they are enough."""
        from hocket.vectorstores.faiss_index import score_rows  # FAISS takes a second to load

        tables, clause, model = self._tables, _write(condition or All(())), self.embeddings.model_id
        index = self._open_index(connection)
        tail = self._follow(connection, len(row))
        if tail is None:
            return []
        if condition is not None:
            tail = tail.limit(condition, partial(tables.list_values, connection))
        asked, effort, may_list = k + 32, 1, index is not None
        wanted: list[int] | None = None
        while True:
            late = [number for number, *_ in tail.search(row, asked)]
            early, is_all = index.search(row, asked, effort, wanted) if index else ([], True)
            there = tables.load_where(connection, _narrow(clause, early + late), model, len(row))
            if len(there) >= k or (is_all and len(late) < asked):
                break
            if may_list and condition is not None and (effort > 1 or 16 * len(there) < asked):
                may_list, wanted = False, tables.list_matching(connection, condition)
                if wanted is not None:
                    clause = clause if isinstance(condition, All) else Clause("TRUE")  # they match, one and all
                    continue
            asked, effort = 4 * asked, 2 * effort
        scores = score_rows(row, [one for _, one in there])
        scored = ((score, number, one) for score, (number, one) in zip(scores, there, strict=True))
        return self._make_matches(connection, scored, k)

    def _make_matches(
        self, connection: sqlite3.Connection, found: Iterable[tuple[float, int, Row]], k: int
    ) -> list[Match]:
        best = sorted(found, key=lambda one: (-one[0], one[1]))[:k]
        documents = self._tables.read_documents(connection, "number", [number for _, number, _ in best])
        return [Match(document, score, row) for document, (score, _, row) in zip(documents, best, strict=True)]

    def _open_index(self, connection: sqlite3.Connection) -> "FaissIndex | None":
        """Return the newest index, and have the vectors in memory begin behind it. One that cannot be read, or is of other
        vectors, is none."""
        from hocket.vectorstores.faiss_index import FaissIndex

        state = self._tables.read_state(connection)
        stored = self._tables.read_index(connection, state.model)
        if stored is None or stored.changes != state.changes:
            stored = _NONE
        if self._opened is None or self._opened[0] != stored:
            index = None
            with suppress(RuntimeError):  # it is made again by the next addition
                index = FaissIndex(os.path.join(self._folder, stored.file)) if stored.file else None
            self._opened, self._cache = (stored, index), None
            self._first = stored.last if index else 0
        return self._opened[1]

    # -- the index

    async def _keep_index(self) -> None:
        with suppress(VectorStoreError):  # what was stored is stored: the next one tries again
            await finish_write(lambda: ASYNC.call_sync(self._build, is_wanted=False))

    def _build(self, *, is_wanted: bool) -> None:
        """Make the index again, if it is time and nobody else is at it."""
        with try_file_lock(self.path, f"-{self.collection}.lock", VectorStoreError) as is_ours:
            if not is_ours:
                return
            if self._builder is None:
                self._builder = self._share_database("to index vectors")
            with self._builder.open(self._tables.schema, VectorStoreError) as connection:
                model, state = self.embeddings.model_id, self._tables.read_state(connection)
                if state.model not in (None, model):  # it is to be, perhaps
                    state = self._tables.preview_model(connection, model) or state
                if state.model == model:
                    stored = self._tables.read_index(connection, model) or _NONE
                    base = _NONE if is_wanted else self._choose_base(connection, state, stored)
                    if base is not None:
                        self._write_index(connection, state, base)
                elif state.model is None and self._tables.list_files(connection):
                    self._replace_index(state, None)
                used = self._tables.list_files(connection)
            for name in glob.glob(f"{glob.escape(self._prefix)}{'?' * 32}.faiss"):
                if os.path.basename(name) not in used:  # any more, or of a process that was killed
                    _remove(name)

    def _choose_base(
        self, connection: sqlite3.Connection, state: CollectionState, stored: StoredIndex
    ) -> StoredIndex | None:
        """Return the index that the next one goes on from, or `_NONE`; None: it is not time."""
        count = self._tables.count_documents
        if stored.changes != state.changes or not os.path.isfile(os.path.join(self._folder, stored.file)):
            return _NONE if count(connection) >= SMALLEST else None
        tail, gone = count(connection, stored.last), 0
        if state.removals != self._seen_removals:
            gone = stored.total + tail - count(connection)
            self._seen_removals = state.removals
        if stored.total + tail >= _GROWTH * stored.placed:
            return _NONE
        return stored if tail >= max(TAIL, stored.total // 64) or 2 * gone > stored.total else None

    def _write_index(self, connection: sqlite3.Connection, state: CollectionState, base: StoredIndex) -> None:
        """Write an index of all documents up to now, and let everybody know of it."""
        from hocket.vectorstores.faiss_index import FaissWriter

        tables, model, count = self._tables, state.model or "", self._tables.count_documents(connection)
        words: list[tuple[str, int]] | None = None
        if base.file:
            writer = FaissWriter(os.path.join(self._folder, base.file))
            if base.total > count - tables.count_documents(connection, base.last):
                writer.keep(tables.list_numbers(connection, until=base.last))
        else:
            words, base = tables.count_words(connection), StoredIndex("", model, state.changes, 0, 0, count)
            writer = FaissWriter(tables.sample_vectors(connection, model, state.size, int(200 * count**0.5)))
        for start in range(base.last, state.last, _CHUNK):
            part = Clause("d.number > ? AND d.number <= ?", (start, min(start + _CHUNK, state.last)))
            if chunk := tables.load_where(connection, part, model, state.size):
                writer.append(*zip(*chunk, strict=True))
        path = f"{self._prefix}{uuid4().hex}.faiss"
        try:
            total = writer.write(path)
        except (OSError, RuntimeError) as error:
            _remove(path)
            raise VectorStoreError(f"{self.path}: its index cannot be written: {error}") from error
        made = base._replace(file=os.path.basename(path), last=state.last, total=total)
        self._replace_index(state, made, words)

    def _replace_index(
        self, state: CollectionState, made: StoredIndex | None, words: Sequence[tuple[str, int]] | None = None
    ) -> None:
        """Let everybody know of an index, unless vectors were changed meanwhile."""
        with self._write() as connection, transaction(connection):
            now = self._tables.read_state(connection)
            if now.changes + (now.model != state.model) == state.changes:  # the change of the model is one
                self._tables.write_index(connection, made)
                if words is not None:
                    self._tables.write_words(connection, words)

    @property
    def _prefix(self) -> str:
        return os.path.join(self._folder, f"{os.path.basename(self.path)}-{self.collection}-")

    @property
    def _folder(self) -> str:
        return os.path.dirname(os.path.realpath(self.path))

    def _close(self) -> None:
        super()._close()
        if self._builder is not None:
            self._builder.close()
        self._opened = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_opened": None, "_builder": None}


_NONE: Final = StoredIndex("", "", 0, 0, 0, 0)


def _write(condition: Condition) -> Clause:
    return write_condition(condition, SQLiteFilters("d.metadata"))


def _narrow(clause: Clause, numbers: Sequence[int]) -> Clause:
    """Return the condition for some documents alone."""
    text = f"d.number IN (SELECT value FROM json_each(?)) AND {clause.text}"
    return Clause(text, (json.dumps(numbers), *clause.values))


def _remove(path: str) -> None:
    with suppress(OSError):  # on Windows somebody may have it open: the next build tries again
        os.unlink(path)
