"""Vector stores in a file that several processes share, processes that die, that fork, and that may not write."""

import random
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from hocket.embeddings import DeterministicFakeEmbedding
from hocket.vectorstores import FAISSVectorStore, SQLiteVectorStore
from tests.kit.warm import Program

SIZE = 5  # documents of a batch
KILLS = 4

Kind = type[SQLiteVectorStore]
KINDS = pytest.mark.parametrize("kind", [SQLiteVectorStore, FAISSVectorStore])

OPEN = f"""\
import os, sys, threading
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import VectorStoreError
from hocket.vectorstores import FAISSVectorStore, SQLiteVectorStore

store = KIND(sys.argv[1], DeterministicFakeEmbedding(size=16))

def write(writer, numbers):
    for number in numbers:
        ids = [f"{{writer}} {{number}} {{part}}" for part in range({SIZE})]
        store.add_texts([f"part {{one}} " * 30 for one in ids], ids=ids)
        store.add_texts(["to be replaced"], ids=["the one"])
        print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that is not there."""
    return tmp_path / "vectors.db"


def start(path: Path, *lines: str, kind: Kind = SQLiteVectorStore) -> "subprocess.Popen[str]":
    """Start a process that runs the lines."""
    program = "\n".join((OPEN.replace("KIND", kind.__name__), *lines))
    return Program("-W", "error", "-c", program, str(path), stdout=subprocess.PIPE, text=True)


def open_store(path: Path, kind: Kind = SQLiteVectorStore) -> SQLiteVectorStore:
    """Return the store here."""
    return kind(path, DeterministicFakeEmbedding(size=16))


def list_batches(store: SQLiteVectorStore) -> set[tuple[int, int]]:
    """Return the batches in a store, writer and number, all of which must be whole."""
    found = store.similarity_search("part", k=99_999)
    parts = {
        (int(w), int(n), int(part)) for w, n, part in (str(one.id).split() for one in found if one.id != "the one")
    }
    batches = {(writer, number) for writer, number, _ in parts}
    assert parts == {(*batch, part) for batch in batches for part in range(SIZE)}
    return batches


def check_tables(path: Path) -> None:
    """Look whether each document has its words and its vector, and nobody else has any."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO documents__words (documents__words) VALUES ('integrity-check')")
    for difference in (
        "SELECT hash FROM documents EXCEPT SELECT hash FROM documents__vectors",
        "SELECT hash FROM documents__vectors EXCEPT SELECT hash FROM documents",
        "SELECT number FROM documents EXCEPT SELECT rowid FROM documents__words",
        "SELECT rowid FROM documents__words EXCEPT SELECT number FROM documents",
    ):
        assert connection.execute(difference).fetchall() == []
    connection.close()


@KINDS
def test_a_killed_writer_leaves_whole_batches(path: Path, kind: Kind) -> None:
    """After ``kill -9``, again and again: what was acknowledged is there, at most one batch more, and the next goes on."""
    known: set[tuple[int, int]] = set()
    for kill in range(KILLS):
        writer = start(path, f"write({kill}, range(1_000_000))", kind=kind)
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(3)]
        time.sleep(random.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in writer.communicate()[0].splitlines() if line]

        batches = list_batches(open_store(path, kind))
        check_tables(path)
        known |= {(kill, number) for number in acknowledged}
        assert known <= batches
        assert batches <= known | {(kill, len(acknowledged))}
        known = batches


@KINDS
def test_two_processes_write_and_a_third_searches(path: Path, kind: Kind) -> None:
    """Nothing is lost or mixed, and who searches sees whole batches, and never fewer than before."""
    store = open_store(path, kind)
    writers = [start(path, f"write({writer}, range(15))", kind=kind) for writer in range(2)]
    seen: set[tuple[int, int]] = set()
    while any(writer.poll() is None for writer in writers):
        now = list_batches(store)
        assert seen <= now
        seen = now
    assert [writer.communicate()[0].count("\n") for writer in writers] == [15, 15]
    assert list_batches(store) == {(writer, number) for writer in range(2) for number in range(15)}
    check_tables(path)


@KINDS
def test_a_forked_child_goes_on(path: Path, kind: Kind) -> None:
    """A child uses the store that its parent had open, while the parent's threads are at work on it."""
    forked = start(
        path,
        "import warnings; warnings.simplefilter('ignore', DeprecationWarning)",
        "write(0, range(3))",
        "store.similarity_search('x')",  # what it imports is there: a child would wait for ever for another thread's import
        "threads = [threading.Thread(target=lambda: [store.similarity_search('x') for _ in range(50)]) for _ in range(3)]",
        "for thread in threads: thread.start()",
        "threading.Timer(30, os._exit, [1]).start()",
        "children = []",
        "for child in range(1, 4):",
        "    pid = os.fork()",
        "    if not pid:",
        "        found = store.similarity_search('part', k=99)",
        "        write(child, range(2))",
        "        more = store.similarity_search('part', k=99)",
        f"        os._exit(0 if len(more) >= len(found) + {2 * SIZE} else 1)",
        "    children.append(pid)",
        "codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]",
        "for thread in threads: thread.join()",
        "write(0, range(3, 5))",
        "os._exit(codes != [0, 0, 0])",
        kind=kind,
    )
    forked.communicate(timeout=50)
    assert forked.returncode == 0
    assert list_batches(open_store(path, kind)) == {
        *((0, number) for number in range(5)),
        *((child, number) for child in range(1, 4) for number in range(2)),
    }


def test_a_folder_that_may_not_be_written() -> None:
    """Its database is refused by an error that names it; so is a new one. (To root all is allowed, who becomes nobody.)"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.db"
        writer = start(
            path,
            "store.add_texts(['one'])",
            "store.close()",
            "os.chmod(sys.argv[1], 0o644)",
            "os.chmod(os.path.dirname(sys.argv[1]), 0o555)",
            "if not os.geteuid(): os.setuid(65534)",
            "for place in (sys.argv[1], sys.argv[1] + '.new'):",
            "    store = SQLiteVectorStore(place, DeterministicFakeEmbedding(size=16))",
            "    try: store.add_texts(['two'])",
            "    except VectorStoreError as error: print(error)",
        )
        told = writer.communicate(timeout=50)[0].splitlines()
        path.parent.chmod(0o755)
        assert [line.partition(": ")[0] for line in told] == [str(path), f"{path}.new"]
        assert [one.page_content for one in open_store(path).similarity_search("one")] == ["one"]


def test_a_full_disk(path: Path) -> None:
    """A batch that finds no room is an error, and nothing of it is there; smaller ones go on."""
    writer = start(
        path,
        "import resource",
        "store.add_texts(['one'], ids=['the one'])",
        "store.close()",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))",
        "try: store.add_texts([f'a long text {n} ' * 99 for n in range(500)])",
        "except VectorStoreError as error: print(error)",
        "store.add_texts(['two'], ids=['the one'])",
        "print(len(store.similarity_search('x', k=999)))",
    )
    problem, count = writer.communicate(timeout=50)[0].splitlines()
    assert problem.startswith(f"{path}: ")
    assert count == "1"
    check_tables(path)
    assert [one.page_content for one in open_store(path).get_by_ids(["the one"])] == ["two"]
