"""What becomes of models when the cache that they share fails, on each store: no call fails, and none waits long."""

import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket._databases.circuit import FAILURES
from hocket.caches import PostgresCache, RedisCache, SQLiteCache
from hocket.testing import virtual_clock
from tests.kit import HookCall, hook_model
from tests.kit.caches import KINDS, CachePlace, open_place

CALLS = 12
CROWD = 60
SOON = 60.0
"""Seconds within which as many calls are answered, on a busy machine, too; each that waited for its store would take one."""


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never answer; gives the port."""
    taken: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in taken:
                connection.close()


@contextmanager
def locked_file(path: str) -> Iterator[None]:
    """Be in the middle of a write."""
    SQLiteCache(path).clear()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        writer.close()


def down(kind: str, folder: Path, stack: ExitStack) -> Any:
    if kind == "sqlite":
        return SQLiteCache(folder / "missing" / "cache.db")
    if kind == "redis":
        return RedisCache("redis://:tops3cret@127.0.0.1:1/0")
    return PostgresCache("postgresql://ada:tops3cret@127.0.0.1:1/db")


def slow(kind: str, folder: Path, stack: ExitStack) -> Any:
    if kind == "sqlite":
        stack.enter_context(locked_file(str(folder / "cache.db")))
        return SQLiteCache(folder / "cache.db")
    port = stack.enter_context(silent_server())
    if kind == "redis":
        return RedisCache(f"redis://:tops3cret@127.0.0.1:{port}/0")
    return PostgresCache(f"postgresql://ada:tops3cret@127.0.0.1:{port}/db?sslmode=disable")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of store."""
    return request.param


