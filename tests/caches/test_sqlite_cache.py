"""What only the cache in SQLite has: a bound on its size; and a file, with all that may be wrong with one."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.caches import SQLiteCache, fleet
from hocket.caches.values import dump_candidates
from hocket.errors import StoreError
from hocket.outputs import Generation
from hocket.testing import VirtualClock
from tests.kit import warm

MODEL = "model"


def said(text: str) -> list[Generation]:
    return [Generation(text=text)]


SIZE = len(dump_candidates(said("0" * 100)))


def store(cache: SQLiteCache, *prompts: str) -> None:
    for prompt in prompts:
        cache.update(prompt, MODEL, said(prompt * 100))


def held(cache: SQLiteCache, prompts: str) -> str:
    """Return those of the prompts that have an answer."""
    return "".join(prompt for prompt in prompts if SQLiteCache(cache.path).lookup(prompt, MODEL))


def sizes(path: str) -> tuple[int, int]:
    """Return the size that is kept, and the true one."""
    connection = sqlite3.connect(path)
    (kept,) = connection.execute("SELECT bytes FROM hocket_cache_size").fetchone()
    (true,) = connection.execute("SELECT coalesce(sum(length(value)), 0) FROM hocket_cache").fetchone()
    connection.close()
    return kept, true


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cache.db")


def test_those_used_longest_ago_make_room(path: str, virtual_clock: VirtualClock) -> None:
    """A hit is a use, which is noted with the next answer that is stored."""
    cache = SQLiteCache(path, max_bytes=3 * SIZE)
    for prompt in "123":
        store(cache, prompt)
        virtual_clock.advance(1)
    assert held(cache, "123") == "123"
    assert cache.lookup("1", MODEL)
    virtual_clock.advance(1)
    store(cache, "4")
    assert held(cache, "1234") == "134"
    store(cache, "4", "4")
    assert held(cache, "1234") == "134"


def test_one_that_is_too_large_is_not_stored(path: str) -> None:
    """It would drive out all others, and itself."""
    cache = SQLiteCache(path, max_bytes=2 * SIZE)
    store(cache, "1")
    claim = cache.claim("2", MODEL, 60)
    cache.update("2", MODEL, said("2" * 1000))
    assert held(cache, "12") == "1"
    assert claim is not None
    assert cache.claim("2", MODEL, 60) is not None  # the claim on it has ended all the same


def test_the_size_is_right_whatever_is_done(path: str, virtual_clock: VirtualClock) -> None:
    """Also by a cache without a bound, which then leaves too much for one that has one."""
    unbounded = SQLiteCache(path, ttl=10)
    store(unbounded, *"123456789")
    store(unbounded, "1")
    unbounded.update("2", MODEL, said("longer" * 100))
    assert sizes(path) == (sizes(path)[1],) * 2
    store(SQLiteCache(path, max_bytes=2 * SIZE), "a")
    assert sizes(path)[0] == sizes(path)[1] <= 2 * SIZE
    virtual_clock.advance(11)
    store(unbounded, "b")
    assert sizes(path)[0] == sizes(path)[1] <= 2 * SIZE
    unbounded.clear()
    assert sizes(path) == (0, 0)


def test_a_file_may_hold_other_tables(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE users (name TEXT)")
    connection.execute("INSERT INTO users VALUES ('ada')")
    connection.commit()
    cache = SQLiteCache(path)
    store(cache, "1")
    cache.clear()
    assert connection.execute("SELECT name FROM users").fetchall() == [("ada",)]
    connection.close()


@pytest.fixture
def locked(path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """A file with an answer, which somebody is writing, and little patience."""
    store(SQLiteCache(path), "1")
    monkeypatch.setattr(fleet, "PATIENCE", 0.05)
    locking = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    locking.execute("BEGIN IMMEDIATE")
    yield locking
    locking.close()


def test_a_locked_file_is_read_and_not_waited_for(path: str, locked: sqlite3.Connection) -> None:
    """Reads go on (WAL); a write gives up. When the lock is gone, all is as before."""
    cache = SQLiteCache(path)
    assert cache.lookup("1", MODEL) == said("1" * 100)
    with pytest.raises(StoreError, match="locked"):
        store(cache, "2")
    with pytest.raises(StoreError, match="left alone"):
        cache.claim("2", MODEL, 60)
    locked.execute("ROLLBACK")
    cache._writing._left_alone_until = 0.0  # type: ignore[attr-defined]  # five seconds later
    store(cache, "2")
    assert held(cache, "12") == "12"


async def test_tasks_do_not_wait_for_a_locked_file_either(path: str, locked: sqlite3.Connection) -> None:
    cache = SQLiteCache(path)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"locked|no answer within|left alone"):
            await cache.aupdate("2", MODEL, said("2"))


@pytest.mark.parametrize("kind", ["text", "directory", "other table", "missing folder"])
def test_a_file_that_is_none_of_ours(tmp_path: Path, kind: str) -> None:
    """It stays as it is; the error names it, and models do without."""
    path = tmp_path / "file"
    if kind == "text":
        path.write_text("a text, and no database" * 100)
    elif kind == "directory":
        path.mkdir()
    elif kind == "other table":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE hocket_cache (other TEXT)")
        connection.close()
    else:
        path = path / "missing" / "cache.db"
    cache = SQLiteCache(path)
    for do in (lambda: cache.lookup("a", MODEL), lambda: store(cache, "a")):
        with pytest.raises(StoreError, match=str(path)):
            do()
    if kind == "text":
        assert path.read_text() == "a text, and no database" * 100


FULL = """
import resource, sys
from hocket.caches import SQLiteCache
from hocket.errors import StoreError
from hocket.outputs import Generation
cache = SQLiteCache(sys.argv[1])
cache.update("a", "m", [Generation(text="a")])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    cache.update("b", "m", [Generation(text=str(list(range(500_000))))])
except StoreError as error:
    print(error)
print(cache.lookup("a", "m")[0].text, cache.lookup("b", "m"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
cache.update("b", "m", [Generation(text="b")])
print(cache.lookup("b", "m")[0].text)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a limit on the size of files is POSIX's")
def test_a_full_disk_costs_the_answer_that_did_not_fit(path: str) -> None:
    """Nothing of it is stored; what was there is read, and when there is room again, written."""
    done = warm.run("-W", "error", "-c", FULL, path, capture_output=True, check=True)
    error, *rest = done.stdout.splitlines()
    assert path in error
    assert rest == ["a None", "b"]


def test_a_read_only_file_is_read(path: str) -> None:
    """What cannot be written is the error's to say."""
    store(SQLiteCache(path), "1")
    os.chmod(path, 0o444)
    cache = SQLiteCache(path)
    assert cache.lookup("1", MODEL)
    if os.geteuid():  # root may write anything
        with pytest.raises(StoreError, match="readonly"):
            store(cache, "2")
