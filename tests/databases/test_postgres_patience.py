"""Connections for stores without which a caller can go on: none is waited for long, and a server is not stormed."""

import selectors
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from hocket._databases.postgres_patience import ImpatientPool

URL = "postgresql://postgres@127.0.0.1:5432/test"


def test_a_cold_start_opens_one_connection_at_a_time() -> None:
    """Ten threads that find none share the way to the first, so that eight processes open eight at once, not eighty."""
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    pool = ImpatientPool(f"postgresql://postgres@127.0.0.1:{server.getsockname()[1]}/test", patience=0.5)
    begun = threading.Barrier(10)

    def borrow() -> None:
        begun.wait()
        with pool.connection():
            raise AssertionError("nobody answered")

    with server, ThreadPoolExecutor(10) as threads, selectors.DefaultSelector() as selector:
        waits = [threads.submit(borrow) for _ in range(10)]
        assert all(isinstance(one.exception(), psycopg.OperationalError) for one in waits)
        selector.register(server, selectors.EVENT_READ)
        accepted = []
        while selector.select(0):
            accepted.append(server.accept()[0])
        for connection in accepted:
            connection.close()
    assert len(accepted) == 1


def test_who_waits_for_a_connection_takes_one_that_is_given_back() -> None:
    """All ten get theirs, and there are never more than the threads that hold one."""
    try:
        socket.create_connection(("127.0.0.1", 5432), timeout=2).close()
    except OSError as error:
        pytest.skip(f"PostgreSQL does not answer on port 5432 ({error}); start it to run this test")
    pool = ImpatientPool(URL, patience=60.0)
    used: list[int] = []

    def ask(number: int) -> None:
        with pool.connection() as connection:
            used.append(connection.info.backend_pid)

    with ThreadPoolExecutor(10) as threads:
        list(threads.map(ask, range(30)))
    pool.close_idle()
    assert len(used) == 30
    assert len(set(used)) <= 10
