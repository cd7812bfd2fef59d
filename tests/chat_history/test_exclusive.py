"""One run of a conversation at a time: how it is given back, and what goes wrong. The rest is in the exam."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import anyio
import anyio.lowlevel
import psycopg
import pytest
import redis
import redis.asyncio

from hocket._databases import postgres_lock, redis_lock
from hocket.chat_history import (
    BaseChatMessageHistory,
    FileChatMessageHistory,
    InMemoryChatMessageHistory,
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLiteChatMessageHistory,
)
from hocket.chat_history.exclusive import Exclusive
from hocket.errors import HistoryBusy, HistoryError, HistoryLockLost, HistoryUnavailable, InvalidInput
from hocket.messages import HumanMessage

PREFIX = "hocket-test:"
LONG = 60.0
ADVISORY = "(SELECT pid FROM pg_locks WHERE locktype = 'advisory') AS locks"


@pytest.fixture(params=["memory", "file", "sqlite", "redis", "postgres"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseChatMessageHistory]:
    """A new conversation in each store."""
    made: BaseChatMessageHistory
    if request.param == "memory":
        made = InMemoryChatMessageHistory()
    elif request.param == "file":
        made = FileChatMessageHistory(tmp_path / "talk")
    elif request.param == "sqlite":
        made = SQLiteChatMessageHistory("talk", tmp_path / "talk.db")
    elif request.param == "redis":
        made = RedisChatMessageHistory(str(uuid4()), request.getfixturevalue("redis_url"), PREFIX)
    else:
        url = request.getfixturevalue("postgres_url")
        made = PostgresChatMessageHistory(request.getfixturevalue("table"), uuid4(), url=url)
    yield made
    made.clear()
    made.close()


# -- in this process


async def test_who_comes_first_gets_it_first(history: BaseChatMessageHistory) -> None:
    """Those of one process stand in line."""
    order: list[int] = []

    async def run(number: int) -> None:
        async with history.exclusive():
            order.append(number)

    async with anyio.create_task_group() as group, history.exclusive():
        for number in range(10):
            group.start_soon(run, number)
            await anyio.wait_all_tasks_blocked()
    assert order == list(range(10))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 6, 9, 14])
async def test_a_task_that_is_cancelled_at_any_step_leaves_nothing(history: BaseChatMessageHistory, steps: int) -> None:
    """Natively, as `asyncio.timeout` does, which no shield of anyio's holds off."""
    for holder in ("free", "busy"):
        began = asyncio.Event()

        async def run(began: asyncio.Event = began) -> None:
            began.set()
            async with history.exclusive():
                await asyncio.sleep(0)

        hold = history.exclusive()
        if holder == "busy":
            await hold.__aenter__()
        task = asyncio.create_task(run())
        await began.wait()
        for _ in range(steps):
            await asyncio.sleep(0.0005 if steps > 4 else 0)
        task.cancel()
        await asyncio.wait([task])
        if holder == "busy":
            await hold.__aexit__(None, None, None)
        async with history.exclusive(timeout=LONG):
            pass


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_ends_gives_it_back(history: BaseChatMessageHistory, backend: str) -> None:
    """What its tasks had, and the places in line of those that waited."""

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(_hold, history)
            await anyio.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(BaseException) as caught:  # each loop wraps it in its own way
        anyio.run(main, backend=backend)
    del caught
    anyio.run(_take, history, backend=backend)


async def _hold(history: BaseChatMessageHistory) -> None:
    async with history.exclusive():
        await anyio.sleep_forever()


async def _take(history: BaseChatMessageHistory) -> None:
    async with history.exclusive(timeout=LONG):
        pass


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_nobody_knows_any_more_gives_it_back() -> None:
    """A coroutine that is collected, having or waiting, leaves the line."""
    history = InMemoryChatMessageHistory()
    holding, waiting = _hold(history), _hold(history)
    holding.send(None)
    with pytest.raises(InvalidInput):  # driven by hand, both are of this task
        waiting.send(None)
    holding.close()
    del holding, waiting
    gc.collect()
    async with history.exclusive(timeout=0):
        pass


async def test_a_block_is_entered_once() -> None:
    """Each has its own."""
    block = InMemoryChatMessageHistory().exclusive()
    async with block:
        pass
    with pytest.raises(InvalidInput, match=r"call exclusive\(\) for each block"):
        async with block:
            pass


