"""The stores that processes share, as a user has them: SQLite, Redis, PostgreSQL."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

REDIS = "redis://127.0.0.1:6379/0"
POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"


def need_server(name: str, port: int) -> None:
    """Let a test run only where a server answers; in CI it has to."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError as error:
        reason = f"{name} does not answer on port {port} ({error}); start it to run this test"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@contextmanager
def postgres_schema() -> Iterator[str]:
    """Return the URL of a schema of PostgreSQL's, which is dropped afterwards."""
    import psycopg

    need_server("PostgreSQL", 5432)
    schema = f"hocket_test_{uuid4().hex}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        try:
            yield f"{POSTGRES}?options=-csearch_path%3D{schema}"
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


@contextmanager
def redis_names(prefix: str) -> Iterator[tuple[str, str]]:
    """Return the URL of Redis, and a name; all keys that begin with prefix and name are deleted afterwards."""
    import redis

    need_server("Redis", 6379)
    name = f"test-{uuid4().hex}"
    yield REDIS, name
    with redis.Redis.from_url(REDIS) as client:
        for key in client.scan_iter(match=f"{prefix}{name}*"):
            client.delete(key)
