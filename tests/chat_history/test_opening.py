"""A history by its address."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from hocket.chat_history import (
    FileChatMessageHistory,
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLiteChatMessageHistory,
    open_history,
)
from hocket.errors import InvalidInput


def test_an_address_says_which_store() -> None:
    """The scheme chooses the store; without one it is a file."""
    redis = open_history("redis://localhost:6379/3", "talk")
    assert isinstance(redis, RedisChatMessageHistory)
    assert redis.session_id == "talk"
    postgres = open_history("postgresql://u@localhost/d", str(UUID(int=7)))
    assert isinstance(postgres, PostgresChatMessageHistory)
    assert (postgres.table_name, postgres.session_id) == ("message_store", str(UUID(int=7)))
    for address, path in (("sqlite:///talk.db", "talk.db"), ("sqlite:////tmp/talk.db", "/tmp/talk.db")):
        sqlite = open_history(address, "talk")
        assert isinstance(sqlite, SQLiteChatMessageHistory)
        assert (sqlite.path, sqlite.session_id) == (path, "talk")
    file = open_history(Path("talk.jsonl"))
    assert isinstance(file, FileChatMessageHistory)
    assert file.file_path == "talk.jsonl"


def test_a_name_is_the_same_uuid_every_time() -> None:
    """A session's name that is no UUID is one to PostgreSQL, always the same, and another for another name."""
    first, again, other = (open_history("postgresql://localhost/d", name) for name in ("talk", "talk", "other"))
    assert isinstance(first, PostgresChatMessageHistory)
    assert isinstance(again, PostgresChatMessageHistory)
    assert isinstance(other, PostgresChatMessageHistory)
    assert first.session_id == again.session_id != other.session_id


@pytest.mark.parametrize("name", ["talk", "../talk", "a/b", ".", "ä\0"])
def test_a_directory_keeps_a_file_for_each_session(tmp_path: Path, name: str) -> None:
    """With a slash at its end a path is a directory, in which each session has its file, and none gets out of it."""
    history = open_history(f"{tmp_path}{os.sep}", name)
    history.add_user_message("one")
    assert isinstance(history, FileChatMessageHistory)
    (kept,) = tmp_path.rglob("*")
    assert kept == Path(history.file_path)
    assert open_history(f"{tmp_path}{os.sep}", name).messages == history.messages


@pytest.mark.parametrize("address", ["mysql://user:canary-5e37@host/d", "sqlite://talk.db", "https://host/talk"])
def test_another_address_is_refused(address: str) -> None:
    """What is none of these is refused with the four that are, the password left out."""
    with pytest.raises(InvalidInput, match="is no address of a history: it is redis://") as refusal:
        open_history(address)
    assert "canary" not in str(refusal.value)


def test_a_file_holds_one_conversation() -> None:
    """A second session would mix with the first."""
    with pytest.raises(InvalidInput, match=r"'talk\.jsonl' is a file.*name a directory, talk\.jsonl/"):
        open_history("talk.jsonl", "other")


def test_stores_are_imported_when_they_are_asked_for() -> None:
    """The package alone imports no driver and no database."""
    seen = "import sys, hocket.chat_history; print(sorted({'sqlite3', 'redis', 'psycopg'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
