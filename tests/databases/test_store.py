"""What every store promises to the features that use it: logs, values and leases, any number of them in one trip."""

import contextlib
import math
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest

from hocket._databases.opening import open_state_store
from hocket._databases.store import (
    AppendRows,
    ClaimLease,
    GetOwner,
    GetValue,
    Lease,
    MemoryStateStore,
    Operation,
    PutValue,
    ReadRows,
    ReleaseLease,
    RenewLease,
    StateStore,
)
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC, BLOCKING, drive
from hocket.budgets.opening import open_accounts
from hocket.errors import InvalidInput, StoreError
from hocket.rate_limiters.opening import open_store
from hocket.testing import VirtualClock
from tests.kit.stores import postgres_schema, redis_names

pytestmark = pytest.mark.both_loops


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres_schema() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    if request.param == "redis":
        with redis_names("hocket:") as (url, _):
            yield open_state_store(url, "a test")
    elif request.param == "postgres":
        yield open_state_store(request.getfixturevalue("postgres_url"), "a test")
    else:
        yield open_state_store(None if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}", "a test")


@pytest.fixture
def name() -> str:
    return f"test-{uuid4().hex}"


async def do(store: StateStore, *operations: Operation) -> None:
    await store.do(ASYNC, operations)


async def read(store: StateStore, log: str, after: int = 0, most: int = 100) -> list[bytes]:
    found = ReadRows(log, after, most)
    await do(store, found)
    return [*found.rows]


async def test_rows_are_read_in_their_order_from_any_place(store: StateStore, name: str) -> None:
    rows = [b"%d" % number for number in range(2_500)]
    await do(store, AppendRows(name, rows[:3], 60), AppendRows(name, rows[3:], 60))
    assert await read(store, name, most=9_999) == rows
    assert await read(store, name, 2_498) == rows[2_498:]
    assert await read(store, name, 10, 3) == rows[10:13]
    assert await read(store, name, 9_999) == []
    assert await read(store, f"{name}-other") == []


async def test_bytes_come_back_as_they_are(store: StateStore, name: str) -> None:
    odd = [bytes(range(256)), b"", "zß水🎉".encode(), b"\0" * 100_000]
    await do(store, AppendRows(name, odd, 60), PutValue(name, odd[0], 60))
    value = GetValue(name)
    await do(store, value)
    assert (await read(store, name), value.value) == (odd, odd[0])


async def test_an_append_can_be_asked_for_again(store: StateStore, name: str) -> None:
    """Whose answer was lost knows how many rows there were before."""
    for _ in range(2):
        await do(store, AppendRows(name, [b"a", b"b"], 60, at=0))
    await do(store, AppendRows(name, [b"b", b"c"], 60, at=1))
    assert await read(store, name) == [b"a", b"b", b"c"]


async def test_rows_behind_a_gap_are_not_stored(store: StateStore, name: str) -> None:
    """Where a store has lost a log, its writer is told, and nothing is made up in its place."""
    late = AppendRows(name, [b"d"], 60, at=3)
    await do(store, AppendRows(f"{name}-other", [b"a", b"b", b"c"], 60), late)
    assert not late.is_done and await read(store, name) == []
    await do(store, AppendRows(name, [b"a", b"b"], 60), late)
    assert not late.is_done and await read(store, name) == [b"a", b"b"]


async def test_a_lease_has_one_owner(store: StateStore, name: str) -> None:
    mine, theirs = Lease(name, "me"), Lease(name, "they")
    first, again, other, owner = ClaimLease(mine, 60), ClaimLease(mine, 60), ClaimLease(theirs, 60), GetOwner(name)
    await do(store, first, again, other, owner)
    assert (first.is_done, again.is_done, other.is_done, owner.owner) == (True, True, False, "me")
    renewed, not_theirs = RenewLease(mine, 60), RenewLease(theirs, 60)
    await do(store, renewed, not_theirs, ReleaseLease(theirs), owner)
    assert (renewed.is_done, not_theirs.is_done, owner.owner) == (True, False, "me")
    await do(store, ReleaseLease(mine), owner, other, renewed)
    assert (owner.owner, other.is_done, renewed.is_done) == (None, True, False)


