"""A connection is closed when its database is gone, and never under a thread that uses it."""

import sqlite3
import threading
from pathlib import Path

import pytest

from hocket._databases.sqlite import SQLiteDatabase
from hocket.errors import StoreError

SCHEMA = "CREATE TABLE IF NOT EXISTS one (x);"


def test_a_connection_in_use_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of a process whose thread is still at it."""
    monkeypatch.setattr("hocket._databases.sqlite.LAST_WAIT", 0.01)
    database = SQLiteDatabase(str(tmp_path / "a.db"))
    with database.open(SCHEMA, StoreError) as connection:
        assert database._closing is not None
        ending = threading.Thread(target=database._closing)
        ending.start()
        ending.join(60)
        assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.close()


def test_an_idle_connection_is_closed_at_the_end(tmp_path: Path) -> None:
    """By the finaliser, and by `close`, after which the next use opens another."""
    database = SQLiteDatabase(str(tmp_path / "a.db"))
    for close in (lambda: database._closing and database._closing(), database.close):
        with database.open(SCHEMA, StoreError) as connection:
            pass
        close()
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")
        database.reset()
