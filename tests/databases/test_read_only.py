"""An SQLite database on a mount that is read-only can be read, whether somebody else writes to it or not."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

READ = """
import os, sys
from datetime import UTC, datetime
from hocket.caches import SQLiteCache
from hocket.chat_history import SQLiteChatMessageHistory
from hocket.documents import Document
from hocket.embeddings import FakeEmbeddings
from hocket.errors import HistoryError, StoreError
from hocket.ledger import LedgerEntry, SQLiteLedger
from hocket.messages import HumanMessage
from hocket.outputs import Generation
from hocket.vectorstores import SQLiteVectorStore

def open_all(folder):
    vectors = SQLiteVectorStore(f"{folder}/vectors", FakeEmbeddings(size=4))
    history = SQLiteChatMessageHistory("a", f"{folder}/history")
    return history, SQLiteCache(f"{folder}/cache"), SQLiteLedger(f"{folder}/ledger"), vectors

def close(stores):
    for store in stores:
        store.close()

def read(stores):
    history, cache, ledger, vectors = stores
    found = vectors.similarity_search("text", k=9)
    return len(history.messages), len(cache.lookup("p", "l")), len(list(ledger.entries())), len(found)

def add(stores, number):
    history, cache, ledger, vectors = stores
    history.add_messages([HumanMessage("hello")])
    cache.update("p", "l", [Generation(text="yes")] * number)
    ledger.book(LedgerEntry(id=str(number), at=datetime(2026, 5, 4, tzinfo=UTC)))
    ledger.flush()
    vectors.add_documents([Document("text", id=str(number))])

written, mounted = open_all(sys.argv[1]), open_all(sys.argv[2])
add(written, 1)
close(written)
assert read(mounted) == (1, 1, 1, 1), read(mounted)  # nobody has it open
add(written, 2)
assert read(mounted) == (2, 2, 2, 2), read(mounted)  # somebody has, and has changed it
add(written, 3)
assert read(mounted) == (3, 3, 3, 3), read(mounted)
close(written)
add(written, 4)
close(written)
assert read(mounted) == (4, 4, 4, 4), read(mounted)  # somebody had
try:
    mounted[0].add_messages([HumanMessage("hello")])
except HistoryError as error:
    assert "readonly" in str(error)
else:
    raise AssertionError("it was written")
"""


def test_what_is_on_a_read_only_mount_can_be_read(tmp_path: Path) -> None:
    """Histories, caches, ledgers and vectors: what was written last, and no file is made beside them."""
    for name in ("written", "mounted"):
        (tmp_path / name).mkdir()
    (tmp_path / "read.py").write_text(textwrap.dedent(READ))
    mount = 'mount --bind "$1" "$2" && mount -o remount,ro,bind "$2"'
    arguments = [str(tmp_path / "written"), str(tmp_path / "mounted")]
    prefix = ["unshare", "-rm", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*prefix, mount, "-", *arguments], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a folder of his own")
    command = [
        *prefix,
        f'{mount} && exec "$3" "$4" "$1" "$2"',
        "-",
        *arguments,
        sys.executable,
        str(tmp_path / "read.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