async def test_a_lease_that_is_over_is_free_and_not_renewed(store: StateStore, name: str) -> None:
    mine, theirs = Lease(name, "me"), Lease(name, "they")
    await do(store, ClaimLease(mine, 0.05))
    owner = GetOwner(name)
    await do(store, owner)
    while owner.owner is not None:
        await anyio.sleep(0.02)
        await do(store, owner)
    renewed, late = RenewLease(mine, 60), AppendRows(name, [b"late"], 60, lease=mine)
    await do(store, renewed, late)
    assert not renewed.is_done and not late.is_done
    taken, late_put = ClaimLease(theirs, 60), PutValue(name, b"late", 60, mine)
    await do(store, taken, late, late_put)
    assert (taken.is_done, late.is_done, late_put.is_done) == (True, False, False)
    assert await read(store, name) == []


async def test_what_needs_a_lease_is_done_by_its_owner_alone(store: StateStore, name: str) -> None:
    mine, theirs = Lease(name, "me"), Lease(name, "they")
    added, put = AppendRows(name, [b"mine"], 60, lease=mine), PutValue(name, b"mine", 60, mine)
    refused, not_put = AppendRows(name, [b"theirs"], 60, lease=theirs), PutValue(name, b"theirs", 60, theirs)
    value = GetValue(name)
    await do(store, ClaimLease(mine, 60), added, refused, put, not_put, value)
    assert (added.is_done, put.is_done, refused.is_done, not_put.is_done) == (True, True, False, False)
    assert (await read(store, name), value.value) == ([b"mine"], b"mine")


async def test_values_go_in_their_time(store: StateStore, name: str) -> None:
    value = GetValue(name)
    await do(store, PutValue(name, b"old", 60), PutValue(name, b"new", 0.05), value)
    assert value.value == b"new"
    while value.value is not None:
        await anyio.sleep(0.02)
        await do(store, value)


async def test_many_writers_at_once_lose_no_row(store: StateStore, name: str) -> None:
    async def write(writer: int) -> None:
        for number in range(20):
            await do(store, AppendRows(name, [b"%d %d" % (writer, number), b"%d and" % writer], 60))

    async with anyio.create_task_group() as writing:
        for writer in range(5):
            writing.start_soon(write, writer)
    found = await read(store, name, most=999)
    assert len(found) == 200
    for writer in range(5):
        own = [row for row in found if row.startswith(b"%d " % writer)]
        assert own == [row for number in range(20) for row in (b"%d %d" % (writer, number), b"%d and" % writer)]


def test_from_sync_code_in_threads(store: StateStore, name: str) -> None:
    """As a sync verb would use it; of those who claim at once one gets the lease."""
    claims = [ClaimLease(Lease(name, f"owner {number}"), 60) for number in range(8)]
    threads = [threading.Thread(target=lambda one=one: drive(store.do(BLOCKING, [one]))) for one in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(claim.is_done for claim in claims) == 1


async def test_memory_forgets_what_has_outlived_its_time(virtual_clock: object, name: str) -> None:
    store = MemoryStateStore()
    await do(store, AppendRows(name, [b"row"], 60), PutValue(name, b"value", 60), ClaimLease(Lease(name, "me"), 60))
    await clock.current().sleep(200)
    await do(store, ReadRows(name))
    assert await read(store, name) == []


@pytest.mark.parametrize("address", ["answers.db", "/srv/a@b/answers.db", "./a@b.db", "mysql://localhost/db"])
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match=f"'{address}' is no address of live answers"):
        open_state_store(address, "live answers")


