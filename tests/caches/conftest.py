"""Caches that processes share, on SQLite, Redis and PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.caches import fleet
from tests.kit.caches import KINDS, CachePlace, open_place


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a store as long as a busy machine may need. Tests of slow stores set a patience of their own."""
    monkeypatch.setattr(fleet, "PATIENCE", 60.0)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CachePlace]:
    """A place for a cache of each kind, gone afterwards."""
    with open_place(request.param, tmp_path) as made:
        yield made