class Failing:
    """A cache whose store is down, or slow; it counts how often the store is asked."""

    def __init__(self, cache: Any, still_reads: bool) -> None:
        self.cache, self.still_reads = cache, still_reads
        self.reads = self.writes = 0
        for name in ("read", "write", "claim"):
            setattr(cache._store, name, self._count(name, getattr(cache._store, name)))

    def _count(self, name: str, ask: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(*args: Any) -> Any:
            self.reads += name == "read"
            self.writes += name != "read"
            return await ask(*args)

        return counted

    @property
    def first_asked(self) -> tuple[int, int]:
        """How often a call reads and writes before its request goes out. A file that is missing is not late."""
        times = 1 if isinstance(self.cache, SQLiteCache) and not self.still_reads else FAILURES
        return (1, times) if self.still_reads else (times, 0)

    def check(self, model: Any, log: str) -> None:
        """See that each call was answered, that the store was soon left alone, and that a line of the log says so."""
        assert len(model.requests) == CALLS
        assert self.writes < CALLS  # of two a call; it is asked again after five seconds
        assert log.count("answers are not stored, and equal calls ask each for itself") == 1
        assert (self.reads < CALLS) is not self.still_reads
        assert log.count("it counts as empty, and models are asked") == (not self.still_reads)
        assert (self.cache.path if isinstance(self.cache, SQLiteCache) else repr(self.cache)) in log
        assert "tops3cret" not in log


@pytest.fixture(params=[down, slow], ids=lambda make: make.__name__)
def failing(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Failing]:
    """A cache whose store is down, or slow. In SQLite who reads does not wait for who writes."""
    with ExitStack() as stack:
        yield Failing(request.param(kind, tmp_path, stack), request.param is slow and kind == "sqlite")


async def test_a_model_does_without_its_cache(failing: Failing, caplog: pytest.LogCaptureFixture) -> None:
    """Calls and streams of tasks, which pay for the first failures, and not again."""
    model = hook_model("yes", "agenerate", cache=failing.cache)
    with anyio.fail_after(SOON):
        for number in range(CALLS):
            if number % 2:
                assert (await model.ainvoke(f"{number}")).text == "yes"
            else:
                assert "".join([chunk.text async for chunk in model.astream(f"{number}")]) == "yes"
    failing.check(model, caplog.text)


def test_a_model_does_without_its_cache_in_sync_code(failing: Failing, caplog: pytest.LogCaptureFixture) -> None:
    model = hook_model("yes", "generate", cache=failing.cache)
    assert [model.invoke(f"{number}").text for number in range(CALLS)] == ["yes"] * CALLS
    failing.check(model, caplog.text)


async def test_a_call_asks_its_store_three_times(failing: Failing) -> None:
    """The first operation that gets no answer is done again, until the store counts as down; then the request goes out."""
    asked: list[tuple[int, int]] = []
    model = hook_model(
        lambda call: asked.append((failing.reads, failing.writes)) or "yes", "agenerate", cache=failing.cache
    )
    await model.ainvoke("first")
    assert asked == [failing.first_asked]


def test_a_sync_call_asks_its_store_three_times(failing: Failing) -> None:
    asked: list[tuple[int, int]] = []
    model = hook_model(
        lambda call: asked.append((failing.reads, failing.writes)) or "yes", "generate", cache=failing.cache
    )
    model.invoke("first")
    assert asked == [failing.first_asked]


@pytest.mark.parametrize("kind", ["redis", "postgres"], indirect=True)
async def test_who_waits_for_a_connection_meanwhile_does_not_try_it_too(kind: str, tmp_path: Path) -> None:
    """A store has fewer connections than there are calls: one after another, each would wait as long."""
    tried = 0
    with ExitStack() as stack:
        cache = slow(kind, tmp_path, stack)
        read = cache._store._read

        async def count(client: Any, key: bytes) -> Any:
            nonlocal tried
            tried += 1
            return await read(client, key)

        cache._store._read = count
        model = hook_model("yes", "agenerate", cache=cache)
        async with anyio.create_task_group() as group:
            for number in range(CROWD):
                group.start_soon(model.ainvoke, f"{number}")
    assert len(model.requests) == CROWD
    assert 0 < tried < CROWD


# -- stores that work


@pytest.fixture
def place(kind: str, tmp_path: Path) -> Iterator[CachePlace]:
    """A place for a cache of each kind, gone afterwards."""
    with open_place(kind, tmp_path) as made:
        yield made


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a store as long as a busy machine may need."""
    monkeypatch.setattr("hocket.caches.fleet.PATIENCE", 60.0)


async def test_a_cancelled_call_releases_its_claim(place: CachePlace, patience: None) -> None:
    """And the next one asks, without a wait for the lease."""
    asked = anyio.Event()

    async def hang(call: HookCall) -> str:
        asked.set()
        await anyio.sleep_forever()
        return ""

    async with anyio.create_task_group() as group:
        group.start_soon(hook_model(hang, "agenerate", cache=place.open(lease=3600)).ainvoke, "hi")
        await asked.wait()
        assert await anyio.to_thread.run_sync(place.count_claims) == 1
        group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(place.count_claims) == 0
    model = hook_model("yes", "agenerate", cache=place.open(lease=3600))
    assert (await model.ainvoke("hi")).text == "yes"
    assert len(model.requests) == 1


@pytest.mark.parametrize("skew", [-1e8, 1e8])
@pytest.mark.parametrize("kind", ["redis", "postgres"], indirect=True)
def test_a_clock_that_is_wrong_by_years_changes_nothing(place: CachePlace, patience: None, skew: float) -> None:
    """The store's counts. (SQLite is of one machine, and has its clock.)"""
    with virtual_clock() as clock:
        clock.advance(max(skew, 0))
        model = hook_model("yes", "generate", cache=place.open(ttl=3600))
        assert model.invoke("hi").text == "yes"
        holder = place.open().claim("a", "b", 3600)
    assert model.invoke("hi").text == "yes"
    assert len(model.requests) == 1
    assert holder is not None
    assert place.open().claim("a", "b", 3600) is None
