"""Stores of limits, each as a user has it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest

REDIS = "redis://127.0.0.1:6379/0"
POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"
KINDS = ("redis", "postgresql", "sqlite")


def _need(name: str, port: int) -> None:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError as error:
        reason = f"{name} does not answer on port {port} ({error}); start it to run this test"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture
def name() -> Iterator[str]:
    """A name for a limit of the test's own, which is gone from Redis afterwards."""
    name = f"test-{uuid4().hex}"
    yield name
    try:
        import redis

        client = redis.Redis.from_url(REDIS)
        client.delete(*(f"hocket:limit:{{{name}}}:{part}" for part in ("state", "log", "members")))
        client.close()
    except redis.ConnectionError:
        pass


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """PostgreSQL, in a schema of the session's own."""
    _need("PostgreSQL", 5432)
    import psycopg

    schema = f"limits_{uuid4().hex}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        yield f"{POSTGRES}?options={quote(f'-c search_path={schema}')}"
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of each store that processes share."""
    if request.param == "redis":
        _need("Redis", 6379)
        return REDIS
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path}/limits.db"
