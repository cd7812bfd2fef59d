"""A vector store in PostgreSQL with pgvector, under LangChain's name."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar, cast

from hocket._databases.postgres import (
    Connection,
    ConnectionPool,
    postgres_server,
)
from hocket._databases.server import DatabaseServer
from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_twin
from hocket._secrets import redact_url
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.embeddings.base import check_vectors
from hocket.errors import EmbeddingMismatch, VectorStoreError, VectorStoreUnavailable
from hocket.errors.hints import explain_arguments
from hocket.vectorstores.base import VectorStore
from hocket.vectorstores.filters import Filter, check_batch_size, check_size
from hocket.vectorstores.postgres_filters import write_filter
from hocket.vectorstores.postgres_reembedding import Reembedding
from hocket.vectorstores.postgres_rows import hash_text, read_document, read_match, send_batch, unpack_vector
from hocket.vectorstores.postgres_tables import Meta, Tables
from hocket.vectorstores.postgres_words import SEARCH_WORDS, join_words, quote_word
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import normalize
from hocket.vectorstores.words import split_query

__all__ = ["PGVectorStore"]

T = TypeVar("T")

_MOST: Final = 2**31
"""Documents that a search asks for; PostgreSQL counts no further than 2**63."""

_SEARCH = """
    WITH nearest AS (
        SELECT number, vector <=> %s::vector AS distance FROM {documents} JOIN {vectors} USING (hash)
        WHERE {condition} ORDER BY distance, number LIMIT %s
    )
    SELECT id, content, metadata::text, vector, 1 - distance
    FROM nearest JOIN {documents} USING (number) JOIN {vectors} USING (hash) ORDER BY distance, number
"""
_REPLACE = "DELETE FROM {documents} AS old USING hocket_batch WHERE old.id = hocket_batch.id RETURNING old.hash"
_ADD_VECTORS = """
    INSERT INTO {vectors} AS old SELECT DISTINCT ON (hash) hash, vector FROM hocket_batch ORDER BY hash, place DESC
    ON CONFLICT (hash) DO UPDATE SET vector = EXCLUDED.vector WHERE old.vector <> EXCLUDED.vector
"""
_ADD_DOCUMENTS = """
    INSERT INTO {documents} (id, hash, content, metadata, facts, length, words)
    SELECT id, hash, content, metadata::json, facts::jsonb, length, words::tsvector FROM hocket_batch ORDER BY place
"""
_DROP_UNUSED = """
    DELETE FROM {vectors} AS old WHERE hash = ANY(%s) AND NOT EXISTS (SELECT FROM {documents} WHERE hash = old.hash)
