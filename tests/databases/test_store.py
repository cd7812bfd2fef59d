"""What every store promises to the features that use it: logs, values and leases, any number of them in one trip."""

import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import anyio
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
from hocket._runtime.mode import ASYNC, BLOCKING, drive
from hocket.errors import InvalidInput
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
    from hocket._runtime import clock

    store = MemoryStateStore()
    await do(store, AppendRows(name, [b"row"], 60), PutValue(name, b"value", 60), ClaimLease(Lease(name, "me"), 60))
    await clock.current().sleep(200)
    await do(store, ReadRows(name))
    assert await read(store, name) == []


@pytest.mark.parametrize("address", ["answers.db", "mysql://localhost/db"])
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="is no address of live answers"):
        open_state_store(address, "live answers")
