"""A vector store in an SQLite database: one file, of the standard library's, that several processes may use.

A batch is one transaction, documents, words and vectors, so that a process may die at any time. Searches are those of the
store in memory, over the vectors of the file, which are kept in memory once they have been read; what other processes, or
other stores of this one, have written since is read before each search.

Each commit is flushed to the disk (``synchronous=FULL``), as everywhere in hocket: it costs some milliseconds a batch,
little beside embedding it, and what `add_documents` has returned is there after a power failure, too.

Filters are SQLite's SQL, over metadata that are a JSON text: `json_each` gives each value with its type, which tells
``1`` from ``true`` and ``"1"``, and finds a key whatever characters are in it, where a JSON path would need them escaped.
Values are bound as JSON, too: SQLite then reads numbers on both sides alike.
"""

import functools
import json
import os
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from hocket._databases.own_files import make_directory
from hocket._databases.sqlite import SQLiteDatabase, shared_database, snapshot, transaction
from hocket._databases.urls import check_path
from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_twin
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.embeddings.base import check_vectors
from hocket.errors import InvalidInput, VectorStoreError
from hocket.errors.hints import explain_arguments
from hocket.vectorstores.base import VectorStore
from hocket.vectorstores.cached_rows import CachedRows, RowsView
from hocket.vectorstores.filter_sql import Clause, write_condition
from hocket.vectorstores.filters import Filter, Kind, Order, Scalar, check_batch_size, check_size, parse_filter
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import Row, normalize
from hocket.vectorstores.sqlite_tables import SQLiteTables, pack_document
from hocket.vectorstores.words import split_query

__all__ = ["SQLiteFilters", "SQLiteVectorStore"]

