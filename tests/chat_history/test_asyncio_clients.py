"""Histories over clients that only asyncio has, redis.asyncio's and psycopg's, under pytest-asyncio, on real servers."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio
import redis.asyncio

from hocket.chat_history import BaseChatMessageHistory, PostgresChatMessageHistory, RedisChatMessageHistory
from hocket.chat_history.records import dumps_messages, loads_messages
from hocket.errors import HistoryError
from hocket.messages import AIMessage, BaseMessage, HumanMessage

pytestmark = pytest.mark.asyncio

TURN: list[BaseMessage] = [HumanMessage("one"), AIMessage("two")]

loads_messages(dumps_messages(TURN), "here")  # what is imported then is imported before a loop could be held up


@pytest_asyncio.fixture
async def client(redis_url: str) -> AsyncIterator[redis.asyncio.Redis]:
    """A client of `redis.asyncio`, of the test's loop."""
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        # redis-py looks files up when it connects, which is none of our blocking
        await asyncio.gather(*(client.ping() for _ in range(20)))
        yield client


@pytest_asyncio.fixture(params=[True, False], ids=["autocommit", "transactions"])
async def connection(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """An async connection of psycopg's, of the test's loop."""
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=request.param) as connection:
        yield connection


@pytest_asyncio.fixture
async def transactional(postgres_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """An async connection on which every turn is a transaction of its own."""
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        yield connection


@pytest.fixture(params=["redis", "redis with ttl", "postgres"])
def history(request: pytest.FixtureRequest) -> BaseChatMessageHistory:
    """A history over each of them, of a session of its own."""
    if request.param == "postgres":
        connection = request.getfixturevalue("transactional")
        return PostgresChatMessageHistory(request.getfixturevalue("table"), uuid4(), async_connection=connection)
    ttl = 60 if "ttl" in request.param else None
    return RedisChatMessageHistory(
        str(uuid4()), key_prefix="hocket-test:", ttl=ttl, client=request.getfixturevalue("client")
    )


async def test_a_test_marked_so_runs_once(request: pytest.FixtureRequest) -> None:
    """On pytest-asyncio's loop, and not a second time on anyio's."""
    assert "anyio_backend" not in request.fixturenames
    assert asyncio.get_running_loop().is_running()


async def test_turns_of_many_tasks_stay_whole(history: BaseChatMessageHistory) -> None:
    """They share one client, which is awaited on its loop."""
    turns = [[HumanMessage(f"{number} {part}") for part in range(3)] for number in range(10)]
    await asyncio.gather(*(history.aadd_messages(turn) for turn in turns))
    said = [message.text.split() for message in await history.aget_messages()]
    assert [part for _, part in said] == ["0", "1", "2"] * 10
    assert all(len({writer for writer, _ in said[at : at + 3]}) == 1 for at in range(0, 30, 3))
    await history.aclear()
    assert await history.aget_messages() == []


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8])
async def test_a_cancelled_turn_is_stored_or_not(history: BaseChatMessageHistory, steps: int) -> None:
    """Whoever sees the cancellation knows that nothing comes after; the client is fit for the next turn."""
    turn = asyncio.create_task(history.aadd_messages(TURN))
    for _ in range(steps):
        await asyncio.sleep(0)
    turn.cancel()
    await asyncio.wait([turn])
    kept = await history.aget_messages()
    assert kept in ([], TURN)
    await history.aadd_messages(TURN)
    assert await history.aget_messages() == kept + TURN
    await history.aclear()


async def test_a_turn_that_times_out_is_settled(history: BaseChatMessageHistory) -> None:
    """`asyncio.timeout` cancels as a task does."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await history.aadd_messages(TURN)
    kept = await history.aget_messages()
    await asyncio.sleep(0.02)
    assert await history.aget_messages() == kept
    await history.aclear()


async def test_sync_methods_say_what_they_lack(history: BaseChatMessageHistory) -> None:
    """They have no client to work with, and name the way out."""
    with pytest.raises(HistoryError, match="has no sync client: give it one, or a URL"):
        _ = history.messages
    with pytest.raises(HistoryError, match="has no sync client"):
        history.clear()


async def test_a_cancelled_turn_leaves_no_transaction_open(table: str, connection: psycopg.AsyncConnection) -> None:
    """A connection of the caller's is idle again, whatever struck."""
    history = PostgresChatMessageHistory(table, uuid4(), async_connection=connection)
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(history.aadd_messages(TURN))
    turn = asyncio.create_task(history.aadd_messages(TURN))
    await asyncio.sleep(0.0005)
    turn.cancel()
    await asyncio.wait([turn])
    assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    assert await history.aget_messages() in (TURN * 8, TURN * 9)
    await history.aclear()


async def test_tables_are_made_and_dropped(connection: psycopg.AsyncConnection) -> None:
    """`acreate_tables` and `adrop_table` do so through an async connection, however often."""
    name = f"hocket_test_{uuid4().hex}"
    for _ in range(2):
        await PostgresChatMessageHistory.acreate_tables(connection, name)
    cursor = await connection.execute("SELECT to_regclass(%s)", (name,))
    assert await cursor.fetchone() != (None,)
    for _ in range(2):
        await PostgresChatMessageHistory.adrop_table(connection, name)
