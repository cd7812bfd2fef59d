"""The tables of a collection in an SQLite database, and what is done with them inside a transaction.

    vector_collections   which model's vectors a collection holds, and how often something was deleted
    NAME                 its documents, by number: the order in which they were added
    NAME__vectors        a vector for each text and model, by the text's hash, whichever documents have that text
    NAME__words          FTS5 over the words that hocket has split the texts into

A vector goes with the last document that has its text.
"""

import hashlib
import json
import sqlite3
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hocket.documents import Document
from hocket.errors import EmbeddingMismatch, VectorStoreError
from hocket.vectorstores.columns import MISSING
from hocket.vectorstores.filter_sql import Clause
from hocket.vectorstores.filters import check_size
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import Row
from hocket.vectorstores.words import split_words

__all__ = ["CollectionState", "SQLiteTables", "StoredRow", "pack_document"]

_FORMAT = 1
_CHUNK = 2_000

_READ: dict[str, object] = {"true": True, "false": False, "array": [], "object": {}}
"""Values of JSON that SQLite gives as something else."""

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS vector_collections (
        name TEXT PRIMARY KEY,
        format INTEGER NOT NULL,
        model TEXT,
        size INTEGER,
        changes INTEGER NOT NULL DEFAULT 0,
        removals INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE IF NOT EXISTS {name} (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        hash BLOB NOT NULL,
        content TEXT NOT NULL,
        metadata TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS {name}__hash ON {name} (hash);
    CREATE TABLE IF NOT EXISTS {name}__vectors (
        hash BLOB NOT NULL,
        model TEXT NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (hash, model)
    );
    CREATE VIRTUAL TABLE IF NOT EXISTS {name}__words USING fts5(words, tokenize = "ascii tokenchars '-._'");
"""


class StoredRow(NamedTuple):
    """A document as it is written."""

    id: str
    hash: bytes
    content: str
    metadata: str
    words: str
    vector: bytes


class CollectionState(NamedTuple):
    """What a collection holds.

    Attributes:
        model: whose vectors; None: there are no documents.
        size: numbers in each vector.
        changes: how often a vector was changed that was there.
        removals: how often something was deleted or replaced.
        last: the greatest number of a document.
    """

    model: str | None
    size: int
    changes: int
    removals: int
    last: int


def pack_document(document: Document, row: Row) -> StoredRow:
    """Return a document with its vector, of length 1, as it is written."""
    text = document.page_content
    return StoredRow(
        str(document.id),
        _hash(text),
        text,
        json.dumps(document.metadata, ensure_ascii=False),
        " ".join(split_words(text)),
        _pack(row),
    )


class SQLiteTables:
    """The tables of one collection. Its methods take a connection, and those that write one in a transaction.

    Args:
        name: of the collection, which was checked.
        owner: the database and the collection, for the texts of errors.
    """

    def __init__(self, name: str, owner: str) -> None:
        self._name = name
        self._owner = owner
        self.schema: str = _SCHEMA.format(name=name)

    # -- what it holds

    def read_state(self, connection: sqlite3.Connection) -> CollectionState:
        """Return what the collection holds.

        Raises:
            VectorStoreError: a newer hocket has written it.
        """
        sql = (
            f"SELECT format, model, size, changes, removals, (SELECT max(number) FROM {self._name})"
            " FROM vector_collections WHERE name = ?"
        )
        found = connection.execute(sql, (self._name,)).fetchone()
        if found is None:
            return CollectionState(None, 0, 0, 0, 0)
        format, model, size, changes, removals, last = found
        if format > _FORMAT:
            raise VectorStoreError(f"{self._owner} has the format {format}; this hocket reads {_FORMAT}: update it")
        return CollectionState(model, size or 0, changes, removals, last or 0)

    def check_model(self, state: CollectionState, model: str) -> None:
        """Check that the collection may be used with a model.

        Raises:
            EmbeddingMismatch: it holds vectors of another one.
        """
        if state.model is not None and state.model != model:
            raise EmbeddingMismatch(
                f"{self._owner} holds vectors of {state.model}, of {state.size} numbers, and was opened with {model}: "
                "open it with that model, or have embed its texts again with areembed()"
            )

    # -- write

    def add(self, connection: sqlite3.Connection, rows: Sequence[StoredRow], model: str) -> None:
        """Store documents; those with the same ids are deleted.

        Raises:
            EmbeddingMismatch: the collection holds vectors of another model, or of another size.
        """
        state = self.read_state(connection)
        self.check_model(state, model)
        size = len(rows[0].vector) // 4
        if state.model is None:
            self._write_model(connection, model, size)
        else:
            check_size(size, state.size, self._owner)
        removed = self._remove(connection, [row.id for row in rows])
        name = self._name
        found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (name,)).fetchone()
        numbers = range(1 + (found[0] if found else 0), 1 + (found[0] if found else 0) + len(rows))
        connection.executemany(
            f"INSERT INTO {name} (number, id, hash, content, metadata) VALUES (?, ?, ?, ?, ?)",
            ((number, row.id, row.hash, row.content, row.metadata) for number, row in zip(numbers, rows, strict=True)),
        )
        connection.executemany(
            f"INSERT INTO {name}__words (rowid, words) VALUES (?, ?)",
            ((number, row.words) for number, row in zip(numbers, rows, strict=True)),
        )
        self._add_vectors(connection, [(row.hash, row.vector) for row in rows], model)
        self._remove_vectors(connection, removed)

    def delete(self, connection: sqlite3.Connection, ids: Iterable[str]) -> None:
        """Delete the documents with these ids."""
        self.read_state(connection)  # a newer hocket's tables are left alone
        self._remove_vectors(connection, self._remove(connection, ids))
        if connection.execute(f"SELECT 1 FROM {self._name} LIMIT 1").fetchone() is None:
            self._write_model(connection, None, None)

    def delete_all(self, connection: sqlite3.Connection) -> None:
        """Delete all documents."""
        self.read_state(connection)
        for table in (self._name, f"{self._name}__vectors", f"{self._name}__words"):
            connection.execute(f"DELETE FROM {table}")
        self._count(connection, "removals")
        self._write_model(connection, None, None)

    def add_vectors(
        self, connection: sqlite3.Connection, hashes: Sequence[bytes], rows: Sequence[Row], model: str
    ) -> None:
        """Store vectors by the hashes of their texts, for a model that is not the collection's yet."""
        self._add_vectors(connection, list(zip(hashes, map(_pack, rows), strict=True)), model)

    def preview_model(self, connection: sqlite3.Connection, model: str) -> CollectionState | None:
        """Return what the collection would hold as that of another model; None: that one lacks the vector of a text."""
        state = self.read_state(connection)  # first: up to its last document none lacks one
        if self.list_texts_without_vector(connection, model, b"", 1):
            return None
        sql = f"SELECT length(vector) / 4 FROM {self._name}__vectors WHERE model = ? LIMIT 1"
        found = connection.execute(sql, (model,)).fetchone()
        return state._replace(model=model if found else None, size=found[0] if found else 0, changes=state.changes + 1)

    def change_model(self, connection: sqlite3.Connection, model: str) -> bool:
        """Make it the collection of another model, if that one has a vector of every text; return whether it has."""
        state = self.preview_model(connection, model)
        if state is None:
            return False
        connection.execute(f"DELETE FROM {self._name}__vectors WHERE model <> ?", (model,))
        if self.read_state(connection).model != model:
            self._write_model(connection, state.model, state.size or None)
            self._count(connection, "changes")
        return True

    # -- read

    def list_texts_without_vector(
        self, connection: sqlite3.Connection, model: str, after: bytes, count: int
    ) -> list[tuple[bytes, str]]:
        """Return hashes and texts of which a model has no vector: the next ones after a hash, in their order."""
        name = self._name
        sql = (
            f"SELECT hash, content FROM {name} d WHERE hash > ? AND NOT EXISTS"
            f" (SELECT 1 FROM {name}__vectors v WHERE v.hash = d.hash AND v.model = ?) GROUP BY hash ORDER BY hash LIMIT ?"
        )
        return connection.execute(sql, (after, model, count)).fetchall()

    def find_vectors(self, connection: sqlite3.Connection, texts: Iterable[str], model: str) -> dict[str, Row]:
        """Return the vectors that there are of texts."""
        sql = f"SELECT vector FROM {self._name}__vectors WHERE hash = ? AND model = ?"
        found = ((text, connection.execute(sql, (_hash(text), model)).fetchone()) for text in texts)
        return {text: self._unpack(row[0]) for text, row in found if row is not None}

    def load_rows(
        self, connection: sqlite3.Connection, after: int, model: str, size: int
    ) -> Iterator[tuple[Sequence[int], Sequence[Row]]]:
        """Yield the numbers and vectors of documents with greater numbers than ``after``, some thousands at a time."""
        name = self._name
        sql = (
            f"SELECT number, vector FROM {name} d LEFT JOIN {name}__vectors v ON v.hash = d.hash AND v.model = ?"
            " WHERE number > ? ORDER BY number"
        )
        cursor = connection.execute(sql, (model, after))
        while found := cursor.fetchmany(_CHUNK):
            yield [number for number, _ in found], [self._unpack(vector, size) for _, vector in found]

    def count_documents(self, connection: sqlite3.Connection, after: int = 0) -> int:
        """Return how many documents there are with greater numbers than ``after``."""
        counting = f"SELECT count(*) FROM {self._name} WHERE number > ?"
        count: int = connection.execute(counting, (after,)).fetchone()[0]
        return count

    def list_numbers(self, connection: sqlite3.Connection, after: int = 0, until: int = sys.maxsize) -> list[int]:
        """Return the numbers of the documents that are greater than ``after``, and not than ``until``, in no order."""
        sql = f"SELECT number FROM {self._name} WHERE number > ? AND number <= ?"
        return [number for (number,) in connection.execute(sql, (after, until))]

    def list_values(self, connection: sqlite3.Connection, key: str, numbers: Sequence[int]) -> list[object]:
        """Return what documents have under a key of their metadata.

        Args:
            connection: to read by.
            key: of the metadata.
            numbers: of the documents, growing; those that are gone have nothing.
        """
        sql = (
            f"SELECT number, type, value FROM {self._name} d, json_each(d.metadata) j"
            " WHERE j.key = ? AND number BETWEEN ? AND ?"
        )
        rows = connection.execute(sql, (key, numbers[0], numbers[-1]))
        found = {number: _READ.get(type, value) for number, type, value in rows}
        return [found.get(number, MISSING) for number in numbers]

    def list_ids(self, connection: sqlite3.Connection, clause: Clause) -> list[str]:
        """Return the ids of the documents that match, in the order in which they were added."""
        sql = f"SELECT id FROM {self._name} d WHERE {clause.text} ORDER BY number"
        return [id for (id,) in connection.execute(sql, clause.values)]

    def read_documents(self, connection: sqlite3.Connection, column: str, keys: Iterable[object]) -> list[Document]:
        """Return the documents that have these values in a column, ``id`` or ``number``, of those that are there."""
        sql = f"SELECT id, content, metadata FROM {self._name} WHERE {column} = ?"
        rows = [connection.execute(sql, (key,)).fetchone() for key in keys]
        return [self._make_document(*row) for row in rows if row is not None]

    def search_words(
        self, connection: sqlite3.Connection, words: Sequence[str], k: int, clause: Clause | None, model: str
    ) -> list[Match]:
        """Return the documents that have some of the words, with their scores and vectors, best first.

        A word that most documents have counts a millionth. It is left out where the others find enough, since SQLite
        weighs each document that has one of the words.
        """
        there = self.count_documents(connection)
        count = f"SELECT count(*) FROM {self._name}__words WHERE {self._name}__words MATCH ?"
        rare = [word for word in words if 2 * connection.execute(count, (f'"{word}"',)).fetchone()[0] <= there]
        found = self._rank_words(connection, rare, k, clause, model) if rare else []
        if len(found) == k or len(rare) == len(words):
            return found
        return self._rank_words(connection, words, k, clause, model)

    # -- inside

    def _rank_words(
        self, connection: sqlite3.Connection, words: Sequence[str], k: int, clause: Clause | None, model: str
    ) -> list[Match]:
        name = self._name
        limit = f"JOIN {name} d ON d.number = {name}__words.rowid WHERE {clause.text} AND" if clause else "WHERE"
        best = (
            f"SELECT {name}__words.rowid AS number, bm25({name}__words) AS score FROM {name}__words"
            f" {limit} {name}__words MATCH ? ORDER BY score, {name}__words.rowid LIMIT ?"
        )
        sql = (
            f"SELECT id, content, metadata, -score, vector FROM ({best}) b JOIN {name} d ON d.number = b.number"
            f" LEFT JOIN {name}__vectors v ON v.hash = d.hash AND v.model = ? ORDER BY score, d.number"
        )
        asked = " OR ".join(f'"{word}"' for word in words)
        rows = connection.execute(sql, (*(clause.values if clause else ()), asked, k, model))
        return [Match(self._make_document(*row[:3]), row[3], self._unpack(row[4])) for row in rows]

    def _write_model(self, connection: sqlite3.Connection, model: str | None, size: int | None) -> None:
        sql = (
            "INSERT INTO vector_collections (name, format, model, size) VALUES (?, ?, ?, ?) ON CONFLICT (name)"
            " DO UPDATE SET format = excluded.format, model = excluded.model, size = excluded.size"
        )
        connection.execute(sql, (self._name, _FORMAT, model, size))

    def _add_vectors(self, connection: sqlite3.Connection, vectors: Sequence[tuple[bytes, bytes]], model: str) -> None:
        """Store vectors by the hashes of their texts; they take the place of those that are there."""
        connection.executemany(
            f"INSERT OR IGNORE INTO {self._name}__vectors (hash, model, vector) VALUES (?, ?, ?)",
            ((hash, model, vector) for hash, vector in vectors),
        )
        changed = connection.executemany(
            f"UPDATE {self._name}__vectors SET vector = ? WHERE hash = ? AND model = ? AND vector <> ?",
            ((vector, hash, model, vector) for hash, vector in vectors),
        )
        if changed.rowcount > 0:
            self._count(connection, "changes")

    def _remove(self, connection: sqlite3.Connection, ids: Iterable[str]) -> set[bytes]:
        """Delete documents and their words; return the hashes of their texts."""
        find = f"SELECT number, hash FROM {self._name} WHERE id = ?"
        found = [row for one in ids if (row := connection.execute(find, (one,)).fetchone())]
        numbers = [(number,) for number, _ in found]
        connection.executemany(f"DELETE FROM {self._name} WHERE number = ?", numbers)
        connection.executemany(f"DELETE FROM {self._name}__words WHERE rowid = ?", numbers)
        if found:
            self._count(connection, "removals")
        return {hash for _, hash in found}

    def _count(self, connection: sqlite3.Connection, counter: str) -> None:
        """Tell processes with the vectors in memory that there were "changes" or "removals"."""
        connection.execute(f"UPDATE vector_collections SET {counter} = {counter} + 1 WHERE name = ?", (self._name,))

    def _remove_vectors(self, connection: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
        """Delete vectors that no document has any more."""
        connection.executemany(
            f"DELETE FROM {self._name}__vectors WHERE hash = ?"
            f" AND NOT EXISTS (SELECT 1 FROM {self._name} WHERE hash = ?)",
            ((hash, hash) for hash in hashes),
        )

    def _unpack(self, vector: bytes | None, size: int | None = None) -> Row:
        length = 0 if vector is None else len(vector)
        if vector is None or length % 4 or size not in (None, length // 4):
            raise VectorStoreError(
                f"{self._owner} is damaged: a document's vector has {length} bytes, and the others {(size or 1) * 4}"
            )
        row = array("f")
        row.frombytes(vector)
        if sys.byteorder == "big":
            row.byteswap()
        return row

    def _make_document(self, id: str, content: str, metadata: str) -> Document:
        try:
            return Document(content, id=id, metadata=json.loads(metadata))
        except ValueError as error:
            raise VectorStoreError(f"{self._owner} is damaged: document {id!r} cannot be read: {error}") from error


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _pack(row: Row) -> bytes:
    """Return a vector as 32-bit floats, the lowest byte first."""
    if sys.byteorder == "little":
        return row.tobytes()
    swapped = array("f", row)
    swapped.byteswap()
    return swapped.tobytes()
