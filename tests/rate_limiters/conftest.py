"""Stores of limits, each as a user has it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.kit.stores import REDIS, need_server, postgres_schema

KINDS = ("redis", "postgresql", "sqlite")


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
    with postgres_schema() as url:
        yield url


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of each store that processes share."""
    if request.param == "redis":
        need_server("Redis", 6379)
        return REDIS
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path}/limits.db"