"""


class PGVectorStore(VectorStore):
    """Keeps documents in PostgreSQL with pgvector: in three tables, which the first document makes.

    Searches are exact, 0.15 s over 100,000 documents; `acreate_index` makes them faster and a little less exact. A batch is
    one transaction, and any number of processes may read and write. For many filters on equality have an index:
    ``CREATE INDEX ON hocket_documents USING gin (facts jsonb_path_ops)``.

    Args:
        url: ``postgresql://…``, with libpq's options as its query. The stores of a process share its connections, 10 at
            most, or as many as its query says (``?max_connections=20``); `aclose` closes those that are idle.
        embedding: the model whose vectors it holds.
        table: of the documents; the names of the others begin with it.

    Raises, from every verb:
        VectorStoreUnavailable: the server cannot be reached, broke off, or took too long.
        VectorStoreError: it refuses; or it has no pgvector, and what to do about it is said.
        EmbeddingMismatch: the store holds vectors of another model; `areembed` changes that.
    """

    @explain_arguments(
        collection_name="table",
        connection="url",
        table_name="table",
        embedding_function="embedding",
        embeddings="embedding",
    )
    def __init__(self, url: str, embedding: Embeddings, *, table: str = "hocket_documents") -> None:
        super().__init__(embedding)
        self._tables = Tables(table)
        self._owner = f"PGVectorStore({redact_url(url)!r}, table={table!r})"
        server = postgres_server(self._owner, url, VectorStoreError, VectorStoreUnavailable)
        self._server = cast("DatabaseServer[ConnectionPool]", server)  # a URL is served by our pool

    def __repr__(self) -> str:
        return self._owner

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        """Store documents with their vectors."""

        def add(connection: Connection) -> None:
            rows = [normalize(vector) for vector in vectors]
            meta = self._tables.begin_writing(connection)
            if meta is None:
                self._tables.create(connection, self.embeddings.model_id, len(rows[0]))
            else:
                self._check(meta)
                check_size(len(rows[0]), meta.size, self._owner)
            send_batch(connection, documents, rows)
            replaced = self._tables.execute(connection, _REPLACE)
            self._tables.execute(connection, _ADD_VECTORS)
            self._tables.execute(connection, _ADD_DOCUMENTS)
            self._drop_unused(connection, replaced)

        if documents:
            await self._write(add)

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Filter | None = None) -> list[Match]:
        """Return the nearest documents."""
        condition, values = write_filter(filter)

        def search(connection: Connection, meta: Meta) -> list[Match]:
            check_size(len(vector), meta.size, self._owner)
            asked = (str(normalize(vector).tolist()), *values, min(k, _MOST))
            if meta.has_index:
                self._tables.use_index(connection, k)
            found = self._tables.execute(connection, _SEARCH, *asked, condition=condition)
            if meta.has_index and len(found) < k:  # it gives up where a filter leaves few
                self._tables.leave_index(connection)
                found = self._tables.execute(connection, _SEARCH, *asked, condition=condition)
            return [read_match(*row, is_cosine=True) for row in found]

        return await self._read(search, [])

    async def asearch_words(self, query: str, k: int, filter: Filter | None = None) -> list[Match]:
        """Return the documents that have words of ``query``, scored by BM25."""
        condition, values = write_filter(filter)
        words = split_query(query)
        asked = (words, [quote_word(word) for word in words], words, join_words(words), *values, min(k, _MOST))

        def search(connection: Connection, meta: Meta) -> list[Match]:
            found = self._tables.execute(connection, SEARCH_WORDS, *asked, condition=condition)
            return [read_match(*row, is_cosine=False) for row in found]

        return await self._read(search, []) if words else []

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        """Delete the documents with these ids; None: all documents, and what is known of their model."""

        def delete(connection: Connection) -> None:
            if self._tables.begin_writing(connection) is None:
                return
            if ids is None:
                for statement in ("DELETE FROM {documents}", "DELETE FROM {vectors}", "DELETE FROM {meta}"):
                    self._tables.execute(connection, statement)
            else:
                gone = "DELETE FROM {documents} WHERE id = ANY(%s) RETURNING hash"
                self._drop_unused(connection, self._tables.execute(connection, gone, list(ids)))

        await self._write(delete)

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids."""

        def get(connection: Connection, meta: Meta) -> list[Document]:
            statement = "SELECT id, content, metadata::text FROM {documents} WHERE id = ANY(%s)"
            found = {row[0]: row for row in self._tables.execute(connection, statement, list(ids))}
            return [read_document(*found[one]) for one in ids if one in found]

        return await self._read(get, [])

    async def afind_vectors(self, texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors of texts that are in the store."""

        def find(connection: Connection, meta: Meta) -> Mapping[str, Sequence[float]]:
            names = {hash_text(text): text for text in texts}
            statement = "SELECT hash, vector FROM {vectors} WHERE hash = ANY(%s)"
            found = self._tables.execute(connection, statement, list(names))
            return {names[hash]: unpack_vector(vector) for hash, vector in found}

        return await self._read(find, {})

    async def alist_ids(self, filter: Filter | None = None) -> list[str]:
        """Return the ids of the documents that match a filter, in the order in which they were added."""
        condition, values = write_filter(filter)

        def list_ids(connection: Connection, meta: Meta) -> list[str]:
            statement = "SELECT id FROM {documents} WHERE {condition} ORDER BY number"
            return [id for (id,) in self._tables.execute(connection, statement, *values, condition=condition)]

        return await self._read(list_ids, [])

    async def aclose(self, /) -> None:
        """Close the process's idle connections to the URL; the next operation opens another."""
        await ASYNC.call_sync(self._server.sync_client().close_idle)

    # -- more than other stores have

    async def acreate_index(self, /) -> None:
        """Have an HNSW index over the vectors, if there is none: best after most documents are there.

        Searches then take a millisecond or two, and may miss a document that is among the nearest. It takes some 0.3 ms for
        each document to make, in which nobody can write, and vectors have 2,000 numbers at most.

        Raises:
            VectorStoreError: the store is empty, or pgvector is older than 0.8.
        """

        def create(connection: Connection) -> None:
            meta = self._tables.begin_writing(connection)
            if meta is None:
                raise VectorStoreError(f"{self._owner} is empty: add documents, and then make the index")
            self._check(meta)
            self._tables.create_index(connection)

        await self._write(create)

    async def areembed(self, /, *, batch_size: int = 100) -> int:
        """Embed all texts again with this store's model, and put its vectors in the place of the other model's.

        Until the last text is embedded the store serves the other model; then it changes at once. What was embedded is
        kept when it breaks off, and the next call goes on.

        Args:
            batch_size: texts that are embedded and stored at a time.

        Returns:
            how many texts were embedded.

        Raises:
            InvalidInput: ``batch_size`` is no whole number above 0.
        """
        check_batch_size(batch_size)
        change = Reembedding(self._tables, self.embeddings.model_id)
        total, last = 0, 0
        while True:
            pieces = await self._write(partial(change.list_texts, last=last, most=batch_size))
            if pieces:
                texts = [text for _, text in pieces]
                vectors = await self.embeddings.aembed_documents(texts)
                await ASYNC.call_sync(check_vectors, vectors, len(texts), self.embeddings)
                await self._write(partial(change.keep, texts=texts, rows=[normalize(vector) for vector in vectors]))
                total, last = total + len(texts), pieces[-1][0]
            elif await self._write(change.finish):
                return total
            else:  # somebody has added documents, meanwhile
                last = 0

    create_index: Final = sync_twin(acreate_index)
    reembed: Final = sync_twin(areembed)

    # -- inside

    def _check(self, meta: Meta) -> None:
        if meta.model != self.embeddings.model_id:
            raise EmbeddingMismatch(
                f"{self._owner} holds vectors of {meta.model!r}, and was opened with {self.embeddings.model_id!r}: "
                "open it with that model, or have `areembed()` change it"
            )

    def _drop_unused(self, connection: Connection, gone: Sequence[tuple[bytes]]) -> None:
        """Drop the vectors of deleted documents that are no other document's."""
        if gone:
            self._tables.execute(connection, _DROP_UNUSED, [hash for (hash,) in gone])

    async def _write(self, work: Callable[[Connection], T]) -> T:
        """Do some work in one transaction. A cancelled caller waits for the end of it."""

        async def operate(pool: ConnectionPool) -> T:
            with pool.connection() as connection, connection.transaction():
                return work(connection)

        return await finish_write(lambda: self._server.acall(operate))

    async def _read(self, work: Callable[[Connection, Meta], T], nothing: T) -> T:
        """Do some work in one transaction, in which the model does not change; a store without documents has nothing."""

        async def operate(pool: ConnectionPool) -> T:
            with pool.connection() as connection, connection.transaction():
                meta = self._tables.read_meta(connection)
                if meta is not None:
                    self._check(meta)
                    return work(connection, meta)
            return nothing

        return await self._server.acall(operate)
