"""A history by its address."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import anyio
import pytest

from hocket.chat_history import (
    FileChatMessageHistory,
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLiteChatMessageHistory,
    adelete_session,
    alist_sessions,
    delete_session,
    list_sessions,
    open_history,
)
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import HumanMessage


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


async def test_a_directory_is_made_with_the_first_turn(tmp_path: Path) -> None:
    """For its owner alone. To read makes nothing, nor does a file's path, which may be misspelt."""
    address = f"{tmp_path}{os.sep}new{os.sep}talks{os.sep}"
    history = open_history(address, "ada")
    assert await history.aget_messages() == [] and not (tmp_path / "new").exists()
    async with history.exclusive():
        await history.aadd_messages([HumanMessage("one")])
    assert [message.text for message in await open_history(address, "ada").aget_messages()] == ["one"]
    assert stat.S_IMODE((tmp_path / "new" / "talks").stat().st_mode) == 0o700
    with pytest.raises(HistoryError, match="No such file or directory"):
        await open_history(f"{tmp_path}{os.sep}other{os.sep}talk.jsonl").aadd_messages([HumanMessage("one")])


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


@pytest.mark.parametrize("address", ["redis://h/0", "postgresql://h/d", "sqlite:///talk.db"])
def test_a_database_must_be_told_the_session(address: str) -> None:
    """It holds many conversations: without a name, all users of a program would share one."""
    with pytest.raises(InvalidInput, match=r"database holds many conversations: say which one.*session_id="):
        open_history(address)


def test_one_conversation_may_go_without_a_session(tmp_path: Path) -> None:
    """In a file, and in a directory of one."""
    open_history(tmp_path / "talk.jsonl").add_user_message("one")
    open_history(f"{tmp_path}{os.sep}").add_user_message("two")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["default.jsonl", "talk.jsonl"]


@pytest.mark.parametrize("address", ["redis://h/0", "postgresql://h/d", "sqlite:///talk.db", f"talk{os.sep}"])
@pytest.mark.parametrize("session", ["", "\ud800"])
def test_a_session_has_a_name_that_can_be_written(address: str, session: str) -> None:
    """A name that comes from a client may be anything: ours is the error, at the door."""
    with pytest.raises(InvalidInput, match="session_id is"):
        open_history(address, session)


@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b"])
def test_a_path_is_one_that_a_file_can_have(path: str) -> None:
    """Neither empty, nor with a NUL, nor with what cannot be encoded."""
    with pytest.raises(InvalidInput, match="path is"):
        open_history(path)
    with pytest.raises(InvalidInput, match="path is"):
        open_history(f"sqlite:///{path}", "talk")
    if path:
        with pytest.raises(InvalidInput, match="path is"):
            list_sessions(path + os.sep)


@pytest.fixture(params=["directory", "sqlite", "redis", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where many conversations are kept."""
    if request.param in ("redis", "postgres"):
        return str(request.getfixturevalue(f"{request.param}_url"))
    return f"{tmp_path}{os.sep}" if request.param == "directory" else f"sqlite:///{tmp_path}/talk.db"


async def test_sessions_are_listed_and_deleted(address: str) -> None:
    """All that have messages, by the names that open them; one that is deleted is gone, the others stay."""
    is_postgres = address.startswith("postgresql")
    user = f"ada*[{uuid4()}]/"
    names = [str(uuid4()) for _ in range(3)] if is_postgres else [f"{user}{part}" for part in ("one", "two", "ü")]
    for name in names:
        await open_history(address, name).aadd_messages([HumanMessage(name)])
    listed = await alist_sessions(address)
    assert set(names) <= set(listed) and listed == sorted(listed)
    if is_postgres:
        with pytest.raises(InvalidInput, match="PostgreSQL keeps UUIDs"):
            await alist_sessions(address, user)
    else:
        assert await alist_sessions(address, user) == sorted(names)
        assert await alist_sessions(address, user.upper()) == []
    await adelete_session(address, names[0])
    await adelete_session(address, names[0])
    assert names[0] not in await alist_sessions(address)
    assert [message.text for message in await open_history(address, names[1]).aget_messages()] == [names[1]]
    for name in names[1:]:
        await anyio.to_thread.run_sync(delete_session, address, name)
    assert not {*names} & {*await alist_sessions(address)}


def test_a_file_has_no_sessions(tmp_path: Path) -> None:
    """It holds one conversation; a directory that is not there holds none."""
    with pytest.raises(InvalidInput, match="which holds one conversation"):
        list_sessions("talk.jsonl")
    with pytest.raises(InvalidInput, match="which holds one conversation"):
        delete_session("talk.jsonl", "talk")
    assert list_sessions(f"{tmp_path}{os.sep}missing{os.sep}") == []


def test_a_file_holds_one_conversation() -> None:
    """A second session would mix with the first."""
    with pytest.raises(InvalidInput, match=r"'talk\.jsonl' is a file.*name a directory, talk\.jsonl/"):
        open_history("talk.jsonl", "other")


def test_stores_are_imported_when_they_are_asked_for() -> None:
    """The package alone imports no driver and no database."""
    seen = "import sys, hocket.chat_history; print(sorted({'sqlite3', 'redis', 'psycopg'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
