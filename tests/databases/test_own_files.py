"""Who may read the files that hocket makes."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket import DeterministicFakeEmbedding, FakeListChatModel
from hocket._databases.sqlite import SQLiteDatabase
from hocket.batch import run_batch
from hocket.budgets import Budget
from hocket.caches import SQLiteCache
from hocket.chat_history import FileChatMessageHistory, SQLiteChatMessageHistory
from hocket.errors import StoreError
from hocket.ledger import JSONLLedger, SQLiteLedger
from hocket.ledger.spool import Spool
from hocket.rate_limiters import RateLimiter
from hocket.vectorstores import SQLiteVectorStore
from tests.ledger.test_stores import entry

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Take rights from files as most systems do."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def read_modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def ask(**options: Any) -> None:
    FakeListChatModel(responses=["Hello."], **options).invoke("hi")


MAKERS: dict[str, Callable[[Path], object]] = {
    "history": lambda path: SQLiteChatMessageHistory("s", path).add_user_message("hi"),
    "history in a file": lambda path: FileChatMessageHistory(path).add_user_message("hi"),
    "cache": lambda path: ask(cache=SQLiteCache(path)),
    "vectors": lambda path: SQLiteVectorStore(path, DeterministicFakeEmbedding(size=2)).add_texts(["hi"]),
    "limits": lambda path: ask(rate_limiter=RateLimiter(requests_per_minute=60, store=f"sqlite:///{path}")),
    "budgets": lambda path: ask(budget=Budget(tokens=1_000_000, unpriced="ignore", store=f"sqlite:///{path}")),
    "ledger": lambda path: list(SQLiteLedger(path).entries()),
    "ledger in a file": lambda path: JSONLLedger(path)._write([entry()]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_hocket_keeps_is_for_its_owner_alone(make: Callable[[Path], object], tmp_path: Path):
    """Also what SQLite puts beside a database."""
    make(tmp_path / "kept")
    modes = read_modes(tmp_path)
    assert "kept" in modes and set(modes.values()) == {0o600}


def test_sqlites_own_files_are_for_its_owner_alone(tmp_path: Path):
    """Those beside it as long as it is open; a file that is there keeps its rights."""
    (tmp_path / "there").touch()
    databases = [SQLiteDatabase(str(tmp_path / name)) for name in ("new", "there")]
    for database in databases:
        with database.open("CREATE TABLE IF NOT EXISTS t (x);", StoreError) as connection:
            connection.execute("INSERT INTO t VALUES (1)")
    modes = read_modes(tmp_path)
    assert {name: mode for name, mode in modes.items() if name.startswith("new")} == dict.fromkeys(
        ["new", "new-wal", "new-shm"], 0o600
    )
    assert modes["there"] == 0o644
    for database in databases:
        database.close()


def test_what_the_user_asked_for_has_the_rights_of_his_files(tmp_path: Path):
    """A bulk run's output is a document like any other."""
    run_batch(FakeListChatModel(responses=["Hello."]), ["hi"], tmp_path / "out.jsonl")
    assert read_modes(tmp_path)["out.jsonl"] == 0o644


def test_entries_wait_in_a_folder_of_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In one that others may write to, or that is a link, nothing is put."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool(lambda: "store")
    spool.add([entry()])
    folder = Path(spool.path).parent
    assert folder.parent == tmp_path and sorted(read_modes(tmp_path).values()) == [0o600, 0o700]
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="directory of this user alone"):
        spool.add([entry()])
    folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="directory of this user alone"):
        spool.add([entry()])
