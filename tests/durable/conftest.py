"""The databases of durable runs: a file, and a database of its own in PostgreSQL."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

SERVER = "postgresql://postgres@127.0.0.1:5432"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'runs.db'}"
        return
    name = f"hocket_durable_{uuid4().hex[:12]}"
    try:
        server = psycopg.connect(f"{SERVER}/postgres", autocommit=True)
    except psycopg.OperationalError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no PostgreSQL at {SERVER}: {error}")
    with server:
        server.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        yield f"{SERVER}/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
