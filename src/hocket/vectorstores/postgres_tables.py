"""The tables of a vector store in PostgreSQL, and the statements over them.

Documents have numbers, which grow with each that is added: the order of insertion. Their metadata are there twice: exactly
as they were given, and as JSONB, which sorts keys and rewrites numbers, for filters. Vectors are kept by the hash of their
text, so that a text is embedded once, however often it is there or comes back under another id. The one row of the third
table says of which embedding model they are.

Who writes takes a lock on the store for the transaction: so numbers are in the order of commits, and no two writers can
wait for one another. Readers wait for nobody but a change of the model, which takes the third table for itself.
"""

import re
from typing import Any, Final, NamedTuple

import psycopg

from hocket._databases.postgres import Connection, UndefinedTable
from hocket.errors import InvalidInput, VectorStoreError

__all__ = ["Meta", "Tables"]

FORMAT: Final = 1
"""Of the tables; a later hocket that changes them counts on."""

_LONGEST = 40
"""Characters of a table's name: PostgreSQL takes 63, and cuts what is longer; ours get endings."""

_CREATE = """
    CREATE TABLE {documents} (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        hash BYTEA NOT NULL,
        content TEXT NOT NULL,
        metadata JSON NOT NULL,
        facts JSONB NOT NULL,
        length INTEGER NOT NULL,
        words TSVECTOR NOT NULL
    );
    CREATE INDEX ON {documents} (hash);
    CREATE INDEX ON {documents} USING gin (words);
    CREATE TABLE {vectors} (hash BYTEA PRIMARY KEY, vector VECTOR({size}) NOT NULL);
    CREATE TABLE {meta} (model TEXT NOT NULL, size INTEGER NOT NULL, format INTEGER NOT NULL)
"""


class Meta(NamedTuple):
    """What a store says of itself.

    Attributes:
        model: the name of the embedding model.
        size: of its vectors.
        has_index: whether there is an index over the vectors.
    """

    model: str
    size: int
    has_index: bool


class Tables:
    """The tables whose names begin with ``name``.

    Args:
        name: letters, digits and underscores, at most 40 of them.

    Raises:
        InvalidInput: it is of another form.
    """

    def __init__(self, name: str) -> None:
        if not re.fullmatch(r"\w+", name) or len(name.encode()) > _LONGEST:
            raise InvalidInput(
                f"table is {name!r}; it must consist of letters, digits and underscores, {_LONGEST} at most"
            )
        self.name = name
        self._names = {
            "documents": f'"{name}"',
            **{part: f'"{name}_{part}"' for part in ("vectors", "meta", "index", "next", "next_index")},
        }

    def execute(
        self, connection: Connection, statement: str, *values: object, **parts: object
    ) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows.

        Args:
            connection: to run it on.
            statement: with ``{documents}``, ``{vectors}`` and so on for the names of the tables and their indexes.
            values: bound to its placeholders.
            parts: more to put into the braces: SQL of our own, never a value.
        """
        cursor = connection.cursor(binary=True)
        text = statement.format(**self._names, **parts).encode()
        cursor.execute(text, values or None, prepare=False)  # what is prepared fails when a table changes
        return cursor.fetchall() if cursor.description else []

    def read_meta(self, connection: Connection) -> Meta | None:
        """Return what the store says of itself; None: there is none yet.

        Raises:
            psycopg.Rollback: the tables are not there. It leaves the transaction, and is not seen outside of it.
        """
        try:
            found = self.execute(
                connection, "SELECT model, size, format, to_regclass(%s) IS NOT NULL FROM {meta}", self._names["index"]
            )
        except UndefinedTable:
            raise psycopg.Rollback from None
        if not found:
            return None
        model, size, format, has_index = found[0]
        if format != FORMAT:
            raise VectorStoreError(
                f"the tables {self.name} are of format {format}, and this hocket knows {FORMAT}: use a newer hocket"
            )
        return Meta(model, size, has_index)

    def begin_writing(self, connection: Connection) -> Meta | None:
        """Wait until nobody else writes, and return what the store says of itself; None: there is none yet."""
        self.execute(connection, "SELECT pg_advisory_xact_lock(hashtextextended('hocket write ' || %s, 0))", self.name)
        return self.read_meta(connection) if self._are_there(connection) else None

    def create(self, connection: Connection, model: str, size: int) -> None:
        """Make the tables for a model, or have empty ones serve for it."""
        if self._are_there(connection):
            self.execute(connection, "ALTER TABLE {vectors} ALTER COLUMN vector TYPE VECTOR({size})", size=size)
        else:
            _create_extension(connection)
            for statement in _CREATE.split(";"):
                self.execute(connection, statement, size=size)
        self.execute(connection, "INSERT INTO {meta} VALUES (%s, %s, %s)", model, size, FORMAT)

    def _are_there(self, connection: Connection) -> bool:
        """Whether there are tables. It looks at the catalogue's table, for caches do not see what others did meanwhile."""
        statement = "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(%s))"
        ((are_there,),) = self.execute(connection, statement, self._names["meta"])
        return bool(are_there)

    def create_index(self, connection: Connection, *, is_for_next: bool = False) -> None:
        """Make an index over the vectors, or over those that are to follow them, if there is none.

        Raises:
            VectorStoreError: pgvector is too old to search it with filters.
        """
        ((version,),) = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchall()
        if tuple(map(int, version.split(".")[:2])) < (0, 8):
            raise VectorStoreError(
                f"an index needs pgvector 0.8 or newer, not {version}: update it, then `ALTER EXTENSION vector UPDATE`"
            )
        index, table = ("{next_index}", "{next}") if is_for_next else ("{index}", "{vectors}")
        create = f"CREATE INDEX IF NOT EXISTS {index} ON {table} USING hnsw (vector vector_cosine_ops)"
        self.execute(connection, create)

    def use_index(self, connection: Connection, k: int) -> None:
        """Have this transaction look for ``k`` vectors in the index, and for more where a filter takes some away."""
        connection.execute(
            "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true)",
            (str(min(1000, max(40, k))),),
        )

    def leave_index(self, connection: Connection) -> None:
        """Have this transaction look at all vectors."""
        connection.execute("SELECT set_config('enable_indexscan', 'off', true)")


def _create_extension(connection: Connection) -> None:
    """Make pgvector's types known in the database, if they are not.

    Raises:
        VectorStoreError: the server does not have it, or this role may not.
    """
    ((is_known,),) = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_type WHERE oid = to_regtype('vector'))"
    ).fetchall()
    if is_known:
        return
    try:
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('hocket create extension', 0))")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.InsufficientPrivilege:
        raise VectorStoreError(
            "the database has no pgvector, and this role may not add it: have an administrator run "
            "`CREATE EXTENSION vector` in this database"
        ) from None
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        raise VectorStoreError(
            "PostgreSQL has no pgvector here: install it on the server (a package as postgresql-17-pgvector, the image "
            "pgvector/pgvector), then `CREATE EXTENSION vector`"
        ) from None
