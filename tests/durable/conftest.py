"""What the tests of durable runs share: fresh databases, workers that come after one another, a date that can be moved."""

import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from hocket._runtime import clock
from hocket.durable import Durable, Run, RunInfo, Runs, dbos, open_runs, signals
from tests.kit.amount import RUNS_ALL

__all__ = ["RELEASE", "Calendar", "Once", "make_runs", "until", "until_it_waits_for", "until_true", "work"]

SERVER = "postgresql://postgres@127.0.0.1:5432/"
RELEASE = "release"
"""The signal that most runs of these tests wait for."""


@pytest.fixture(autouse=True)
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for signals, for what was cancelled and for dead workers more often than once a second."""
    monkeypatch.setattr(dbos, "EVERY", 0.15)
    monkeypatch.setattr(signals, "_EVERY", 0.04)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without a run: to make its tables takes longer than most of what the tests do with them."""
    path = tmp_path_factory.mktemp("durable") / "empty.db"
    with open_runs(f"sqlite:///{path}"):
        pass
    return path


@pytest.fixture
def url(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return the address of a database without a run; when everything runs, of one that is not there yet."""
    path = tmp_path / "runs.db"
    if not RUNS_ALL:
        shutil.copyfile(request.getfixturevalue("empty_database"), path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """Yield the address of an empty database in PostgreSQL, which is dropped afterwards."""
    try:
        socket.create_connection(("127.0.0.1", 5432), timeout=1).close()
    except OSError:
        if os.environ.get("CI") == "true":
            pytest.fail("no PostgreSQL at 127.0.0.1:5432, and CI runs its tests")
        pytest.skip("no PostgreSQL at 127.0.0.1:5432: durable runs are tried on SQLite alone")
    import psycopg

    name = f"hocket_durable_{uuid4().hex}"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield SERVER + name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def either_url(request: pytest.FixtureRequest) -> str:
    """Return the address of an empty database of either kind; at each change those that are killed are of both."""
    address: str = request.getfixturevalue("url" if request.param == "sqlite" else "postgres_url")
    return address


class Calendar(clock.RealClock):
    """The machine's clock, with a date that a test moves."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


@pytest.fixture
def calendar() -> Iterator[Calendar]:
    """Put a date that can be moved underneath."""
    moved = Calendar()
    before = clock.use(moved)
    yield moved
    clock.use(before)


class Once:
    """A function that says how often it was called, and may be held up, as one is whose process dies meanwhile."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.is_held = True

    async def hang(self, value: str) -> str:
        """Return the value in capitals; never, as long as it is held."""
        self.calls.append(value)
        if self.is_held:
            await anyio.sleep_forever()
        return value.upper()

    async def act(self, value: Any) -> Any:
        """Return the value."""
        self.calls.append(value)
        return value


def make_runs(url: str, *targets: Any, **options: Any) -> tuple[Runs, list[Durable[Any, Any]]]:
    """Return durable runs of these."""
    runs = open_runs(url)
    return runs, [runs.durable(target, **options) for target in targets]


@asynccontextmanager
async def work(url: str, target: Any, **options: Any) -> AsyncIterator[Durable[Any, Any]]:
    """Be a worker inside the block; when it is left the runs stay as if its process had died."""
    runs, (durable,) = make_runs(url, target, **options)
    async with runs:
        yield durable


class Pauses:
    """Pauses between two looks into a database, which grow: a look costs a few milliseconds of the processor."""

    def __init__(self) -> None:
        self._seconds = 0.01

    async def wait(self) -> None:
        await anyio.sleep(self._seconds)
        self._seconds = min(1.5 * self._seconds, 0.1)


async def until(run: Run[Any], *statuses: str, attempts: int = 0) -> RunInfo:
    """Return how a run stands as soon as it stands like this, and is executed for so many times at least."""
    pauses = Pauses()
    while (info := await run.ainfo()).status not in statuses or info.attempts < attempts:  # it may be another process
        assert info.status not in ("done", "failed", "cancelled"), info  # it stands like this for good
        await pauses.wait()
    return info


async def until_it_waits_for(run: Run[Any], name: str = RELEASE) -> RunInfo:
    """Return how a run stands as soon as it waits for this, and for nothing before it."""
    pauses = Pauses()
    while name not in (info := await run.ainfo()).waiting_for:  # as above
        assert info.status not in ("done", "failed", "cancelled"), info
        await pauses.wait()
    return info


async def until_true(is_so: Callable[[], object]) -> None:
    """Return as soon as something is so."""
    while not is_so():  # noqa: ASYNC110  # another thread makes it so
        await anyio.sleep(0.01)
