"""What every ledger keeps, it gives back: by page, by time, by column, and summed."""

import json
import math
import pickle
import sqlite3
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hocket.errors import InvalidInput, StoreError
from hocket.language_models import ScriptedChatModel
from hocket.ledger import CallbackLedger, JSONLLedger, Ledger, LedgerEntry, PostgresLedger, SQLiteLedger, open_ledger

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def entry(number: int = 0, **more: object) -> LedgerEntry:
    facts = {"id": f"{number:04}", "at": NOON + timedelta(seconds=number), "model": "m", "provider": "p", **more}
    return LedgerEntry(**facts)  # type: ignore[arg-type]


def fill(ledger: Ledger, *entries: LedgerEntry) -> None:
    for one in entries:
        ledger.book(one)
    ledger.flush()


def test_what_is_kept_is_given_back(ledger: Ledger) -> None:
    """All columns; unknown stays unknown, and money exact."""
    whole = entry(
        run_id="r",
        parent_run_id="q",
        attempt=2,
        outcome="failed",
        error="RateLimitError",
        input_tokens=12,
        output_tokens=34,
        cache_read=1,
        cache_write=2,
        reasoning=3,
        served_tokens=4,
        cost=Decimal("0.000000037512345678901234"),
        price="1.25/10",
        estimated=True,
        seconds=1.5,
        first_token=0.25,
        request_id="req",
        metadata={"tenant": "acme ✓", "n": 3, "ok": True, "odd": 'q"uo\\te'},
    )
    fill(ledger, whole, entry(1))
    assert list(ledger.entries()) == [whole, entry(1)]


def test_the_end_of_an_attempt_replaces_its_beginning(ledger: Ledger) -> None:
    """And never the other way round, should the spool bring the beginning late."""
    fill(ledger, entry(outcome="open"))
    assert [one.outcome for one in ledger.entries()] == ["open"]
    fill(ledger, entry(outcome="ok"))
    fill(ledger, entry(outcome="open"), entry(outcome="failed"))
    assert [one.outcome for one in ledger.entries()] == ["ok"]


