"""The history in PostgreSQL."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg
import pytest
from psycopg.rows import dict_row

from hocket._databases import server
from hocket.chat_history import PostgresChatMessageHistory
from hocket.errors import HistoryError, InvalidInput, MissingDependency
from hocket.messages import AIMessage, BaseMessage, HumanMessage

TURN: list[BaseMessage] = [HumanMessage("one"), AIMessage("two")]
PASSWORD = "canary-5e37"


def test_a_row_is_a_message(postgres_url: str, table: str) -> None:
    """The columns are those of langchain-postgres, and a turn's numbers follow one another."""
    session = uuid4()
    history = PostgresChatMessageHistory(table, session, url=postgres_url)
    history.add_messages(TURN)
    with psycopg.connect(postgres_url) as connection:
        columns = connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position",
            (table,),
        ).fetchall()
        rows = connection.execute(
            f"SELECT id, message->'data'->>'content' FROM {table} WHERE session_id = %s ORDER BY id", (session,)
        ).fetchall()
    assert columns == [
        ("id", "bigint"),
        ("session_id", "uuid"),
        ("message", "json"),
        ("created_at", "timestamp with time zone"),
    ]
    assert [text for _, text in rows] == ["one", "two"]
    assert rows[1][0] == rows[0][0] + 1


def test_numbers_stay_as_they_are(postgres_url: str, table: str) -> None:
    """The text of a message is kept, and not what PostgreSQL makes of its numbers; a NUL is a character."""
    history = PostgresChatMessageHistory(table, uuid4(), url=postgres_url)
    numbers = [1e300, 1e16, -0.0, 0.1, 5e-324, 10**30, 1.0]
    history.add_messages([AIMessage("a\0b", additional_kwargs={"z": 1, "a": numbers})])
    (message,) = history.messages
    assert repr(message.additional_kwargs) == repr({"z": 1, "a": numbers})
    assert message.content == "a\0b"


def test_a_table_of_langchain_goes_on(postgres_url: str) -> None:
    """Its messages are JSONB; turns are read from it and added to it, and one statement makes it exact."""
    name, session = f"hocket_test_{uuid4().hex}", uuid4()
    history = PostgresChatMessageHistory(name, session, url=postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {name} (id SERIAL PRIMARY KEY, session_id UUID NOT NULL, message JSONB NOT NULL, "
            "created_at TIMESTAMPTZ NOT NULL DEFAULT NOW())"
        )
        try:
            connection.execute(
                f"INSERT INTO {name} (session_id, message) VALUES (%s, %s)",
                (session, '{"type": "human", "data": {"content": "before", "type": "human", "example": false}}'),
            )
            history.add_messages(TURN)
            connection.execute(f"ALTER TABLE {name} ALTER COLUMN message TYPE JSON")
            history.add_messages([HumanMessage("after", additional_kwargs={"n": 1e16})])
            assert [message.text for message in history.messages] == ["before", "one", "two", "after"]
            assert repr(history.messages[3].additional_kwargs) == "{'n': 1e+16}"
        finally:
            PostgresChatMessageHistory.drop_table(connection, name)


def test_the_number_of_connections_is_the_urls(postgres_url: str, table: str) -> None:
    """As many threads as it allows work at once, and the others wait; a number that is none is refused."""
    name = f"hocket-{uuid4().hex}"
    url = f"{postgres_url}?max_connections=2&application_name={name}"
    sessions = [PostgresChatMessageHistory(table, uuid4(), url=url) for _ in range(8)]
    threads = [threading.Thread(target=history.add_messages, args=(TURN,)) for history in sessions for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(history.messages) == 6 for history in sessions)
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,)
        ).fetchone()
    assert row is not None and 1 <= row[0] <= 2
    sessions[0].close()
    for number in ("0", "-1", "many", ""):
        with pytest.raises(InvalidInput, match="max_connections is") as refusal:
            PostgresChatMessageHistory("t", uuid4(), url=f"postgresql://u:{PASSWORD}@h/d?max_connections={number}")
        assert PASSWORD not in str(refusal.value)


