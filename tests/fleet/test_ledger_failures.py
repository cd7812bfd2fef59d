"""When something fails, answers go on, and no entry is lost for it.

=================  ==========================================================
store down         entries are kept in a file, counted, and written later
slow store         no call waits; what comes beyond the queue goes to the file
killed holding     the attempt stays in the ledger as "open"
cancelled          booked as cancelled; one that was never made has no entry
clock skew         an entry has this machine's time; PostgreSQL adds its own
=================  ==========================================================

What a killed process leaves, and a queue that is full, are in tests/ledger/test_writer.py.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from anyio import to_thread

from hocket.errors import InvalidInput
from hocket.language_models import ScriptedChatModel, Turn
from hocket.ledger import JSONLLedger, Ledger, PostgresLedger, SQLiteLedger
from hocket.rate_limiters import RateLimiter
from tests.kit import cancel_when
from tests.kit.relay import relay_to
from tests.kit.stores import postgres_schema

pytestmark = pytest.mark.anyio

DEAD = {
    "postgres": "postgresql://nobody@127.0.0.1:1/nothing",
    "sqlite": "/no/such/directory/usage.db",
    "jsonl": "/no/such/directory/usage.jsonl",
}


def open_dead(kind: str, spool: Path) -> Ledger:
    if kind == "postgres":
        return PostgresLedger(DEAD[kind], spool=str(spool))
    return (SQLiteLedger if kind == "sqlite" else JSONLLedger)(DEAD[kind], spool=str(spool))


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres_schema() as url:
        yield url


@pytest.fixture
def table() -> str:
    return f"ledger_{uuid4().hex}"


@pytest.mark.parametrize("kind", DEAD)
async def test_a_store_that_is_down_costs_no_answer(kind: str, tmp_path: Path) -> None:
    """The entries are in a file on this machine, which a ledger of lines can read."""
    spool = tmp_path / "spool.jsonl"
    ledger = open_dead(kind, spool)
    model = ScriptedChatModel(script=["a", "b", "c", "d"], ledger=ledger)
    assert [(await model.ainvoke("hi")).text for _ in range(4)] == ["a", "b", "c", "d"]
    await ledger.aflush()
    assert ledger.errors == 4
    entries = await to_thread.run_sync(lambda: list(JSONLLedger(spool).entries()))
    assert [entry.outcome for entry in entries] == ["ok"] * 4


async def test_a_store_that_is_back_gets_what_was_kept(postgres_url: str, table: str, tmp_path: Path) -> None:
    """Once: the ids say what it has."""
    spool = str(tmp_path / "spool.jsonl")
    with relay_to(5432) as relay:
        away = PostgresLedger(postgres_url.replace("5432", str(relay.port)), table=table, spool=spool)
        model = ScriptedChatModel(script=["a"] * 3, ledger=away)
        await model.ainvoke("hi")
        await away.aflush()
        await to_thread.run_sync(relay.cut)
        await model.ainvoke("hi")
        await away.aflush()
    assert away.errors == 1
    back = PostgresLedger(postgres_url, table=table, spool=spool)
    await ScriptedChatModel(script=["b"], ledger=back).ainvoke("hi")
    await back.aflush()
    entries = await to_thread.run_sync(lambda: list(back.entries()))
    assert len({entry.id for entry in entries}) == len(entries) == 3


async def test_a_slow_store_keeps_no_call_waiting(postgres_url: str, table: str, tmp_path: Path) -> None:
    """All calls have ended before the first entry is written."""
    with relay_to(5432) as relay:
        relay.answers.clear()
        url = postgres_url.replace("5432", str(relay.port))
        ledger = PostgresLedger(url, table=table, spool=str(tmp_path / "spool.jsonl"))
        model = ScriptedChatModel(script=["a"] * 20, ledger=ledger)
        await model.abatch(["hi"] * 20)
        assert await to_thread.run_sync(lambda: list(PostgresLedger(postgres_url, table=table).entries())) == []
        relay.answers.set()
        await ledger.aflush()
    entries = await to_thread.run_sync(lambda: list(PostgresLedger(postgres_url, table=table).entries()))
    assert len(entries) == 20


async def test_a_cancelled_call_is_booked_as_one(tmp_path: Path) -> None:
    """With what its prompt must have used; one that waited for its turn, and was never sent, is not booked."""
    ledger = JSONLLedger(tmp_path / "usage.jsonl")
    model = ScriptedChatModel(script=[Turn(text="late", delay=600)], ledger=ledger)
    assert await cancel_when(lambda: model.requests, model.ainvoke, "hi")
    limiter = RateLimiter(1, adaptive=False)
    limited = ScriptedChatModel(script=["a", "b"], ledger=ledger, rate_limiter=limiter)
    await limited.ainvoke("hi")
    with anyio.move_on_after(0.05):
        await limited.ainvoke("hi")
    with pytest.raises(InvalidInput):
        await limited.ainvoke("hi", stop="no list")
    await ledger.aflush()
    entries = await to_thread.run_sync(lambda: list(ledger.entries()))
    assert [(entry.outcome, entry.estimated) for entry in entries] == [("cancelled", True), ("ok", False)]


async def test_entries_have_both_times(postgres_url: str, table: str) -> None:
    """That of the machine which asked, and in PostgreSQL the server's."""
    import psycopg

    before = datetime.now(UTC)
    ledger = PostgresLedger(postgres_url, table=table)
    await ScriptedChatModel(script=["a"], ledger=ledger).ainvoke("hi")
    await ledger.aflush()

    def read_times() -> tuple[datetime, datetime]:
        with psycopg.connect(postgres_url) as connection:
            row = connection.execute(f"SELECT at, stored_at FROM {table}".encode()).fetchone()
            assert row is not None
            return row[0], row[1]

    at, stored_at = await to_thread.run_sync(read_times)
    assert before <= at
    assert stored_at.tzinfo is not None
