"""Entries are written behind the back of the calls, and wherever the store fails they are kept."""

import os
import signal
import textwrap
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from hocket.errors import StoreError
from hocket.ledger import CallbackLedger, JSONLLedger, LedgerEntry, SQLiteLedger
from hocket.ledger.spool import Spool, read_entries
from hocket.ledger.writer import EntryWriter, _flush_all
from tests.kit import warm
from tests.ledger.test_stores import entry, fill


class Store:
    """A store that fails, or stands still, when it is told to."""

    def __init__(self) -> None:
        self.fails = False
        self.written: list[str] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.is_writing = threading.Event()

    def write(self, entries: Sequence[LedgerEntry]) -> None:
        self.is_writing.set()
        self.may_go_on.wait(60)
        if self.fails:
            raise StoreError("the store: down")
        self.written += [one.id for one in entries]


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(lambda: "store", str(tmp_path / "spool.jsonl"))


def make(store: Store, spool: Spool) -> EntryWriter:
    return EntryWriter("the store", store.write, spool, 1000)


def test_what_the_store_does_not_take_is_spooled_and_comes_later(store: Store, spool: Spool) -> None:
    """In order, once, and counted."""
    writer = make(store, spool)
    store.fails = True
    for number in range(3):
        writer.put(entry(number))
    assert writer.flush(30)
    assert (writer.errors, store.written, spool.has_entries) == (3, [], True)
    store.fails = False
    writer.put(entry(3))
    assert writer.flush(30)
    assert sorted(store.written) == ["0000", "0001", "0002", "0003"]
    assert not spool.has_entries


def test_a_store_that_fails_again_gets_the_rest_later(store: Store, spool: Spool) -> None:
    """What it has taken of the spool is not sent twice."""
    spool.add([entry(number) for number in range(5)])
    taken: list[str] = []

    def write(entries: Sequence[LedgerEntry]) -> None:
        if len(taken) == 2:
            raise StoreError("down again")
        taken.extend(one.id for one in entries)

    with pytest.raises(StoreError):
        spool.restore(write, 1)
    assert taken == ["0000", "0001"]
    spool.restore(store.write, 1)
    assert sorted(store.written) == ["0002", "0003", "0004"]


def test_what_the_store_does_not_take_now_holds_up_no_other(spool: Spool) -> None:
    """It goes to the end of the spool, and is offered again after the others."""
    spool.add([entry(number) for number in range(4)])
    taken: list[str] = []

    def write(entries: Sequence[LedgerEntry]) -> None:
        if entries[0].id == "0000":
            raise StoreError("not this one now")
        taken.extend(one.id for one in entries)

    for _ in range(2):
        with pytest.raises(StoreError):
            spool.restore(write, 1)
    assert taken == ["0001", "0002", "0003"]
    assert [one.id for one in read_entries(spool.path) if one is not None] == ["0000"]


def test_a_process_that_is_killed_while_it_restores_leaves_every_entry(spool: Spool) -> None:
    """At every look that one could take at the file, what the store lacks is in it."""
    spool.add([entry(number) for number in range(6)])
    store: set[str] = set()

    def write(entries: Sequence[LedgerEntry]) -> None:
        if entries[0].id == "0004":
            raise StoreError("down again")
        store.update(one.id for one in entries)
        assert {one.id for one in read_entries(spool.path) if one} | store == {f"{number:04}" for number in range(6)}

    with pytest.raises(StoreError):
        spool.restore(write, 2)
    assert {one.id for one in read_entries(spool.path) if one} == {"0004", "0005"}


def test_the_first_that_is_set_aside_finds_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing was ever spooled, that of the user's own is not there yet."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool(lambda: "store")

    def write(entries: Sequence[LedgerEntry]) -> None:
        raise ValueError("not this one")

    assert spool.hand_over([entry(1), entry(2)], write) == 2
    assert [one.id for one in read_entries(spool.path + ".refused") if one] == ["0001", "0002"]


def test_a_line_of_the_spool_that_cannot_be_read_is_set_aside(store: Store, spool: Spool) -> None:
    """It may be an entry that somebody can mend."""
    spool.add([entry(1)])
    with open(spool.path, "ab") as file:
        file.write(b'{"id":"0002","at":dam}\n{"id":"0003","at":"cut by a k')
    spool.restore(store.write, 10)
    assert store.written == ["0001"]
    assert Path(spool.path + ".refused").read_bytes() == b'{"id":"0002","at":dam}\n'
    assert not spool.has_entries