_TYPES: dict[Kind, str] = {
    "null": "('null')",
    "bool": "('true', 'false')",
    "number": "('integer', 'real')",
    "text": "('text')",
}
_SIGNS: dict[Order, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class SQLiteFilters:
    """Writes the leaves of a condition.

    Args:
        column: that holds the metadata.
    """

    def __init__(self, column: str) -> None:
        self._value = f"EXISTS (SELECT 1 FROM json_each({column}) WHERE key = ?"

    def write_equal(self, key: str, kind: Kind, values: Sequence[Scalar]) -> Clause:
        """Write that the value of ``key`` is one of these."""
        found = f"{self._value} AND type IN {_TYPES[kind]}"
        if kind == "null":
            return Clause(f"{found})", (key,))
        text = f"{found} AND value IN (SELECT value FROM json_each(?)))"
        return Clause(text, (key, json.dumps(values, ensure_ascii=False)))

    def write_order(self, key: str, kind: Kind, order: Order, value: Scalar) -> Clause:
        """Write that the value of ``key`` is in this order with ``value``. Texts compare by their bytes: code points."""
        text = f"{self._value} AND type IN {_TYPES[kind]} AND value {_SIGNS[order]} json_extract(?, '$'))"
        return Clause(text, (key, json.dumps(value, ensure_ascii=False)))

    def write_exists(self, key: str) -> Clause:
        """Write that there is a value under ``key``."""
        return Clause(f"{self._value})", (key,))


T = TypeVar("T")

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_MOST = 2**31
"""Documents that a search asks for; SQLite counts no further than 2**63."""

_FILTERS = SQLiteFilters("d.metadata")


class SQLiteVectorStore(VectorStore):
    """Keeps documents and their vectors in an SQLite database. Any number of tasks, threads and processes of one machine
    may use it at once: one writes at a time, and a reader never waits for a writer.

    Searches are exact, and read all vectors, which are in memory: 1.5 kB for each of 384 numbers. With numpy
    (``pip install 'hocket[vectors]'``) one takes some 10 ms over 100,000 documents; without it, it is fine for 5,000. The
    first search loads them, in about a second for 100,000. Documents of equal text share one vector, the last that
    was stored.

    Args:
        path: the database's file, made if absent, and its directory with it. Other tables in it are left alone.
        embedding: the model. A store with vectors of another one, by its `model_id` or the size of its vectors, is
            refused with `EmbeddingMismatch`; `areembed` changes it.
        collection: which documents of the file: each collection has tables of its own.

    Raises:
        InvalidInput: the path is empty or in memory, or the collection's name is no name.
        VectorStoreError: by every operation: the database cannot be read or written, or is damaged.
    """

    @explain_arguments(
        collection_name="collection",
        connection="path",
        persist_directory="path",
        embedding_function="embedding",
        embeddings="embedding",
    )
    def __init__(self, path: str | os.PathLike[str], embedding: Embeddings, *, collection: str = "documents") -> None:
        super().__init__(embedding)
        self.path: str = check_path(path, "path")
        if self.path == ":memory:":
            raise InvalidInput(f"path is {self.path!r}; it must be a file's (in memory: InMemoryVectorStore)")
        if not _NAME.fullmatch(collection) or collection.startswith(("sqlite", "vector_collections")):
            raise InvalidInput(
                f"collection is {collection!r}; it must be a name of lower-case letters, digits and single underscores, "
                "and not begin with 'sqlite'"
            )
        self.collection: str = collection
        self._tables = SQLiteTables(collection, f"{self.path}, {collection!r}")
        self._reader: SQLiteDatabase | None = None
        self._writer: SQLiteDatabase | None = None
        self._cache: CachedRows | None = None
        self._first = 0  # documents up to this number are found by other means

    def __repr__(self) -> str:
        return f"SQLiteVectorStore({self.path!r}, {type(self.embeddings).__name__}, collection={self.collection!r})"

    # -- write

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors, in one transaction."""
        model = self.embeddings.model_id

        def add() -> None:
            rows = [
                pack_document(document, normalize(vector)) for document, vector in zip(documents, vectors, strict=True)
            ]
            if rows:
                with self._write() as connection, transaction(connection):
                    self._tables.add(connection, rows, model)

        await finish_write(lambda: ASYNC.call_sync(add))

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all documents."""

        def delete() -> None:
            with self._write() as connection, transaction(connection):
                if ids is None:
                    self._tables.delete_all(connection)
                else:
                    self._tables.delete(connection, _drop_impossible(ids))

        await finish_write(lambda: ASYNC.call_sync(delete))

    async def areembed(self, /, *, batch_size: int = 100) -> int:
        """Have all texts embedded by this store's model, and make it the collection's.

        The collection stays that of the old model until all is done; what is embedded is kept, so that a call that is
        broken off can be made again. Stores that were opened with the old model are refused afterwards.

        Args:
            batch_size: texts that are embedded and stored at a time.

        Returns:
            how many texts were embedded.
        """
        check_batch_size(batch_size)
        model = self.embeddings.model_id
        count, last = 0, b""
        while True:
            found = await self._read(self._tables.list_texts_without_vector, model, last, batch_size)
            if found:
                vectors = await self.embeddings.aembed_documents([text for _, text in found])
                await self._keep_vectors([hash for hash, _ in found], vectors, model)
                count += len(found)
            last = found[-1][0] if found else b""  # what others add meanwhile is found by another round
            if not found:
                await self._keep_index()
                if await finish_write(lambda: ASYNC.call_sync(self._change_model, model)):
                    return count

    reembed: Final = sync_twin(areembed)

    # -- read

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents."""
        condition = None if filter is None else parse_filter(filter)

        def search() -> list[Match]:
            row = normalize(vector)
            while True:
                with self._open() as connection, snapshot(connection):
                    view = self._follow(connection, len(row))
                    if view is not None and condition is not None:
                        view = view.limit(condition, functools.partial(self._tables.list_values, connection))
                found = view.search(row, k) if view else []
                with self._open() as connection:
                    documents = self._tables.read_documents(connection, "number", [number for number, *_ in found])
                if len(documents) == len(found):  # else some were deleted meanwhile
                    return [
                        Match(document, score, own) for document, (_, score, own) in zip(documents, found, strict=True)
                    ]

        return await ASYNC.call_sync(search)

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the documents that have words of ``query``, best first by BM25."""
        clause = None if filter is None else _write(filter)
        words, model = split_query(query), self.embeddings.model_id

        def search(connection: sqlite3.Connection) -> list[Match]:
            self._tables.check_model(self._tables.read_state(connection), model)
            return self._tables.search_words(connection, words, min(k, _MOST), clause, model) if words else []

        return await self._read(search)

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids."""
        return await self._read(self._tables.read_documents, "id", _drop_impossible(ids))

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors of texts that are in the store."""
        model = self.embeddings.model_id

        def find(connection: sqlite3.Connection) -> dict[str, Row]:
            self._tables.check_model(self._tables.read_state(connection), model)
            return self._tables.find_vectors(connection, texts, model)

        return await self._read(find)

    async def alist_ids(self, filter: Filter | None = None) -> list[str]:
        """Return the ids of the documents that match a filter, in the order in which they were added."""
        return await self._read(self._tables.list_ids, _write(filter))

    async def aclose(self, /) -> None:
        """Close the connections and forget the vectors in memory; the next operation opens and loads them again."""
        await finish_write(lambda: ASYNC.call_sync(self._close))

    # -- inside

    async def _read(self, function: Callable[..., T], *args: object) -> T:
        """Call a function with the reading connection, and these arguments, in a worker thread."""

        def read() -> T:
            with self._open() as connection:
                return function(connection, *args)

        return await ASYNC.call_sync(read)

    def _open(self) -> AbstractContextManager[sqlite3.Connection]:
        if self._reader is None:
            self._reader = self._share_database("to read vectors")
        return self._reader.open(self._tables.schema, VectorStoreError)

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        if self._writer is None:
            self._writer = self._share_database("to write vectors")
        return self._writer.open(self._tables.schema, VectorStoreError)

    def _share_database(self, use: str) -> SQLiteDatabase:
        try:
            make_directory(os.path.realpath(self.path))
        except OSError as error:
            raise VectorStoreError(f"{self.path}: its directory cannot be made: {error.strerror}") from error
        return shared_database(self.path, use)

    def _close(self) -> None:
        for database in (self._reader, self._writer):
            if database is not None:
                database.close()
        self._cache = None

    def _follow(self, connection: sqlite3.Connection, size: int) -> RowsView | None:
        """Bring the vectors in memory up to date, and return them; None: there are none. Who has the connection does it
        alone.

        Args:
            connection: the reading one, inside a snapshot.
            size: numbers in the vector that is to be compared.

        Raises:
            EmbeddingMismatch: the store's vectors are of another model, or of another size.
        """
        tables, model = self._tables, self.embeddings.model_id
        state = tables.read_state(connection)
        tables.check_model(state, model)
        if state.model is None:
            return None
        check_size(size, state.size, repr(self))
        cache = self._cache
        if cache is None or not cache.fits(state.size, state.changes):
            room = tables.count_documents(connection, self._first)
            cache = CachedRows(state.size, state.changes, state.removals, room, self._first)
        if cache.last < state.last:
            for numbers, rows in tables.load_rows(connection, cache.last, model, state.size):
                cache.append(numbers, rows)
        if cache.removals != state.removals:
            cache.keep(tables.list_numbers(connection, self._first), state.removals)
        self._cache = cache
        return cache.view()

    async def _keep_vectors(self, hashes: Sequence[bytes], vectors: Sequence[Sequence[float]], model: str) -> None:
        def keep() -> None:
            check_vectors(vectors, len(hashes), self.embeddings)
            rows = [normalize(vector) for vector in vectors]
            with self._write() as connection, transaction(connection):
                self._tables.add_vectors(connection, hashes, rows, model)

        await finish_write(lambda: ASYNC.call_sync(keep))

    async def _keep_index(self) -> None:
        """Make what finds vectors of this store's model, if it is time; they need not be the collection's yet."""

    def _change_model(self, model: str) -> bool:
        with self._write() as connection, transaction(connection):
            return self._tables.change_model(connection, model)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": None, "_writer": None, "_cache": None}


def _write(filter: Filter | None) -> Clause:
    return write_condition(parse_filter(filter), _FILTERS)


def _drop_impossible(ids: Sequence[str]) -> list[str]:
    """Return ids without those that no document can have, since UTF-8 cannot say them."""
    return [one for one in ids if one.encode(errors="ignore").decode() == one]
