"""The servers that histories are kept on: Redis and PostgreSQL, as a user has them."""

import os
import socket
from collections.abc import Iterator
from uuid import uuid4

import pytest

REDIS = "redis://127.0.0.1:6379/0"
POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"


def _need(name: str, port: int) -> None:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError as error:
        reason = f"{name} does not answer on port {port} ({error}); start it to run this test"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="session")
def redis_url() -> str:
    """The URL of Redis."""
    _need("Redis", 6379)
    return REDIS


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """The URL of PostgreSQL."""
    _need("PostgreSQL", 5432)
    return POSTGRES


@pytest.fixture(scope="module")
def table(postgres_url: str) -> Iterator[str]:
    """A table of the module's own, which is dropped afterwards."""
    import psycopg

    from hocket.chat_history import PostgresChatMessageHistory

    name = f"hocket_test_{uuid4().hex}"
    with psycopg.connect(postgres_url) as connection:
        PostgresChatMessageHistory.create_tables(connection, name)
        yield name
        PostgresChatMessageHistory.drop_table(connection, name)
