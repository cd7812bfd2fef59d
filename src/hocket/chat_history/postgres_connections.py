"""Connections to PostgreSQL that threads share.

A stack, so that the few that are needed stay warm. psycopg's own pool is a package of its own, with threads of its own;
it may be given to a history instead.
"""

import collections
import selectors
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

__all__ = ["Connections"]

SIZE = 10
PATIENCE = 20.0
"""Seconds to wait for one of them."""

_SETTINGS = {"connect_timeout": 10, "tcp_user_timeout": 20_000}
"""Seconds to connect, and milliseconds until a server that does not even confirm what it was sent counts as gone."""


class Connections:
    """At most 10 connections to one URL, in autocommit mode, opened when they are needed.

    Args:
        url: its query says more, as for libpq.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        given = conninfo_to_dict(url)
        self._settings: dict[str, Any] = {name: value for name, value in _SETTINGS.items() if name not in given}
        self._free = threading.BoundedSemaphore(SIZE)
        self._idle: collections.deque[psycopg.Connection[Any]] = collections.deque()

    @contextmanager
    def connection(self) -> Generator[psycopg.Connection[Any]]:
        """Borrow a connection.

        Raises:
            psycopg.OperationalError: there is none: no server, no permission, none free in time.
        """
        if not self._free.acquire(timeout=PATIENCE):
            raise psycopg.OperationalError(f"none of {SIZE} connections became free within {PATIENCE:g} s")
        try:
            connection = self._taken()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def close_idle(self) -> None:
        """Close those that nobody has borrowed."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread was faster
                return

    def _taken(self) -> psycopg.Connection[Any]:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if _is_silent(connection):
                return connection
            connection.close()
        return psycopg.connect(self._url, autocommit=True, **self._settings)

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            connection.close()


def _is_silent(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has said nothing on an idle connection, such as that it closes it."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return not selector.select(0)
