"""Budgets in every store, and models that are priced."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hocket.budgets import Budget
from hocket.prices import Price, set_prices
from tests.kit.stores import postgres_schema, redis_names

MODEL = "scripted-chat-model"
"""What a scripted model is priced by."""


@dataclass
class Place:
    """A name in a store, which other processes may open, too."""

    store: str | None
    name: str

    def open(self, usd: Any = None, **options: Any) -> Budget:
        return Budget(usd, **{"store": self.store, "name": self.name, **options})


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A schema of one's own."""
    with postgres_schema() as url:
        yield url


def _open(kind: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    if kind == "redis":
        with redis_names("hocket:budget:{") as (url, name):
            yield Place(url, name)
        return
    path: Path = request.getfixturevalue("tmp_path")
    stores: dict[str, Callable[[], str | None]] = {
        "memory": lambda: None,
        "sqlite": lambda: f"sqlite:///{path / 'budgets.db'}",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
    }
    yield Place(stores[kind](), f"test-{uuid4().hex}")


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A name in each store."""
    yield from _open(request.param, request)


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def shared(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A name in each store that processes share."""
    yield from _open(request.param, request)


@pytest.fixture
def priced() -> Iterator[None]:
    """A token of a scripted model costs a millionth of a dollar going in, and two coming out."""
    set_prices({MODEL: Price(1, 2)})
    yield
    set_prices({MODEL: None})
