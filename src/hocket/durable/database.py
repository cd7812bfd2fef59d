"""The database of durable runs, by its address: what speaks to it, and what its failures are called."""

import os
import re
import sqlite3
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, TimeoutError as PoolTimeout

from hocket._databases.sqlite import switch_to_wal
from hocket._databases.urls import parse_shared_address
from hocket._runtime.fork import ForkBarrier, before_fork, fork_barrier
from hocket._secrets import redact_url
from hocket.durable.liveness import FileLiveness, Liveness, SessionLiveness
from hocket.durable.tables import RUN_TABLE, RunTables
from hocket.errors import EngineUnavailable, InvalidInput

__all__ = ["RunDatabase", "close_with"]

_PATIENCE = 30.0  # seconds for which a writer waits for others, on SQLite


def close_with(owner: object, close: Callable[[], object]) -> "weakref.finalize[..., object]":
    """Have connections closed when their owner is gone, or now, by the process that opened them."""
    opener = os.getpid()
    return weakref.finalize(owner, lambda: close() if os.getpid() == opener else None)


def _read_time(_: object) -> float:
    return time.time()


class _SQLiteConnection(sqlite3.Connection):
    """A connection as DBOS has it, with two things more.

    A fork waits while it is used, from a cursor to the commit or rollback that SQLAlchemy ends each use with, and closes it
    otherwise: SQLAlchemy, which tries it before each use (``pool_pre_ping``), opens another. And it knows
    the fractions of seconds that times have on Python 3.12 and later, which would be NULL where SQLite is older than 3.42
    (Debian 12, Ubuntu 22.04).
    """

    _entered: ForkBarrier | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.isolation_level = "IMMEDIATE"
        self.execute("PRAGMA foreign_keys=ON")
        if sqlite3.sqlite_version_info < (3, 42):
            self.create_function("unixepoch", 1, _read_time)
        self.commit()
        _connections.add(self)

    def close_if_idle(self) -> None:
        """Close it, unless a thread uses it."""
        if self._entered is None:
            self.close()

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        if self._entered is None:
            (barrier := fork_barrier()).enter()
            self._entered = barrier  # not before: a fork that it waits for closes the connection, too
        return super().cursor(*arguments, **options)

    def commit(self) -> None:
        super().commit()
        self._leave()

    def rollback(self) -> None:
        super().rollback()
        self._leave()

    def close(self) -> None:
        super().close()
        self._leave()

    def _leave(self) -> None:
        entered, self._entered = self._entered, None
        if entered is not None:
            entered.leave()


_connections: weakref.WeakSet[_SQLiteConnection] = weakref.WeakSet()


@before_fork
def _close_idle() -> None:
    for connection in list(_connections):
        connection.close_if_idle()


def _find_schema(address: sa.URL) -> str:
    """Return the schema of the engine's tables, beside the one that an address names for all others."""
    path = re.search(r"search_path\s*=\s*([^,\s]*)", str(address.query.get("options", "")))
    name = "public" if path is None else path[1].lower()  # as PostgreSQL reads it
    if not re.fullmatch(r"[a-z_]\w{0,50}", name, re.ASCII):
        raise InvalidInput(f"the schema of durable runs is {name!r}; it has up to 51 letters, digits and underscores")
    return "dbos" if name == "public" else f"{name}_dbos"


class RunDatabase:
    """One database; nothing is opened before it is used. Its methods block.

    Attributes:
        url: its address, as histories take it.
        shown: its address without a password.
        schema: of the engine's tables, in PostgreSQL: an address that names a schema has runs of its own.

    Raises:
        InvalidInput: the address is of another kind, or its schema has no plain name.
    """

    def __init__(self, url: str) -> None:
        kind, place = parse_shared_address(url, "durable runs")  # which shows no password of an address with a mistake
        self.shown: str = redact_url(url)
        if kind == "redis" or not place:
            raise InvalidInput(f"{self.shown!r} is no address of durable runs: it is sqlite:///path or postgresql://…")
        self.url: str = url
        self._path = place if kind == "sqlite" else None
        try:
            address = sa.make_url(url)
        except (ArgumentError, ValueError):  # of a port
            raise InvalidInput(f"{self.shown!r} cannot be read: it is postgresql://user@host:port/database") from None
        self._address = address if self._path else address.set(drivername="postgresql+psycopg")
        self.schema: str = "dbos" if self._path else _find_schema(address)
        self._engine: sa.Engine | None = None
        self._tables: RunTables | None = None

    @property
    def engine_url(self) -> str:
        """The address, as DBOS takes it."""
        return self._address.render_as_string(hide_password=False)

    @property
    def connect_args(self) -> dict[str, Any]:
        """How a connection is opened."""
        return {"timeout": _PATIENCE, "factory": _SQLiteConnection} if self._path else {}

    @property
    def tables(self) -> RunTables:
        """The tables of durable runs; made if absent."""
        if self._tables is None:
            self._engine = sa.create_engine(self._address, connect_args=self.connect_args, pool_pre_ping=True)
            close_with(self, self._engine.dispose)
            tables = RunTables(self._engine)
            with self._engine.connect() as connection:
                if self._path:  # kept in the file
                    switch_to_wal(cast(sqlite3.Connection, connection.connection.driver_connection), _PATIENCE)
            tables.make()
            self._tables = tables
        return self._tables

    @property
    def client_engine(self) -> sa.Engine | None:
        """What DBOS's client asks by; None: it makes its own, as for PostgreSQL."""
        _ = self.tables
        return self._engine if self._path else None

    def is_made(self) -> bool:
        """Whether durable runs were ever kept here; to look makes no file, and no table.

        Raises:
            EngineUnavailable: it cannot be reached.
        """
        if self._path and not os.path.exists(self._path):
            return False
        looking = sa.create_engine(self._address, poolclass=sa.NullPool)
        with self.tell_failures():
            return sa.inspect(looking).has_table(RUN_TABLE)

    def has_table(self, name: str) -> bool:
        """Whether the engine has made its tables."""
        _ = self.tables
        assert self._engine is not None
        return sa.inspect(self._engine).has_table(name, schema=None if self._path else self.schema)

    def make_liveness(self) -> Liveness:
        """Return the locks of the workers."""
        return FileLiveness(self._path) if self._path else SessionLiveness(self._address)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        if self._engine is not None:
            self._engine.dispose()

    @contextmanager
    def tell_failures(self) -> Generator[None]:
        """Raise a failure of the database in hocket's words.

        Raises:
            EngineUnavailable: it cannot be reached, or does not answer.
        """
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            said = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()[:1]
            raise EngineUnavailable(f"{self.shown}: {''.join(said)}") from error
        except PoolTimeout:
            raise EngineUnavailable(f"{self.shown}: all connections are in use") from None