@pytest.mark.parametrize("address", ["rediss:/me:geheimnis@host", "me:geheimnis@host/db", 7])
@pytest.mark.parametrize("what", ["live answers", "a limit", "a store of budgets"])
def test_a_mistyped_address_does_not_show_its_password(what: str, address: Any) -> None:
    with pytest.raises(InvalidInput, match=f"address of {what}") as caught:
        if what == "a limit":
            open_store(address, "name")
        elif what == "live answers":
            open_state_store(address, what)
        else:
            open_accounts(address)
    assert "geheimnis" not in str(caught.value)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_all_that_has_outlived_its_time_goes(kind: str, tmp_path: Path) -> None:
    """However much it is: some in each trip."""
    with contextlib.ExitStack() as stack:
        file = tmp_path / "store.db"
        url = f"sqlite:///{file}" if kind == "sqlite" else stack.enter_context(postgres_schema())
        await leave_much(url)
        connection = sqlite3.connect(file) if kind == "sqlite" else psycopg.connect(url)
        stack.enter_context(contextlib.closing(connection))
        for table, count in (("hocket_log", 1), ("hocket_log_row", 1), ("hocket_value", 0), ("hocket_lease", 0)):
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            assert len(rows) == count, table


async def leave_much(url: str) -> None:
    """Store what has soon outlived its time, and make some trips then."""
    store = open_state_store(url, "a test")
    for number in range(130):
        await do(store, AppendRows(f"log {number}", [b"a", b"b"], 0.01))
    await do(store, AppendRows("kept", [b"a"], 60), PutValue("old", b"", 0.01), ClaimLease(Lease("old", "me"), 0.01))
    await anyio.sleep(0.02)
    store = open_state_store(url, "a test")  # the first trip looks, and others a minute later
    for _ in range(8):
        await do(store, ReleaseLease(Lease("other", "me")))


async def test_two_who_purge_at_once_do_not_hold_each_other_up(postgres_url: str) -> None:
    """Nor leaves one the rows of a log of which the other deletes the name."""
    stores = [open_state_store(postgres_url, "a test") for _ in range(4)]
    for number in range(200):
        await do(stores[0], AppendRows(f"log {number}", [b"a"], 0.01), ClaimLease(Lease(f"{number}", "me"), 0.01))
    await anyio.sleep(0.02)

    async def purge(store: StateStore, mine: int) -> None:
        for number in range(20):
            store._purged_at = -math.inf  # type: ignore[attr-defined]
            await do(store, ClaimLease(Lease(f"{(number * 7 + mine) % 20}", f"owner {mine}"), 0.01))

    async with anyio.create_task_group() as purging:
        for mine, store in enumerate(stores):
            purging.start_soon(purge, store, mine)
    with psycopg.connect(postgres_url) as connection:
        left = "SELECT log FROM hocket_log_row EXCEPT SELECT log FROM hocket_log"
        assert connection.execute(left).fetchall() == []


class JumpingClock(VirtualClock):
    """Whose date is set while it runs."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


async def test_in_memory_the_date_of_the_machine_ends_no_lease() -> None:
    store, jumping = MemoryStateStore(), JumpingClock()
    before = clock.use(jumping)
    try:
        await do(store, ClaimLease(Lease("key", "me"), 10), PutValue("key", b"value", 10))
        for jumping.ahead in (-86_400, 86_400):
            renewed, value = RenewLease(Lease("key", "me"), 10), GetValue("key")
            await do(store, renewed, value)
            assert renewed.is_done and value.value == b"value"
    finally:
        clock.use(before)


async def test_tables_that_are_dropped_are_made_again(tmp_path: Path, name: str) -> None:
    """In SQLite the trip that finds it out fails, and the next one does not."""
    store = open_state_store(f"sqlite:///{tmp_path / 'store.db'}", "a test")
    await do(store, AppendRows(name, [b"a"], 60))
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute("DROP TABLE hocket_log_row")
    with pytest.raises(StoreError, match="no such table"):
        await read(store, name)
    await do(store, AppendRows(name, [b"b"], 60))
    assert await read(store, name) == [b"b"]
