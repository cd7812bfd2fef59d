"""What an indexed collection in SQLite has beside the tables of `SQLiteTables`.

    NAME__index    one row: which file has the index, and up to which document
    NAME__facts    the metadata by key and value, which finds what a filter leaves without a look at each document
    NAME__common   how many documents have a word, of words that many have, as of the last time that somebody counted
    NAME__counts   the same of all words, as FTS5 counts it: by reading all of them

Triggers keep the facts, so that a plain `SQLiteVectorStore` may write to the same collection.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hocket.vectorstores.filter_sql import Clause, write_condition
from hocket.vectorstores.filters import All, Compare, Condition, Exists, Kind, Order, Scalar, Some
from hocket.vectorstores.rows import Row
from hocket.vectorstores.sqlite_tables import SQLiteTables

__all__ = ["FaissTables", "StoredIndex", "narrow"]

_FACTS = """
    SELECT key, CASE WHEN type IN ('true', 'false') THEN 'bool' WHEN type IN ('integer', 'real') THEN 'number' ELSE type END,
    CASE WHEN type IN ('null', 'array', 'object') THEN '' ELSE value END, {number} FROM json_each({metadata})
"""
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS {name}__index (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        file TEXT NOT NULL,
        model TEXT NOT NULL,
        changes INTEGER NOT NULL,
        last INTEGER NOT NULL,
        total INTEGER NOT NULL,
        placed INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS {name}__facts (
        key TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (key, kind, value, number)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS {name}__common (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS {name}__counts USING fts5vocab('{name}__words', 'row');
    CREATE TRIGGER IF NOT EXISTS {name}__add AFTER INSERT ON {name} BEGIN
        INSERT OR IGNORE INTO {name}__facts {added};
    END;
    CREATE TRIGGER IF NOT EXISTS {name}__remove AFTER DELETE ON {name} BEGIN
        DELETE FROM {name}__facts WHERE (key, kind, value, number) IN ({removed});
    END;
"""

_RARE = 100
"""Documents that may have a word without its being counted as common."""

_MOST_WORDED = 2_000
"""Documents that the words which are searched for may have together, about; each takes a microsecond."""

_MOST_LISTED = 200_000
"""Documents of a filter that are listed at most; one that leaves more finds enough among the nearest."""


class StoredIndex(NamedTuple):
    """What is known of a collection's index.

    Attributes:
        file: its name, in the database's directory.
        model: whose vectors.
        changes: as of the collection, when it was made.
        last: the greatest number of a document in it.
        total: vectors in it, of documents that are gone, too.
        placed: vectors that there were when its centres were placed.
    """

    file: str
    model: str
    changes: int
    last: int
    total: int
    placed: int


class FactFilters:
    """Writes the leaves of a condition for the rows of facts, ``f``."""

    def write_equal(self, key: str, kind: Kind, values: Sequence[Scalar]) -> Clause:
        """Write that the fact is that ``key`` is one of these."""
        if kind == "null":
            return Clause("(f.key = ? AND f.kind = 'null')", (key,))
        text = "(f.key = ? AND f.kind = ? AND f.value IN (SELECT value FROM json_each(?)))"
        return Clause(text, (key, kind, json.dumps(values, ensure_ascii=False)))

    def write_order(self, key: str, kind: Kind, order: Order, value: Scalar) -> Clause:
        """Write that the fact is that ``key`` is in this order with ``value``."""
        sign = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}[order]
        text = f"(f.key = ? AND f.kind = ? AND f.value {sign} json_extract(?, '$'))"
        return Clause(text, (key, kind, json.dumps(value, ensure_ascii=False)))

    def write_exists(self, key: str) -> Clause:
        """Write that the fact is about ``key``."""
        return Clause("(f.key = ?)", (key,))