class Named(BaseChatMessageHistory):
    """A store of somebody's, which says which conversation its objects are."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def exclusive_key(self) -> str:
        return self.name


async def test_a_store_of_ones_own() -> None:
    """Its objects are conversations by themselves, or those that it names."""
    plain = BaseChatMessageHistory()
    async with plain.exclusive(), BaseChatMessageHistory().exclusive(timeout=0), Named("a").exclusive():
        async with Named("b").exclusive(timeout=0):
            pass
        async with anyio.create_task_group() as group:
            for history in (plain, Named("a")):
                group.start_soon(_expect_busy, history)


async def _expect_busy(history: BaseChatMessageHistory) -> None:
    with pytest.raises(HistoryBusy, match="another run in this process has the conversation"):
        async with history.exclusive(timeout=0.01):
            pass


# -- files


@pytest.mark.parametrize("store", ["file", "sqlite"])
async def test_a_lock_on_a_file_leaves_no_file(tmp_path: Path, store: str) -> None:
    """It has one while it is held, beside the target of a link, and nobody else may read it."""
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "place" / "talk")

    def make(path: Path) -> BaseChatMessageHistory:
        return FileChatMessageHistory(path) if store == "file" else SQLiteChatMessageHistory("talk", path)

    async with make(tmp_path / "link").exclusive():
        (lock,) = (tmp_path / "place").iterdir()
        assert lock.stat().st_mode & 0o777 == 0o600
        with pytest.raises(HistoryBusy, match="another process, or another address of this store"):
            async with make(tmp_path / "place" / "talk").exclusive(timeout=0.01):
                pass
        async with make(tmp_path / "place" / "other").exclusive(timeout=0):
            pass
    assert list((tmp_path / "place").iterdir()) == []


async def test_a_lock_whose_file_was_removed(tmp_path: Path) -> None:
    """Who tidies up while it is held lets another one in; both can be left, and the next one goes in."""
    history, link = FileChatMessageHistory(tmp_path / "talk"), tmp_path / "link"
    link.symlink_to(tmp_path / "talk")
    async with history.exclusive():
        (tmp_path / "talk.lock").unlink()
        async with FileChatMessageHistory(link).exclusive(timeout=LONG):
            pass
    async with history.exclusive(timeout=0):
        pass


async def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    """The error names the file, and the conversation stays free."""
    history = FileChatMessageHistory(tmp_path / "nowhere" / "talk")
    for _ in range(2):
        with pytest.raises(HistoryError, match=r"nowhere/talk\.lock: No such file or directory"):
            async with history.exclusive():
                pass


# -- servers


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_clients_that_were_given(redis_url: str, postgres_url: str, table: str) -> None:
    """Of either kind; they exclude those with a URL."""
    session = str(uuid4())
    with redis.Redis.from_url(redis_url) as sync_redis, psycopg.connect(postgres_url) as sync_postgres:
        async with (
            redis.asyncio.Redis.from_url(redis_url) as async_redis,
            await psycopg.AsyncConnection.connect(postgres_url) as async_postgres,
        ):
            await async_redis.ping()  # redis-py looks files up when it connects, which is none of our blocking
            by_url: list[BaseChatMessageHistory] = [
                RedisChatMessageHistory(session, redis_url, PREFIX),
                PostgresChatMessageHistory(table, session, url=postgres_url),
            ]
            given: list[list[BaseChatMessageHistory]] = [
                [
                    RedisChatMessageHistory(session, key_prefix=PREFIX, client=sync_redis),
                    RedisChatMessageHistory(session, key_prefix=PREFIX, client=async_redis),
                ],
                [
                    PostgresChatMessageHistory(table, session, sync_connection=sync_postgres),
                    PostgresChatMessageHistory(table, session, async_connection=async_postgres),
                    PostgresChatMessageHistory(table, session, sync_connection=_Pool(sync_postgres)),
                ],
            ]
            for one, others in zip(by_url, given, strict=True):
                for other in others:
                    for holder, waiter in ((one, other), (other, one)):
                        async with holder.exclusive():
                            await holder.aadd_messages([HumanMessage("inside")])
                            with pytest.raises(HistoryBusy):
                                async with waiter.exclusive(timeout=0.05):
                                    pass
                        async with waiter.exclusive(timeout=LONG):
                            pass
                await one.aclear()
                await one.aclose()


class _Pool:
    """A pool of one connection, lent to as many as ask."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self.lent = 0

    def connection(self) -> "_Pool":
        return self

    def __enter__(self) -> psycopg.Connection:
        self.lent += 1
        return self._connection

    def __exit__(self, *exc: object) -> None:
        self.lent -= 1


async def test_locks_of_a_process_share_one_connection(postgres_url: str, table: str) -> None:
    """As many runs as there are tasks would need as many connections; `close` closes it when nobody has a lock."""
    name = f"hocket-{uuid4().hex}"
    url = f"{postgres_url}?max_connections=2&application_name={name}"
    histories = [PostgresChatMessageHistory(table, uuid4(), url=url) for _ in range(20)]
    has = 0
    all_have, enough = anyio.Event(), anyio.Event()

    async def run(history: PostgresChatMessageHistory) -> None:
        nonlocal has
        async with history.exclusive():
            has += 1
            if has == len(histories):
                all_have.set()
            await enough.wait()

    with psycopg.connect(postgres_url, autocommit=True) as connection:

        def count(table: str) -> int:
            row = connection.execute(
                f"SELECT count(*) FROM {table} WHERE pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = %s)",
                (name,),
            ).fetchone()
            assert row is not None
            return int(row[0])

        async with anyio.create_task_group() as group:
            for history in histories:
                group.start_soon(run, history)
            await all_have.wait()
            histories[0].close()
            assert count("pg_stat_activity") == 1
            assert count(ADVISORY) == len(histories)
            enough.set()
        assert count(ADVISORY) == 0
    histories[0].close()


