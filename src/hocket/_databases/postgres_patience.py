"""Connections to PostgreSQL that do not wait for ever: for stores without which a call goes on, or is to be refused in time.

psycopg's sync connection waits for its server as long as the network holds. A statement's own limit would be kept by the
server, which is what may hang, and a parameter of the session is more than some poolers take. libpq takes two seconds at
least before it gives up on a host that does not answer, so connections are made in a thread. The next caller waits
for one that is late, for some seconds, in place of asking a server that has too much to do for one more.

They are made one after another. Were eight processes that start together to ask for ten each at once, the server would have
to start eighty of its own, and be late with all of them. Most who wait need none of their own: one is given back meanwhile.
"""

import threading
import time
from concurrent.futures import Future
from typing import TypeVar, cast

import psycopg
from psycopg.abc import PQGen

from hocket._databases.postgres import Connection, ConnectionPool
from hocket._runtime.own_thread import start_thread

__all__ = ["ImpatientPool", "connect_for_statements"]

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds to wait for an answer that is soon there if it comes at all: as long as for Redis's."""

HOPELESS = 5.0
"""Seconds after which nobody waits for a connection any more: the network may have lost what asked for it."""


class ImpatientPool(ConnectionPool):
    """A pool of such connections.

    Args:
        url: as of `ConnectionPool`.
        patience: seconds to wait for an answer.
    """

    def __init__(self, url: str, patience: float) -> None:
        super().__init__(url)
        self._patience = patience
        self._making: _Attempt | None = None
        self._starting = threading.Lock()

    def _connect(self) -> Connection:
        while True:
            try:
                self._join().result(self._patience)
            except TimeoutError:
                raise psycopg.OperationalError(f"no connection within {self._patience:g} s") from None
            if connection := self._take_idle():
                return connection

    def _join(self) -> "_Attempt":
        """Return the connection that is being made, or begin one."""
        with self._starting:
            if self._making is None or time.monotonic() - self._making.began > HOPELESS:
                self._making = _Attempt()
                start_thread("hocket connecting", self._make, self._making)
            return self._making

    def _make(self, attempt: "_Attempt") -> None:
        try:
            connection = _ImpatientConnection.connect(self._conninfo, autocommit=True)
            connection.patience = self._patience
        except BaseException as error:  # raised where it is waited for
            self._end(attempt)
            attempt.set_exception(error)
        else:
            self._idle.append(connection)
            self._end(attempt)
            attempt.set_result(None)

    def _end(self, attempt: "_Attempt") -> None:
        with self._starting:
            if self._making is attempt:
                self._making = None


def connect_for_statements(url: str) -> ImpatientPool:
    """Return a pool for statements of which each has its answer within `PATIENCE`, or fails."""
    return ImpatientPool(url, PATIENCE)


class _Attempt(Future[None]):
    """A connection in the making."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.monotonic()


class _ImpatientConnection(Connection):
    """A connection that gives up, and is of no use then; the pool closes it."""

    patience: float | None = None

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        if self.patience is None:
            return super().wait(gen, interval=interval)
        return super().wait(_give_up_after(gen, self.patience), interval=self.patience / 5)


def _give_up_after(gen: PQGen[T], seconds: float) -> PQGen[T]:
    """Pass on what psycopg waits for, and what it finds ready, which at each interval may be nothing, for so long."""
    ends_at = time.monotonic() + seconds
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > ends_at:
                gen.close()
                raise psycopg.OperationalError(f"no answer within {seconds:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return cast(T, end.value)