def test_a_queue_that_is_full_goes_to_the_spool(store: Store, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call waits for a store that stands still, and memory is bounded."""
    monkeypatch.setattr("hocket.ledger.writer.BOUND", 10)
    writer = make(store, spool)
    store.may_go_on.clear()
    writer.put(entry(0))
    assert store.is_writing.wait(30)
    for number in range(1, 30):
        writer.put(entry(number))
    store.may_go_on.set()
    assert writer.flush(30)
    assert writer.errors == 22
    writer.put(entry(99))
    assert writer.flush(30)
    assert sorted(store.written) == sorted([f"{number:04}" for number in range(30)] + ["0099"])


def test_what_waits_at_the_end_of_the_process_is_kept(
    store: Store, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store stands still, and the process does not wait for it for long."""
    monkeypatch.setattr("hocket.ledger.writer.LAST_WORDS", 0.01)
    writer = make(store, spool)
    store.may_go_on.clear()
    writer.put(entry(1))
    assert store.is_writing.wait(30)
    writer.put(entry(2))
    _flush_all()
    assert spool.has_entries
    store.may_go_on.set()
    writer.put(entry(3))
    assert writer.flush(30)
    assert sorted(set(store.written)) == ["0001", "0002", "0003"]  # one that it has it knows by its id


def test_a_flush_does_not_wait_for_ever(store: Store, spool: Spool) -> None:
    """What the store has not taken by then is in the spool, also what it was about to take; once, if it fails then."""
    writer = make(store, spool)
    store.may_go_on.clear()
    writer.put(entry(1))
    assert store.is_writing.wait(30)
    writer.put(entry(2))
    assert not writer.flush(0.01)
    assert [one and one.id for one in read_entries(spool.path)] == ["0001", "0002"]
    store.fails = True
    store.may_go_on.set()
    writer.put(entry(3))
    assert writer.flush(30)
    assert [one and one.id for one in read_entries(spool.path)] == ["0001", "0002", "0003"]
    assert writer.errors == 3


def test_short_attempts_are_written_once(store: Store, spool: Spool) -> None:
    """One that is not made after all, never."""
    writer = make(store, spool)
    writer.open(entry(1, outcome="open"))
    writer.open(entry(2, outcome="open"))
    writer.withdraw(entry(2, outcome="open"))
    writer.put(entry(1))
    assert writer.flush(30)
    assert store.written == ["0001"]


def test_long_attempts_are_noted(store: Store, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one without an end tells of a process that died."""
    monkeypatch.setattr("hocket.ledger.writer.OPEN_AFTER", 0.0)
    writer = make(store, spool)
    writer.open(entry(1, outcome="open"))
    assert store.is_writing.wait(30)
    writer.put(entry(1))
    assert writer.flush(30)
    assert store.written == ["0001", "0001"]


def test_the_thread_ends_and_begins_again(store: Store, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that nobody uses any more leaves nothing behind."""
    monkeypatch.setattr("hocket.ledger.writer.IDLE", 0.0)
    writer = make(store, spool)
    for number in range(3):
        writer.put(entry(number))
        assert writer.flush(30)
    assert store.written == ["0000", "0001", "0002"]


def test_a_spool_that_cannot_be_written_is_told(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Then entries are lost, and the log says how many and where."""
    store.fails = True
    writer = make(store, Spool(lambda: "store", str(tmp_path / "nowhere" / "spool.jsonl")))
    writer.put(entry(0))
    assert writer.flush(30)
    assert "the store: 1 entries are lost" in caplog.text


def test_a_link_in_the_place_of_the_spool_is_not_followed(tmp_path: Path) -> None:
    """Another user of the machine may have put it there."""
    victim, place = tmp_path / "victim.txt", tmp_path / "spool.jsonl"
    victim.write_text("as it was")
    place.symlink_to(victim)
    spool = Spool(lambda: "store", str(place))
    with pytest.raises(OSError, match="spool"):
        spool.add([entry(1)])
    with pytest.raises(OSError, match="spool"):
        spool.restore(lambda entries: None, 10)
    assert victim.read_text() == "as it was"


def test_a_function_gets_each_entry(tmp_path: Path) -> None:
    """Sync or async; one that it raises at comes again."""
    got: list[str] = []
    fails = [True]

    def take(one: LedgerEntry) -> None:
        if fails.pop() if fails else False:
            raise ValueError("not now")
        got.append(one.id)

    async def take_later(one: LedgerEntry) -> None:
        take(one)

    for function in (take, take_later):
        ledger = CallbackLedger(function, spool=str(tmp_path / f"{function.__name__}.jsonl"))
        fill(ledger, entry(1))
        fill(ledger, entry(2))
        assert sorted(got) == ["0001", "0002"]
        got.clear()
        fails.append(True)


def run(code: str, *args: object) -> int:
    """Run a program; return its exit code."""
    return warm.run("-c", textwrap.dedent(code), *map(str, args)).returncode


ASK = """
    import sys, anyio
    from hocket.ledger import SQLiteLedger
    from hocket.language_models import ScriptedChatModel, Turn
    ledger = SQLiteLedger(sys.argv[1], spool=sys.argv[1] + ".spool")
    model = ScriptedChatModel(script=[Turn(text="quick"), Turn(text="never", delay=600)], ledger=ledger)
    model.invoke("hi")
"""


HURRY = """
    import sys
    from hocket.language_models import FakeListChatModel
    from hocket.ledger import SQLiteLedger
    model = FakeListChatModel(responses=["yes"], ledger=SQLiteLedger(sys.argv[1], spool=sys.argv[1] + ".spool"))
    model.batch(["hi"] * 200)
"""


@pytest.mark.parametrize("time", range(3))
def test_the_end_of_the_process_comes_before_connections_are_closed(tmp_path: Path, time: int) -> None:
    """While the thread still writes: SQLite crashes where a connection is closed under a statement."""
    path = tmp_path / "usage.db"
    assert run(HURRY, path) == 0
    assert len(list(SQLiteLedger(path).entries())) == 200
    assert not Path(f"{path}.spool").exists()


DIE = """
    import os, signal, threading
    threading.Thread(target=model.invoke, args=("hi",), daemon=True).start()
    while not any(one.outcome == "open" for one in ledger.entries()):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_end_of_the_process_writes_what_is_left(tmp_path: Path) -> None:
    """Without a line of the program's own."""
    path = tmp_path / "usage.db"
    assert run(ASK, path) == 0
    assert [one.outcome for one in SQLiteLedger(path).entries()] == ["ok"]


def test_a_killed_process_leaves_an_open_entry(tmp_path: Path) -> None:
    """What it had asked for has no end; what it had finished is there."""
    path = tmp_path / "usage.db"
    assert run(ASK + DIE, path) == -signal.SIGKILL
    [total] = SQLiteLedger(path).total()
    assert (total.calls, total.open) == (2, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_books_its_own(tmp_path: Path) -> None:
    """And nothing of its parent's twice."""
    path = tmp_path / "usage.jsonl"
    code = """
    import os, sys
    from hocket.ledger import JSONLLedger
    from hocket.language_models import FakeListChatModel
    model = FakeListChatModel(responses=["a"], ledger=JSONLLedger(sys.argv[1]))
    model.invoke("parent")
    child = os.fork()
    model.invoke("both")
    model.ledger.flush()
    if child:
        sys.exit(os.waitpid(child, 0)[1])
    os._exit(0)
    """
    assert run(code, path) == 0
    assert len(list(JSONLLedger(path).entries())) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_multiprocessing_writes_what_is_left(tmp_path: Path) -> None:
    """Its end comes without the functions of `atexit`."""
    path = tmp_path / "usage.db"
    code = """
    import multiprocessing, sys
    from hocket.ledger import SQLiteLedger
    from hocket.language_models import FakeListChatModel
    model = FakeListChatModel(responses=["a"], ledger=SQLiteLedger(sys.argv[1]))

    def work():
        for number in range(20):
            model.invoke(str(number))

    children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(sum(child.exitcode for child in children))
    """
    assert run(code, path) == 0
    [total] = SQLiteLedger(path).total()
    assert total.calls == 40