class FaissTables(SQLiteTables):
    """The tables of one collection with an index; see `SQLiteTables`."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(name, owner)
        added, removed = (_FACTS.format(number=f"{row}.number", metadata=f"{row}.metadata") for row in ("NEW", "OLD"))
        self.schema += _SCHEMA.format(name=name, added=added, removed=removed)

    # -- the index

    def read_index(self, connection: sqlite3.Connection) -> StoredIndex | None:
        """Return what is known of the index; None: there is none."""
        columns = ", ".join(StoredIndex._fields)
        found = connection.execute(f"SELECT {columns} FROM {self._name}__index").fetchone()
        return None if found is None else StoredIndex(*found)

    def write_index(self, connection: sqlite3.Connection, index: StoredIndex | None) -> None:
        """Let everybody know of a new index, or that there is none. The first one finds documents without facts."""
        name = self._name
        if self.read_index(connection) is None:
            facts = _FACTS.format(number="number", metadata="metadata").replace("FROM", f"FROM {name},")
            connection.execute(f"INSERT OR IGNORE INTO {name}__facts {facts}")
        connection.execute(f"DELETE FROM {name}__index")
        if index is not None:
            places = ", ".join("?" * len(index))
            connection.execute(f"INSERT INTO {name}__index VALUES (1, {places})", index)

    def count_documents(self, connection: sqlite3.Connection, after: int = 0) -> int:
        """Return how many documents have a greater number."""
        ((count,),) = connection.execute(f"SELECT count(*) FROM {self._name} WHERE number > ?", (after,)).fetchall()
        return int(count)

    def sample_vectors(self, connection: sqlite3.Connection, model: str, size: int, count: int) -> list[Row]:
        """Return vectors of the texts with the least hashes: a fair sample, since hashes are as good as random."""
        sql = f"SELECT vector FROM {self._name}__vectors WHERE model = ? ORDER BY hash LIMIT ?"
        return [self._unpack(vector, size) for (vector,) in connection.execute(sql, (model, count))]

    def count_words(self, connection: sqlite3.Connection) -> list[tuple[str, int]]:
        """Return how many documents have a word, of those that many have: it takes some seconds for a million."""
        return connection.execute(f"SELECT term, doc FROM {self._name}__counts WHERE doc > ?", (_RARE,)).fetchall()

    def write_words(self, connection: sqlite3.Connection, counts: Sequence[tuple[str, int]]) -> None:
        """Keep what was counted."""
        connection.execute(f"DELETE FROM {self._name}__common")
        connection.executemany(f"INSERT INTO {self._name}__common VALUES (?, ?)", counts)

    # -- search

    def load_where(
        self, connection: sqlite3.Connection, clause: Clause, model: str, size: int
    ) -> list[tuple[int, Row]]:
        """Return numbers and vectors of the documents that match, in the order of numbers."""
        name = self._name
        sql = (
            f"SELECT number, vector FROM {name} d LEFT JOIN {name}__vectors v ON v.hash = d.hash AND v.model = ?"
            f" WHERE {clause.text} ORDER BY number"
        )
        rows = connection.execute(sql, (model, *clause.values))
        return [(number, self._unpack(vector, size)) for number, vector in rows]

    def list_matching(self, connection: sqlite3.Connection, condition: Condition) -> list[int] | None:
        """Return the numbers of documents that may match, and of all that do, from the facts; None: they are too many, or
        facts cannot say."""
        best: list[int] | None = None
        for clause in _list_clauses(condition):
            limit = _MOST_LISTED if best is None else len(best)
            sql = f"SELECT f.number FROM {self._name}__facts f WHERE {clause.text} LIMIT ?"
            ((found,),) = connection.execute(
                f"SELECT group_concat(number) FROM ({sql})", (*clause.values, limit)
            ).fetchall()
            numbers: list[int] = json.loads(f"[{found or ''}]")
            if len(numbers) < limit:
                best = numbers
        return best

    def choose_words(self, connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
        """Return the rarest words, as many as not too many documents have, and one at least."""
        sql = f"SELECT word, count FROM {self._name}__common WHERE word IN (SELECT value FROM json_each(?))"
        counts: dict[str, int] = dict(connection.execute(sql, (json.dumps(words),)).fetchall())
        chosen: list[str] = []
        left = _MOST_WORDED
        for word in sorted(words, key=lambda word: counts.get(word, 0)):
            left -= counts.get(word, 0)
            if left < 0 and chosen:
                break
            chosen.append(word)
        return chosen

    def rank_words(self, connection: sqlite3.Connection, words: Sequence[str], count: int) -> list[tuple[int, float]]:
        """Return numbers of documents that have some of the words, with their scores, best first."""
        words_table = f"{self._name}__words"
        sql = f"SELECT rowid, -rank FROM {words_table} WHERE {words_table} MATCH ? ORDER BY rank, rowid LIMIT ?"
        return connection.execute(sql, (" OR ".join(f'"{word}"' for word in words), count)).fetchall()


def _list_clauses(condition: Condition) -> Iterator[Clause]:
    """Yield conditions on facts, each of which all documents that match have a fact for."""
    match condition:
        case Compare() | Exists():
            yield write_condition(condition, FactFilters())
        case Some(parts) if parts and all(isinstance(part, Compare | Exists) for part in parts):
            yield write_condition(condition, FactFilters())
        case All(parts):
            for part in parts:
                yield from _list_clauses(part)
        case _:
            return


def narrow(clause: Clause, numbers: Sequence[int]) -> Clause:
    """Return the condition for some documents alone."""
    text = f"d.number IN (SELECT value FROM json_each(?)) AND {clause.text}"
    return Clause(text, (json.dumps(numbers), *clause.values))