async def test_tasks_wait_for_a_connection_in_the_loop(postgres_url: str, table: str) -> None:
    """And not in a thread each: a hundred turns take a few threads (trio may start one before another has ended)."""
    url = f"{postgres_url}?max_connections=3&application_name=pool-{uuid4().hex}"
    histories = [PostgresChatMessageHistory(table, uuid4(), url=url) for _ in range(100)]
    before = {*threading.enumerate()}
    async with anyio.create_task_group() as group:
        for history in histories:
            group.start_soon(history.aadd_messages, TURN)
    assert len({*threading.enumerate()} - before) <= 20
    for history in histories:
        assert await history.aget_messages() == TURN
    await histories[0].aclose()


async def test_who_waits_for_a_connection_is_told_what_to_do(
    postgres_url: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When none becomes free; and the next one finds it free again."""
    monkeypatch.setattr(server, "PATIENCE", 0.05)
    url = f"{postgres_url}?max_connections=1&application_name=pool-{uuid4().hex}"
    first, second = (PostgresChatMessageHistory(table, uuid4(), url=url) for _ in range(2))
    await first.aadd_messages(TURN)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        async with anyio.create_task_group() as group:
            group.start_soon(first.aadd_messages, TURN)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(
                HistoryError, match=r"none of 1 connections became free within 0.05 s; max_connections="
            ):
                await second.aget_messages()
            connection.rollback()
    assert await second.aget_messages() == []
    assert await first.aget_messages() == TURN * 2
    await first.aclose()


def test_the_first_turn_makes_the_table(postgres_url: str) -> None:
    """A table that is absent is an empty history; many first turns at once make it once and lose nothing."""
    name, session = f"hocket_test_{uuid4().hex}", uuid4()
    history = PostgresChatMessageHistory(name, session, url=postgres_url)
    assert history.messages == []
    history.clear()
    threads = [threading.Thread(target=history.add_messages, args=(TURN,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(history.messages) == 16
    with psycopg.connect(postgres_url) as connection:
        PostgresChatMessageHistory.create_tables(connection, name)
        PostgresChatMessageHistory.drop_table(connection, name)
    assert history.messages == []


def _dicts(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url, row_factory=dict_row)


@pytest.mark.parametrize("connect", [psycopg.connect, partial(psycopg.connect, autocommit=True), _dicts])
def test_a_given_connection_serves_and_stays_open(
    postgres_url: str, table: str, connect: Callable[[str], psycopg.Connection[Any]]
) -> None:
    """A connection of the caller's may be in autocommit mode or not, and shared by threads; each turn is committed."""
    session = uuid4()
    with connect(postgres_url) as connection:
        history = PostgresChatMessageHistory(table, session, sync_connection=connection)
        threads = [threading.Thread(target=history.add_messages, args=(TURN,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert history.messages == TURN * 8
        history.close()
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        seen = PostgresChatMessageHistory(table, session, url=postgres_url)
        assert anyio.run(seen.aget_messages, backend="trio") == TURN * 8


def test_a_connection_that_was_closed_meanwhile_is_replaced(postgres_url: str, table: str) -> None:
    """A server that was started anew costs nobody a turn."""
    name = f"hocket-{uuid4().hex}"
    history = PostgresChatMessageHistory(table, uuid4(), url=f"{postgres_url}?application_name={name}")
    history.add_messages(TURN)
    with psycopg.connect(postgres_url) as connection:
        killed = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s", (name,)
        ).fetchone()
    assert killed == (1,)
    threading.Event().wait(0.05)
    history.add_messages(TURN)
    assert len(history.messages) == 4
    history.close()


def test_close_gives_the_connections_back(postgres_url: str, table: str) -> None:
    """After `close` the server sees no connection of the URL's; the next operation opens one."""
    name = f"hocket-{uuid4().hex}"
    history = PostgresChatMessageHistory(table, uuid4(), url=f"{postgres_url}?application_name={name}")

    def count() -> int:
        with psycopg.connect(postgres_url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,)
            ).fetchone()
        return row[0] if row else -1

    history.add_messages(TURN)
    assert count() == 1
    history.close()
    for _ in range(100):
        if not count():
            break
        threading.Event().wait(0.01)
    assert count() == 0
    assert history.messages == TURN
    history.close()


@pytest.mark.parametrize("name", ["", "a b", 'a"; DROP TABLE x; --', "schema.table"])
def test_a_table_has_a_plain_name(name: str) -> None:
    """A table's name is letters, digits and underscores: it stands in the SQL."""
    with pytest.raises(InvalidInput, match="table_name is"):
        PostgresChatMessageHistory(name, uuid4(), url="postgresql://h/d")
    with pytest.raises(InvalidInput, match="table_name is"):
        PostgresChatMessageHistory.drop_table(None, name)


def test_what_it_is_made_of_is_looked_at() -> None:
    """The session is a UUID; the way to the server is a URL or a connection, and not both; a URL is one."""
    with pytest.raises(InvalidInput, match="session_id is 'talk'; it must be a UUID"):
        PostgresChatMessageHistory("t", "talk", url="postgresql://h/d")
    assert PostgresChatMessageHistory("t", UUID(int=7), url="postgresql://h/d").session_id == str(UUID(int=7))
    with pytest.raises(InvalidInput, match="either url"):
        PostgresChatMessageHistory("t", uuid4())
    with pytest.raises(InvalidInput, match="either url"):
        PostgresChatMessageHistory("t", uuid4(), url="postgresql://h/d", sync_connection=object())
    for url in (
        f"mysql://u:{PASSWORD}@h/d",
        f"postgresql://u:{PASSWORD}%zz@h/d",
        f"postgresql://{PASSWORD}@[bad:1/d",
        f"postgresql://u:{PASSWORD}@h/\0",
        f"postgresql://u:{PASSWORD}@h/\ud800",
    ):
        with pytest.raises(InvalidInput, match="is no URL of PostgreSQL") as refusal:
            PostgresChatMessageHistory("t", uuid4(), url=url)
        assert PASSWORD not in str(refusal.value)


def test_the_password_stays_inside() -> None:
    """Neither repr nor an error shows the URL's password; who was refused is said."""
    history = PostgresChatMessageHistory("t", uuid4(), url=f"postgresql://stranger:{PASSWORD}@127.0.0.1:5432/test")
    with pytest.raises(HistoryError, match="stranger") as failure:
        history.add_messages(TURN)
    assert PASSWORD not in f"{history!r} {failure.value} {failure.value.__cause__!r} {vars(history)}"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psycopg the error says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "hocket.chat_history.postgres")
    monkeypatch.delitem(sys.modules, "hocket._databases.postgres")
    with pytest.raises(MissingDependency, match=r"pip install 'hocket\[postgres\]'"):
        import_module("hocket.chat_history.postgres")


FAMILY = """
import atexit, os, sys
from hocket._databases.postgres import ConnectionPool

def ask():
    with pool.connection() as connection:
        return connection.execute("SELECT pg_backend_pid()").fetchone()

pool = ConnectionPool(sys.argv[1])
before = ask()
if os.fork() == 0:
    atexit._run_exitfuncs()
    os._exit(0)
os.wait()
print(ask() == before)
"""


def test_a_process_closes_the_connections_that_it_opened(postgres_url: str) -> None:
    """At its end, without a warning; a forked child's end leaves its parent's connection as it is."""
    command = [sys.executable, "-W", "error", "-c", FAMILY, postgres_url]
    family = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (family.stdout, family.stderr) == ("True\n", "")
