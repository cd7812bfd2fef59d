"""Which workers live: each holds a lock that ends with its process, by itself. There is no lease and no clock.

On SQLite it is a lock of the system's on a file beside the database; in PostgreSQL one of the session of a connection of
the worker's own. A process that stands still for a while keeps both, so that none of its runs is taken from it.

A forked child has a copy of the file, or of the connection, with which it would keep the lock of a parent that has died. So
it lets go of them first of all.
"""

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hocket._databases.file_lock import try_lock_file
from hocket._databases.own_files import OWNER_ONLY
from hocket._runtime.fork import after_fork, leave_to_parent

__all__ = ["FileLiveness", "Liveness", "SessionLiveness"]

_QUIET = 30
"""Seconds after which a connection whose other end is silent counts as broken."""


class Liveness(ABC):
    """The locks of the workers of one database. Its methods block."""

    def __init__(self) -> None:
        _all.add(self)

    @abstractmethod
    def enter(self, worker: str) -> None:
        """Take the lock of this process."""

    @abstractmethod
    def is_held(self) -> bool:
        """Whether this process has its lock still."""

    @abstractmethod
    def is_alive(self, worker: str) -> bool:
        """Whether a worker lives; one that does not is forgotten."""

    @abstractmethod
    @contextmanager
    def sweep(self) -> Generator[bool]:
        """Be the only one that looks for dead workers; False: another one does."""
        yield False

    @abstractmethod
    def leave(self) -> None:
        """Give the lock of this process back."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of the parent's lock in a forked child; the parent keeps it."""


_all: "weakref.WeakSet[Liveness]" = weakref.WeakSet()


@after_fork
def _abandon_all() -> None:
    for liveness in list(_all):
        liveness.abandon()


class FileLiveness(Liveness):
    """Locks on files beside the database at ``path``."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = os.path.abspath(path)
        self._own: tuple[str, int] | None = None

    def _find_file(self, worker: str) -> str:
        return f"{self._path}.{worker}.alive"

    def enter(self, worker: str) -> None:
        path = self._find_file(worker)
        file = os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        try_lock_file(file)
        self._own = path, file

    def is_held(self) -> bool:
        return self._own is not None

    def is_alive(self, worker: str) -> bool:
        path = self._find_file(worker)
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            if not try_lock_file(file):
                return True
            with suppress(OSError):
                os.unlink(path)
            return False
        finally:
            os.close(file)

    @contextmanager
    def sweep(self) -> Generator[bool]:
        file = os.open(f"{self._path}.sweep", os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        try:
            yield try_lock_file(file)
        finally:
            os.close(file)

    def leave(self) -> None:
        if self._own is not None:
            path, file = self._own
            self._own = None
            with suppress(OSError):
                os.unlink(path)
            os.close(file)

    def abandon(self) -> None:
        if self._own is not None:
            os.close(self._own[1])
            self._own = None


class SessionLiveness(Liveness):
    """Advisory locks of PostgreSQL, on a connection of the worker's own."""

    def __init__(self, url: sa.URL) -> None:
        super().__init__()
        patience = {"tcp_user_timeout": 1000 * _QUIET, "keepalives_idle": _QUIET, "keepalives_interval": _QUIET // 3}
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool, connect_args=patience)
        self._connection: sa.Connection | None = None

    def _ask(self, call: str, name: str) -> bool:
        assert self._connection is not None
        key = {"name": f"hocket worker {name}"}
        return bool(self._connection.execute(sa.text(f"SELECT {call}(hashtextextended(:name, 0))"), key).scalar())

    def enter(self, worker: str) -> None:
        self._connection = self._engine.connect()
        self._ask("pg_try_advisory_lock", worker)

    def is_held(self) -> bool:
        try:
            return self._connection is not None and self._connection.execute(sa.text("SELECT 1")).scalar() == 1
        except SQLAlchemyError:  # also of a connection that was found broken before
            return False

    def is_alive(self, worker: str) -> bool:
        if not self._ask("pg_try_advisory_lock", worker):
            return True
        self._ask("pg_advisory_unlock", worker)
        return False

    @contextmanager
    def sweep(self) -> Generator[bool]:
        is_alone = self._ask("pg_try_advisory_lock", "sweep")
        try:
            yield is_alone
        finally:
            if is_alone:
                self._ask("pg_advisory_unlock", "sweep")

    def leave(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()  # which ends its session, and so its locks
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def abandon(self) -> None:
        if self._connection is None:
            return
        leave_to_parent(self._connection)
        connection, self._connection = self._connection, None
        driver = connection.connection.driver_connection
        if driver is not None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, driver.fileno())  # to close it would have the driver close a file that has its number then
            os.close(nowhere)