async def test_a_lock_that_is_lost_ends_the_block(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis has forgotten it: the block is cancelled, and the next one goes in; what the block raises itself goes before."""
    monkeypatch.setattr(redis_lock, "INTERVAL", 0.02)
    history = RedisChatMessageHistory(str(uuid4()), redis_url, PREFIX)
    with redis.Redis.from_url(redis_url) as client:
        with pytest.raises(HistoryLockLost, match="no longer has the conversation to itself"):
            async with history.exclusive():
                client.delete(f"hocket:exclusive:{{{history.key}}}")
                await anyio.sleep_forever()
        with pytest.raises(ZeroDivisionError):
            async with history.exclusive(timeout=0):
                client.delete(f"hocket:exclusive:{{{history.key}}}")
                try:
                    await anyio.sleep_forever()
                finally:
                    raise ZeroDivisionError
    async with history.exclusive(timeout=0):
        pass


async def test_a_lock_that_is_renewed_stays(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as the block takes, and who looked at it too late does not end it for the one that has it since."""
    monkeypatch.setattr(redis_lock, "INTERVAL", 0.1)
    monkeypatch.setattr(redis_lock, "LEASE", 1.0)
    session = str(uuid4())
    history, other = (RedisChatMessageHistory(session, redis_url, PREFIX) for _ in range(2))
    async with history.exclusive():
        with redis.Redis.from_url(redis_url) as client:
            for _ in range(3):
                await anyio.sleep(0.5)
                assert client.exists(f"hocket:exclusive:{{{history.key}}}")
    async with other.exclusive(timeout=0):
        pass


async def test_a_connection_that_is_lost_ends_the_block(
    postgres_url: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL frees the lock with it; the next one opens another."""
    monkeypatch.setattr(postgres_lock, "INTERVAL", 0.02)
    name = f"hocket-{uuid4().hex}"
    history = PostgresChatMessageHistory(table, uuid4(), url=f"{postgres_url}?application_name={name}")
    with pytest.raises(HistoryLockLost), psycopg.connect(postgres_url, autocommit=True) as connection:
        async with history.exclusive():
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", (name,)
            )
            await anyio.sleep_forever()
    async with history.exclusive(timeout=LONG):
        pass
    history.close()


class Unanswered:
    """A lock on a server that has gone since it was taken.

    Attributes:
        renewals: how often it was asked.
    """

    lease: float | None = 0.3
    interval = 0.05

    def __init__(self, failure: HistoryError | None) -> None:
        self.renewals = 0
        self._failure = failure

    async def attempt(self) -> bool:
        return True

    async def renew(self) -> bool:
        self.renewals += 1
        if self._failure is None:
            await anyio.sleep_forever()
        elif self.renewals < 3:
            return True
        else:
            raise self._failure
        return False

    async def release(self) -> None:
        raise HistoryUnavailable("gone")


@pytest.mark.parametrize(
    ("failure", "renewals"), [(None, 1), (HistoryUnavailable("gone"), 4), (HistoryError("refused"), 3)]
)
async def test_a_lock_that_cannot_be_renewed_ends_the_block(failure: HistoryError | None, renewals: int) -> None:
    """After more tries, as long as nobody else can have it, or at once if the server refuses."""
    lock = Unanswered(failure)
    with pytest.raises(HistoryLockLost):
        async with Exclusive("talk", lock, None, lock):
            await anyio.sleep_forever()
    assert lock.renewals >= renewals
    async with Exclusive("talk", lock, 0, lock):
        pass


async def test_a_cancelled_block_is_cancelled_and_not_lost(redis_url: str) -> None:
    """Who leaves it for a reason of the caller's hears of that alone."""
    history = RedisChatMessageHistory(str(uuid4()), redis_url, PREFIX)
    with anyio.move_on_after(0.05) as scope:
        async with history.exclusive():
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    async with history.exclusive(timeout=0):
        pass


async def test_a_server_that_is_not_there() -> None:
    """It is an error of the store's, and the conversation stays free."""
    for history in (
        RedisChatMessageHistory("talk", "redis://127.0.0.1:1/0"),
        PostgresChatMessageHistory("talk", uuid4(), url="postgresql://127.0.0.1:1/test"),
    ):
        for _ in range(2):
            with pytest.raises(HistoryUnavailable):
                async with history.exclusive():
                    pass
