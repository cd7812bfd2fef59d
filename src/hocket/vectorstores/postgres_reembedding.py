"""Another embedding model for the texts that are in PostgreSQL already.

The new vectors are collected in a table of their own, batch by batch, and take the place of the old ones in one transaction,
in which all texts have theirs. So a search meanwhile compares like with like, and what was paid for is kept.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from hocket._databases.postgres import Connection
from hocket.vectorstores.postgres_rows import hash_text
from hocket.vectorstores.postgres_tables import Tables
from hocket.vectorstores.rows import Row

__all__ = ["Reembedding"]

_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS {next} (hash BYTEA PRIMARY KEY, model TEXT NOT NULL, vector VECTOR NOT NULL)"
)
_LIST = """
    SELECT max(number), min(content) FROM (
        SELECT number, hash, content FROM {documents} AS one
        WHERE number > %s AND NOT EXISTS (SELECT FROM {next} WHERE hash = one.hash AND model = %s)
        ORDER BY number LIMIT %s
    ) AS piece GROUP BY hash ORDER BY 1
"""
_MISSING = """
    SELECT EXISTS (
        SELECT FROM {documents} AS one WHERE NOT EXISTS (SELECT FROM {next} WHERE hash = one.hash AND model = %s)
    )
"""
_UNUSED = "DELETE FROM {next} AS old WHERE model <> %s OR NOT EXISTS (SELECT FROM {documents} WHERE hash = old.hash)"


class Reembedding:
    """The change to a model. Each method is the work of one transaction.

    Args:
        tables: of the store.
        model: the name of the new one.
    """

    def __init__(self, tables: Tables, model: str) -> None:
        self._tables = tables
        self._model = model

    def list_texts(self, connection: Connection, last: int, most: int) -> list[tuple[int, str]]:
        """Return some texts that have no new vector, each with the number of a document; none: all have, or need none.

        Args:
            connection: to work on.
            last: the number after which to look.
            most: texts at most.
        """
        meta = self._tables.begin_writing(connection)
        if meta is None or meta.model == self._model:
            return []
        self._tables.execute(connection, _CREATE)
        found = self._tables.execute(connection, _LIST, last, self._model, most)
        return [(number, content) for number, content in found]

    def keep(self, connection: Connection, texts: Sequence[str], rows: Sequence[Row]) -> None:
        """Keep new vectors of some texts, unless somebody else has made the change meanwhile."""
        meta = self._tables.begin_writing(connection)
        if meta is None or meta.model == self._model:
            return
        self._tables.execute(connection, _CREATE)
        statement = """
            INSERT INTO {next} SELECT * FROM unnest(%s::bytea[], %s::text[], %s::text[]::vector[])
            ON CONFLICT (hash) DO UPDATE SET model = EXCLUDED.model, vector = EXCLUDED.vector
        """
        hashes, vectors = [hash_text(text) for text in texts], [str(row.tolist()) for row in rows]
        self._tables.execute(connection, statement, hashes, [self._model] * len(texts), vectors)

    def finish(self, connection: Connection) -> bool:
        """Have the new vectors take the place of the old ones; False: some text has none yet."""
        meta = self._tables.begin_writing(connection)
        if meta is None or meta.model == self._model:
            return True
        ((is_missing,),) = self._tables.execute(connection, _MISSING, self._model)
        if is_missing:
            return False
        execute = partial(self._tables.execute, connection)
        execute(_UNUSED, self._model)
        sizes = execute("SELECT vector_dims(vector) FROM {next} LIMIT 1")
        size = sizes[0][0] if sizes else meta.size
        execute("ALTER TABLE {next} DROP COLUMN model")
        execute("ALTER TABLE {next} ALTER COLUMN vector TYPE VECTOR({size})", size=size)
        if meta.has_index:
            self._tables.create_index(connection, is_for_next=True)
        execute("LOCK TABLE {meta} IN ACCESS EXCLUSIVE MODE")  # wait for running searches
        execute("DROP TABLE {vectors}")
        execute("ALTER TABLE {next} RENAME TO {vectors}")
        if meta.has_index:
            execute("ALTER INDEX {next_index} RENAME TO {index}")
        execute("UPDATE {meta} SET model = %s, size = %s", self._model, size)
        return True
