"""What an indexed collection in SQLite has beside the tables of `SQLiteTables`.

    NAME__index    which file has the index, and up to which document; one row more for a model that is to be the next
    NAME__facts    the metadata as `json_each` gives them, by key and value: they find what a filter leaves
    NAME__common   how many documents have a word, of words that many have, as of the last time that somebody counted
    NAME__counts   the same of all words, as FTS5 counts it: by reading all of them

Triggers keep the facts, so that a plain `SQLiteVectorStore` may write to the same collection.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hocket.vectorstores.filter_sql import Clause, write_condition
from hocket.vectorstores.filters import All, Compare, Condition, Exists, Some
from hocket.vectorstores.rows import Row
from hocket.vectorstores.sqlite import SQLiteFilters
from hocket.vectorstores.sqlite_tables import SQLiteTables

__all__ = ["FaissTables", "StoredIndex"]

_FACTS = "SELECT key, type, coalesce(atom, ''), {0}number FROM {1}json_each({0}metadata)"
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS {name}__index (
        file TEXT, model TEXT, changes INTEGER, last INTEGER, total INTEGER, placed INTEGER
    );
    CREATE TABLE IF NOT EXISTS {name}__facts (
        key TEXT, type TEXT, value, number INTEGER, PRIMARY KEY (key, type, value, number)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS {name}__common (word TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS {name}__counts USING fts5vocab('{name}__words', 'row');
    CREATE TRIGGER IF NOT EXISTS {name}__add AFTER INSERT ON {name} BEGIN
        INSERT OR IGNORE INTO {name}__facts {added};
    END;
    CREATE TRIGGER IF NOT EXISTS {name}__remove AFTER DELETE ON {name} BEGIN
        DELETE FROM {name}__facts WHERE (key, type, value, number) IN ({removed});
    END;
"""

_RARE = 100
"""Documents that may have a word without its being counted as common."""

_MOST_WORDED = 1_000
"""Documents that the words which are searched for may have together, about; each takes a microsecond."""

_MOST_LISTED = 200_000
"""Documents of a filter that are listed at most; one that leaves more finds enough among the nearest."""


class StoredIndex(NamedTuple):
    """What is known of a collection's index.

    Attributes:
        file: its name, in the database's directory.
        model, changes: of the collection, when it was made.
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


class _FactFilters(SQLiteFilters):
    """Writes the leaves of a condition for one fact, whose columns are those of `json_each`."""

    def __init__(self) -> None:
        self._value = "(key = ?"


class FaissTables(SQLiteTables):
    """The tables of one collection with an index; see `SQLiteTables`."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(name, owner)
        added = _SCHEMA.format(name=name, added=_FACTS.format("NEW.", ""), removed=_FACTS.format("OLD.", ""))
        self.schema: str = self.schema + added

    def read_index(self, connection: sqlite3.Connection, model: str | None) -> StoredIndex | None:
        """Return what is known of the index of a model's vectors; None: there is none."""
        found = connection.execute(f"SELECT * FROM {self._name}__index WHERE model = ?", (model,)).fetchone()
        return None if found is None else StoredIndex(*found)

    def list_files(self, connection: sqlite3.Connection) -> set[str]:
        """Return the names of the files that are of use."""
        return {file for (file,) in connection.execute(f"SELECT file FROM {self._name}__index")}

    def write_index(self, connection: sqlite3.Connection, index: StoredIndex | None) -> None:
        """Let everybody know of a new index, or that there is none. The first one finds documents without facts."""
        name = self._name
        if not self.list_files(connection):
            connection.execute(f"INSERT OR IGNORE INTO {name}__facts {_FACTS.format('', f'{name}, ')}")
        if index is None:
            connection.execute(f"DELETE FROM {name}__index")
        else:
            connection.execute(f"DELETE FROM {name}__index WHERE model = ?", (index.model,))
            connection.execute(f"INSERT INTO {name}__index VALUES (?, ?, ?, ?, ?, ?)", index)

    def change_model(self, connection: sqlite3.Connection, model: str) -> bool:
        """Make it the collection of another model, whose index is there already; see `SQLiteTables`."""
        if not super().change_model(connection, model):
            return False
        connection.execute(f"DELETE FROM {self._name}__index WHERE model <> ?", (model,))
        return True

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
        for part in _list_leaves(condition):
            clause, limit = write_condition(part, _FactFilters()), _MOST_LISTED if best is None else len(best)
            sql = f"SELECT number FROM {self._name}__facts WHERE {clause.text} LIMIT ?"
            found = connection.execute(f"SELECT group_concat(number) FROM ({sql})", (*clause.values, limit)).fetchone()
            numbers: list[int] = json.loads(f"[{found[0] or ''}]")
            best = numbers if len(numbers) < limit else best
        return best

    def rank_words(
        self, connection: sqlite3.Connection, words: Sequence[str], count: int
    ) -> tuple[list[str], dict[int, float]]:
        """Return the rarest words, as many as not too many documents have, one at least; and numbers and scores of the
        best documents that have some of them."""
        sql = (  # they were counted when the centres were placed
            f"SELECT word, count * total / placed FROM {self._name}__common, {self._name}__index"
            " WHERE word IN (SELECT value FROM json_each(?))"
        )
        counts: dict[str, int] = dict(connection.execute(sql, (json.dumps(words),)).fetchall())
        rare: list[str] = []
        left = _MOST_WORDED
        for word in sorted(words, key=lambda word: counts.get(word, 0)):
            left -= counts.get(word, 0)
            if left >= 0 or not rare:
                rare.append(word)
        table, asked = f"{self._name}__words", " OR ".join(f'"{word}"' for word in rare)
        sql = f"SELECT rowid, -rank FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?"
        return rare, dict(connection.execute(sql, (asked, count)).fetchall())


def _list_leaves(condition: Condition) -> Iterator[Condition]:
    """Yield conditions on one fact, for each of which all documents that match have one."""
    match condition:
        case All(parts):
            for part in parts:
                yield from _list_leaves(part)
        case Some(parts) if not all(isinstance(part, Compare | Exists) for part in parts):
            return
        case Compare() | Exists() | Some():
            yield condition
        case _:
            return
