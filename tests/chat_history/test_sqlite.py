"""The history in SQLite."""

import gc
import pickle
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.chat_history import SQLiteChatMessageHistory
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage

TURN: list[BaseMessage] = [HumanMessage("one"), AIMessage("two")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that is not there."""
    return tmp_path / "talk.db"


def test_a_row_is_a_message(path: Path) -> None:
    """The table is there for others to read, in WAL mode, with the time of each message."""
    SQLiteChatMessageHistory("talk", path).add_messages(TURN)
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT session_id, json_extract(message, '$.data.content'), created_at FROM message_store ORDER BY id"
    ).fetchall()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert [row[:2] for row in rows] == [("talk", "one"), ("talk", "two")]
    assert all(row[2].endswith("Z") for row in rows)
    assert mode == "wal"


def test_the_table_of_langchain_serves(path: Path) -> None:
    """The messages that LangChain's class stored are read, and the conversation goes on in its table."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE message_store (id INTEGER NOT NULL, session_id TEXT, message TEXT, PRIMARY KEY (id))"
    )
    connection.execute(
        "INSERT INTO message_store (session_id, message) VALUES (?, ?)",
        ("talk", '{"type": "human", "data": {"content": "before", "type": "human", "example": false}}'),
    )
    connection.commit()
    connection.close()
    history = SQLiteChatMessageHistory("talk", path)
    history.add_messages(TURN)
    assert [message.text for message in history.messages] == ["before", "one", "two"]


def test_a_failing_turn_leaves_nothing(path: Path) -> None:
    """Whatever the database refuses in the middle of a turn, nothing of it stays, and the next one is stored."""
    history = SQLiteChatMessageHistory("talk", path)
    history.add_messages(TURN)
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON message_store WHEN NEW.message LIKE '%refused%' "
        "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
    )
    connection.close()
    with pytest.raises(HistoryError, match=r"talk\.db: not this one"):
        history.add_messages([HumanMessage("first of its turn"), HumanMessage("refused")])
    history.add_messages(TURN)
    assert history.messages == TURN + TURN


def test_damage_is_named(path: Path) -> None:
    """A message that cannot be read is an error that says which, and in what session."""
    history = SQLiteChatMessageHistory("talk", path)
    history.add_messages(TURN)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE message_store SET message = '{' WHERE id = 2")
    connection.commit()
    connection.close()
    with pytest.raises(HistoryError, match=r"'talk'.*: message 2 cannot be read"):
        _ = history.messages


def test_what_is_no_database(tmp_path: Path) -> None:
    """A file of another kind and a directory that is not there are errors that name the path."""
    (tmp_path / "text").write_text("no database, but text of some length" * 100)
    with pytest.raises(HistoryError, match="text: file is not a database"):
        _ = SQLiteChatMessageHistory("talk", tmp_path / "text").messages
    with pytest.raises(HistoryError, match=r"missing.*unable to open"):
        _ = SQLiteChatMessageHistory("talk", tmp_path / "missing" / "talk.db").messages
    for path in ("", ":memory:"):
        with pytest.raises(InvalidInput, match="path is"):
            SQLiteChatMessageHistory("talk", path)
    with pytest.raises(InvalidInput, match="session_id is ''"):
        SQLiteChatMessageHistory("", "talk.db")


def test_the_connection_goes_with_the_last_history(path: Path) -> None:
    """Histories share a connection; the last one to go closes it, and SQLite's own files with it."""
    first, second = SQLiteChatMessageHistory("one", path), SQLiteChatMessageHistory("two", path)
    first.add_messages(TURN)
    assert second.messages == []
    wal = path.with_name("talk.db-wal")
    del first
    gc.collect()
    assert wal.exists()
    del second
    gc.collect()
    assert not wal.exists()


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that give way to one another much more often than usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_the_last_history_may_go_while_another_comes(path: Path) -> None:
    """In another thread; the new one does not get the connection that is being closed."""
    failures: list[Exception] = []

    def come_and_go() -> None:
        try:
            for _ in range(100):
                assert SQLiteChatMessageHistory("talk", path).messages == TURN
        except Exception as error:
            failures.append(error)

    SQLiteChatMessageHistory("talk", path).add_messages(TURN)
    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_writer_waits_for_another_program(path: Path) -> None:
    """While another connection writes, an append waits; it is made when that one has ended."""
    history = SQLiteChatMessageHistory("talk", path)
    history.add_messages(TURN)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.1, other.execute, ["COMMIT"])
    timer.start()
    history.add_messages(TURN)
    timer.join()
    other.close()
    assert history.messages == TURN + TURN


def test_travels(path: Path) -> None:
    """It can be pickled: a path and a session are all that it is."""
    history = SQLiteChatMessageHistory("talk", path)
    history.add_messages(TURN)
    assert pickle.loads(pickle.dumps(history)).messages == TURN