def test_many_entries_come_in_order_and_once(ledger: Ledger) -> None:
    """Over the pages in which they are read; several begin at the same time."""
    entries = [entry(number, at=NOON + timedelta(seconds=number // 7)) for number in range(2_500)]
    fill(ledger, *entries)
    assert [one.id for one in ledger.entries()] == [one.id for one in entries]


def test_entries_of_a_time_and_of_a_kind(ledger: Ledger) -> None:
    """``since`` is a time or a length of time; ``where`` is a column, or an entry of the metadata."""
    now = datetime.now(UTC)
    fill(ledger, entry(1), entry(2, model="n"), entry(3, at=now, metadata={"tenant": "acme"}))
    assert [one.id for one in ledger.entries(NOON + timedelta(seconds=2))] == ["0002", "0003"]
    assert [one.id for one in ledger.entries(timedelta(hours=1))] == ["0003"]
    assert [one.id for one in ledger.entries(model="n")] == ["0002"]
    assert [one.id for one in ledger.entries(tenant="acme", provider="p")] == ["0003"]
    with pytest.raises(InvalidInput, match="since is 7; it is a datetime, or a timedelta"):
        list(ledger.entries(7))  # type: ignore[arg-type]


def test_totals(ledger: Ledger) -> None:
    """Sums of groups, the dearest first; what has no price is counted, and not taken for free."""
    fill(
        ledger,
        entry(1, cost=Decimal("0.1"), input_tokens=1, cache_read=1, output_tokens=2),
        entry(2, cost=Decimal("0.2"), input_tokens=3, outcome="failed", estimated=True),
        entry(3, model="dear", cost=Decimal(5)),
        entry(4, model="new"),
        entry(5, outcome="cached", cost=Decimal(0), served_tokens=9),
        entry(6, outcome="open"),
    )
    dear, m, new = ledger.total(by=("model",))
    assert [one.group for one in (dear, m, new)] == [{"model": "dear"}, {"model": "m"}, {"model": "new"}]
    assert (m.calls, m.failed, m.cached, m.open, m.unpriced, m.estimated) == (4, 1, 1, 1, 1, 1)
    assert (m.input_tokens, m.output_tokens, m.served_tokens, m.cost) == (4, 2, 9, Decimal("0.3"))
    assert (m.cached_share, dear.cached_share) == (0.25, None)
    assert [one.cached_share for one in ledger.entries(model="m")][:3] == [1.0, 0.0, None]
    [total] = ledger.total()
    assert (total.calls, total.cost, total.unpriced) == (6, Decimal("5.3"), 2)
    assert ledger.total(model="nobody")[0].calls == 0


def test_a_new_ledger_is_empty(ledger: Ledger) -> None:
    """Nothing is made before something is booked."""
    assert list(ledger.entries()) == []
    assert ledger.total()[0].calls == 0


def test_texts_that_a_database_cannot_hold(ledger: Ledger) -> None:
    """A NUL, and half a character, in what a user gave."""
    fill(ledger, entry(metadata={"a": "x\0y", "b": "\udcff"}))
    [one] = ledger.entries()
    assert one.metadata == {"a": "xy", "b": "?"}
    assert ledger.errors == 0


def test_metadata_that_json_has_no_word_for(ledger: Ledger) -> None:
    """Is a text, inside of a list, too, and costs no other entry; what has no text gives way to the reason."""
    looped: list[object] = []
    looped.append(looped)
    odd = {"nan": math.nan, "inf": -math.inf, "long": 10**400, "list": ["x\0y", math.nan], "mine": {1: {2}}}
    for number in range(5):
        ledger.book(entry(number))
    ledger.book(entry(5, metadata=odd))
    ledger.book(entry(6, metadata={"looped": looped}))
    ledger.flush()
    *others, one, bare = ledger.entries()
    assert [other.id for other in others] == [f"{number:04}" for number in range(5)]
    texts = {"nan": "nan", "inf": "-inf", "long": str(10**400), "list": ["xy", "nan"], "mine": {"1": "{2}"}}
    assert one.metadata == texts
    assert bare.metadata == {"unwritable": "RecursionError"}
    assert ledger.errors == 0


@pytest.mark.parametrize("is_spooled", [False, True])
def test_an_entry_that_the_store_can_never_take_holds_up_no_other(
    ledger: Ledger, is_spooled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is set aside, where the log says, as a line that may be mended; neither it nor others stay in the spool."""
    if isinstance(ledger, JSONLLedger):
        pytest.skip("a file takes any number")
    entries = [entry(number, input_tokens=2**70 if number == 7 else 1) for number in range(20)]
    if is_spooled:
        ledger._spool.add(entries)
        fill(ledger, entry(99))
    else:
        fill(ledger, *entries, entry(99))
    assert [one.id for one in ledger.entries()] == [f"{number:04}" for number in (*range(7), *range(8, 20), 99)]
    path = Path(ledger.spool_path)
    assert path.stat().st_size == 0 if is_spooled else not path.exists()
    [line] = (tmp := path.with_name(path.name + ".refused")).read_text().splitlines()
    assert json.loads(line)["id"] == "0007"
    assert str(tmp) in caplog.text
    assert ledger.errors == (0 if is_spooled else 1)


def test_an_entry_that_is_none_is_refused_at_the_door(ledger: Ledger) -> None:
    """Where whoever made it can see it."""
    with pytest.raises(InvalidInput, match="is no entry of a ledger"):
        ledger.book(entry(1, at="noon"))


def test_a_ledger_travels_with_its_model(ledger: Ledger) -> None:
    """Into another process, where it writes to the same place."""
    model = ScriptedChatModel(script=["hi"], ledger=ledger)
    copy = pickle.loads(pickle.dumps(model))
    copy.invoke("hi")
    copy.ledger.flush()
    assert [one.outcome for one in ledger.entries()] == ["ok"]


def test_addresses(tmp_path: Path) -> None:
    """A path, or a URL; what is none is refused, and no password shown."""
    assert isinstance(open_ledger(tmp_path / "a.jsonl"), JSONLLedger)
    assert isinstance(open_ledger(tmp_path / "a.db"), SQLiteLedger)
    assert isinstance(open_ledger(f"sqlite:///{tmp_path}/a.db"), SQLiteLedger)
    remote = open_ledger("postgresql://u:canary-77@db.example/x")
    assert isinstance(remote, PostgresLedger)
    assert "canary-77" not in repr(remote) + repr(vars(remote))
    for address in ("redis://localhost", "https://example.com/x"):
        with pytest.raises(InvalidInput):
            open_ledger(address)


def test_no_arguments_of_a_ledger(tmp_path: Path) -> None:
    """Each says what is wrong."""
    with pytest.raises(InvalidInput, match=r"metadata is the text 'tenant'; it must be a list of names: \['tenant'\]"):
        SQLiteLedger(tmp_path / "a", metadata="tenant")
    with pytest.raises(InvalidInput, match="path is ':memory:'"):
        SQLiteLedger(":memory:")
    with pytest.raises(InvalidInput, match="path is empty"):
        JSONLLedger("")
    with pytest.raises(InvalidInput, match="give either the URL of a server"):
        PostgresLedger()
    with pytest.raises(InvalidInput, match="table is 'a b'"):
        PostgresLedger("postgresql://localhost/x", table="a b")
    with pytest.raises(InvalidInput, match="function is 3"):
        CallbackLedger(3)  # type: ignore[arg-type]


def test_damaged_lines_are_left_out(lines: JSONLLedger, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else's, or damaged: they stay, and the log says how many; what is whole is read."""
    fill(lines, entry(1))
    with open(lines.path, "ab") as file:
        file.write(
            b'{"id": "0002", "at": "2026-\n[1]\nnot JSON\n{"id": 1, "outcome": "odd"}\n' + b"[" * 100_000 + b"\n"
        )
    before = Path(lines.path).read_bytes()
    fill(lines, entry(3))
    assert [one.id for one in lines.entries()] == ["0001", "0003"]
    assert "5 lines cannot be read" in caplog.text
    assert Path(lines.path).read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("tail", "left"), [(b'{"id":"0002","at":"2026-', b""), (b"\0\0", b""), (b"a note", b"a note\n")]
)
def test_the_entry_behind_a_last_line_without_an_end_is_read(lines: JSONLLedger, tail: bytes, left: bytes) -> None:
    """A killed writer leaves half a line, which the next one does not go on with."""
    fill(lines, entry(1))
    whole = Path(lines.path).read_bytes()
    with open(lines.path, "ab") as file:
        file.write(tail)
    fill(lines, entry(3))
    assert [one.id for one in lines.entries()] == ["0001", "0003"]
    assert Path(lines.path).read_bytes().startswith(whole + left + b'{"id":"0003"')


def test_lines_have_the_columns_as_keys(lines: JSONLLedger) -> None:
    """So that other programs can read them; money is a text, since a float is not exact."""
    fill(lines, entry(1, cost=Decimal("0.10")))
    data = json.loads(Path(lines.path).read_text())
    assert (data["cost"], data["id"], data["input_tokens"]) == ("0.10", "0001", None)


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    """A file that is none of SQLite's stays as it is, and a directory is none."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be taken for one" * 20)
    for place in (path, tmp_path):
        with pytest.raises(StoreError, match=str(place)):
            list(SQLiteLedger(place).entries())
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize("how", ["directory", "notes", "newer"])
def test_a_file_that_is_no_ledger_stays_as_it_is(how: str, tmp_path: Path) -> None:
    """Whoever reads it is told the way out; what is booked is kept in the spool."""
    for cls, suffix in ((SQLiteLedger, "db"), (JSONLLedger, "jsonl")):
        path = tmp_path / f"usage.{suffix}"
        if how == "directory":
            path.mkdir()
        elif how == "notes" or cls is JSONLLedger:
            path.write_text("These are my notes, and no ledger.\n" * 100)
        else:
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE hocket_ledger (id TEXT, entry TEXT)")
            connection.close()
        before = None if how == "directory" else path.read_bytes()
        ledger = cls(path, spool=str(tmp_path / f"{suffix}.spool"))
        text = "directory" if how == "directory" else "give the path of another"
        with pytest.raises(StoreError, match=text):
            list(ledger.entries())
        fill(ledger, entry(1))
        assert ledger.errors == 1
        assert [one.id for one in JSONLLedger(ledger.spool_path).entries()] == ["0001"]
        assert how != "notes" or path.read_bytes() == before
