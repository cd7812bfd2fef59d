"""When something fails, a budget is closed: what cannot be counted is not sent.

=================  ==========================================================
store down         `BudgetStoreFailed`, and nothing is sent
slow store         the call waits for it, within its own deadline
killed holding     what was held is charged after the lease, flagged
cancelled waiter   what was held is given back
clock skew         the period is that of the store's clock, in ``timezone``
=================  ==========================================================
"""

import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import anyio.to_thread
import pytest

import hocket.budgets.postgres  # before there is a loop to hold up
import hocket.budgets.redis  # noqa: F401
from hocket.budgets import Budget
from hocket.errors import BudgetStoreFailed, StoreError, TotalTimeout
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import UsageMetadata
from hocket.prices import Price, set_prices
from hocket.testing import virtual_clock
from tests.kit import warm
from tests.kit.relay import Relay, relay_to
from tests.kit.stores import REDIS, need_server, postgres_schema, redis_names

pytestmark = pytest.mark.anyio

MODEL = "scripted-chat-model"
USAGE: UsageMetadata = {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}
COST = Decimal("0.00005")
ZONES = {name: ZoneInfo(name) for name in ("UTC", "Pacific/Kiritimati")}  # read before there is a loop to hold up


@pytest.fixture(autouse=True)
def priced() -> Iterator[None]:
    set_prices({MODEL: Price(1, 2)})
    yield
    set_prices({MODEL: None})


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres_schema() as url:
        yield url


@pytest.fixture
def name() -> Iterator[str]:
    """A budget's name of one's own."""
    with redis_names("hocket:budget:{") as (_, name):
        yield name


@pytest.fixture(params=["redis", "postgres"])
def relayed(request: pytest.FixtureRequest) -> Iterator[tuple[Relay, str]]:
    """A server behind a relay, and its URL there."""
    if request.param == "redis":
        need_server("Redis", 6379)
        with relay_to(6379) as relay:
            yield relay, REDIS.replace("6379", str(relay.port))
    else:
        url = request.getfixturevalue("postgres_url")
        with relay_to(5432) as relay:
            yield relay, url.replace("5432", str(relay.port))


def scripted(budget: Budget, *turns: Any, **options: Any) -> ScriptedChatModel:
    profile: Any = {"max_output_tokens": 20}
    script = turns or [Turn(text="yes", usage=USAGE)] * 10
    return ScriptedChatModel(script=list(script), profile=profile, budget=budget, **options)


async def assert_nothing_is_held(store: str, name: str) -> None:
    """Ask the store itself, without a relay; on a busy machine what is given back may be on its way yet."""
    budget = Budget("1", store=store, name=name)
    ends_at = time.monotonic() + 30
    while (state := await budget.astate()).reserved_usd:
        assert time.monotonic() < ends_at, "something stays held"
        await anyio.sleep(0.05)
    assert state.spent_usd == 0


DEAD = {
    "redis": "redis://127.0.0.1:1/0",
    "postgres": "postgresql://nobody@127.0.0.1:1/nothing",
    "sqlite": "sqlite:////no/such/directory/budgets.db",
}


@pytest.mark.parametrize("store", DEAD)
class TestStoreDown:
    """Closed."""

    async def test_nothing_is_sent(self, store: str) -> None:
        model = scripted(Budget("1", store=DEAD[store]))
        for _ in range(5):
            with pytest.raises(BudgetStoreFailed, match="so nothing is sent") as caught:
                await model.ainvoke("hi")
            assert isinstance(caught.value.__cause__, StoreError)
        assert model.requests == []

    def test_nothing_is_sent_by_sync_code(self, store: str) -> None:
        model = scripted(Budget("1", store=DEAD[store]))
        with pytest.raises(BudgetStoreFailed):
            model.invoke("hi")
        assert model.requests == []

    async def test_it_is_left_alone_for_a_while(self, store: str) -> None:
        """After three failures a call does not wait for it."""
        budget = Budget("1", store=DEAD[store])
        with virtual_clock(autojump=False) as clock:
            for _ in range(3):
                with pytest.raises(BudgetStoreFailed):
                    await budget.areserve("0.1")
            with pytest.raises(BudgetStoreFailed, match="it is left alone for"):
                await budget.areserve("0.1")
            clock.advance(6)
            with pytest.raises(BudgetStoreFailed) as caught:
                await budget.areserve("0.1")
            assert "left alone" not in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("directory", "it is a directory: give the path of a file"),
        ("foreign", "it is none of SQLite's: give the path of another file"),
        ("newer", "its tables are those of another version of hocket"),
    ],
)
def test_a_file_that_is_no_store_of_ours(damage: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "budgets.db"
    if damage == "directory":
        path.mkdir()
    elif damage == "foreign":
        path.write_text("These are my notes, and no database. " * 100)
    else:
        import sqlite3

        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE hocket_budget (everything_is_different TEXT)")
        connection.close()
    model = scripted(Budget("1", store=f"sqlite:///{path}"))
    with pytest.raises(BudgetStoreFailed, match=text):
        model.invoke("hi")
    assert model.requests == []


async def test_a_store_that_comes_back_is_asked_again(tmp_path: Path) -> None:
    directory = tmp_path / "later"
    model = scripted(Budget("1", store=f"sqlite:///{directory}/budgets.db"))
    with virtual_clock(autojump=False) as clock:
        for _ in range(3):
            with pytest.raises(BudgetStoreFailed):
                await model.ainvoke("hi")
        await anyio.Path(directory).mkdir()
        clock.advance(6)
        assert (await model.ainvoke("hi")).text == "yes"


async def test_one_that_goes_away_during_a_call_costs_no_answer(
    relayed: tuple[Relay, str], name: str, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What was held is charged after the lease, since nobody could book what it came to."""
    relay, url = relayed
    direct = REDIS if url.startswith("redis") else postgres_url
    budget = Budget("1", store=url, name=name, lease=0.5)

    class CutRelay(ScriptedChatModel):
        async def _astream(self, *args: Any, **options: Any) -> Any:
            await anyio.to_thread.run_sync(relay.cut)
            async for chunk in super()._astream(*args, **options):
                yield chunk

    profile: Any = {"max_output_tokens": 20}
    model = CutRelay(script=[Turn(text="yes", usage=USAGE)], profile=profile, budget=budget)
    set_prices({model._llm_type: Price(1, 2)})  # taken back at the end of the file, as all prices are
    assert (await model.ainvoke("hi")).text == "yes"
    assert "could not be settled" in caplog.text
    state = await wait_for_orphan(Budget("1", store=direct, name=name))
    assert state.orphaned_usd == state.spent_usd >= COST - Decimal("0.00001")


async def test_what_a_store_did_not_take_is_booked_when_it_is_back(
    relayed: tuple[Relay, str], name: str, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """By the next call of the process, which waits for no lease; the log says so, in words for who reads it."""
    relay, url = relayed
    direct = Budget("1", store=REDIS if url.startswith("redis") else postgres_url, name=name)
    budget = Budget("1", store=url, name=name)

    class LosingModel(ScriptedChatModel):
        async def _astream(self, *args: Any, **options: Any) -> Any:
            await anyio.to_thread.run_sync(relay.go_away)
            async for chunk in super()._astream(*args, **options):
                yield chunk

    profile: Any = {"max_output_tokens": 20}
    model = LosingModel(script=[Turn(text="yes", usage=USAGE)], profile=profile, budget=budget)
    set_prices({model._llm_type: Price(1, 2)})  # taken back at the end of the file, as all prices are
    assert (await model.ainvoke("hi")).text == "yes"
    assert (
        "tried again with the next call" in caplog.text
        and "_Held" not in caplog.text
        and "so nothing is sent" not in caplog.text
    )
    state = await direct.astate()
    assert state.spent_usd == 0 < state.reserved_usd
    relay.is_away = False
    await budget.astate()
    state = await direct.astate()
    assert (state.spent_usd, state.reserved_usd, state.orphaned_usd) == (COST, 0, 0)


async def wait_for_orphan(budget: Budget) -> Any:
    ends_at = time.monotonic() + 30
    while not (state := await budget.astate()).orphaned_usd:
        assert time.monotonic() < ends_at, "it was never charged"
        await anyio.sleep(0.05)
    return state


class TestSlowStore:
    """A call waits for it: it cannot go without. But not for longer than it has."""

    async def test_a_call_waits(self, relayed: tuple[Relay, str], name: str) -> None:
        relay, url = relayed
        budget = Budget("1", store=url, name=name)
        await budget.astate()
        relay.answers.clear()
        threading.Timer(0.5, relay.answers.set).start()
        model = scripted(budget)
        assert (await model.ainvoke("hi")).text == "yes"

    async def test_within_its_deadline(self, relayed: tuple[Relay, str], name: str, postgres_url: str) -> None:
        relay, url = relayed
        budget = Budget("1", store=url, name=name)
        await budget.astate()
        relay.answers.clear()
        threading.Timer(3, relay.answers.set).start()  # long after
        model = scripted(budget, timeout=0.3)
        with pytest.raises(TotalTimeout):
            await model.ainvoke("hi")
        assert model.requests == []
        await assert_nothing_is_held(REDIS if url.startswith("redis") else postgres_url, name)


KILLED = """
import os, signal, sys
import hocket.budgets.postgres  # before there is a loop to hold up
import hocket.budgets.redis  # noqa: F401
from hocket.budgets import Budget
Budget("1", store=sys.argv[1], name=sys.argv[2], lease=float(sys.argv[3])).reserve("0.4")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("store", ["sqlite", "redis", "postgres"])
async def test_killed_holding(store: str, name: str, postgres_url: str, tmp_path: Path) -> None:
    """Charged after its lease, and not before."""
    stores = {"sqlite": f"sqlite:///{tmp_path}/budgets.db", "redis": REDIS, "postgres": postgres_url}
    for lease in (600.0, 0.2):
        arguments = ("-c", KILLED, stores[store], name, str(lease))
        done = await anyio.to_thread.run_sync(lambda arguments=arguments: warm.run(*arguments, timeout=50))
        assert done.returncode == -signal.SIGKILL
    state = await wait_for_orphan(Budget("1", store=stores[store], name=name))
    assert (state.spent_usd, state.orphaned_usd, state.reserved_usd) == (Decimal("0.4"),) * 3


class TestCancelledWaiter:
    """What it may hold is given back, wherever it was struck."""

    async def test_while_it_reserves(self, relayed: tuple[Relay, str], name: str, postgres_url: str) -> None:
        relay, url = relayed
        budget = Budget("1", store=url, name=name)
        await budget.astate()
        relay.answers.clear()
        relay.asked.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(budget.areserve, "0.4")
            await anyio.to_thread.run_sync(relay.asked.wait, 30)
            threading.Timer(0.2, relay.answers.set).start()
            group.cancel_scope.cancel()
        await assert_nothing_is_held(REDIS if url.startswith("redis") else postgres_url, name)

    @pytest.mark.parametrize("store", ["memory", "sqlite", "redis", "postgres"])
    async def test_anywhere(self, store: str, name: str, postgres_url: str, tmp_path: Path) -> None:
        """Many calls, each cancelled some time after it began: all that is left is what they were billed."""
        stores = {"memory": None, "sqlite": f"sqlite:///{tmp_path}/b.db", "redis": REDIS, "postgres": postgres_url}
        budget = Budget("1", store=stores[store], name=name)

        async def ask(turns: int) -> None:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:

                    async def cancel() -> None:
                        for _ in range(turns):
                            await anyio.lowlevel.checkpoint()
                        scope.cancel()

                    group.start_soon(cancel)
                    await scripted(budget, Turn(text="yes", delay=0.001, usage=USAGE)).ainvoke("hi")
                    group.cancel_scope.cancel()

        for turns in range(40):
            await ask(turns)
        state = await budget.astate()
        assert state.reserved_usd == state.orphaned_usd == 0
        assert 0 <= state.spent_usd <= 40 * COST


class TestClockSkew:
    """The time is the store's, in the budget's time zone."""

    @pytest.mark.parametrize("store", ["redis", "postgres"])
    @pytest.mark.parametrize("zone", ZONES)
    async def test_a_machine_that_lives_in_another_year(
        self, store: str, zone: str, name: str, postgres_url: str
    ) -> None:
        address = REDIS if store == "redis" else postgres_url
        with virtual_clock():  # it is the first of January 2026 here
            skewed = Budget("1", per="day", store=address, name=name, timezone=zone)
            await (await skewed.areserve("0.4")).asettle("0.4")
            state = await skewed.astate()
        assert state.resets_at is not None
        assert timedelta(0) < state.resets_at - datetime.now(UTC) <= timedelta(days=1)
        right = Budget("1", per="day", store=address, name=name, timezone=zone)
        assert (await right.astate()).spent_usd in (Decimal("0.4"), 0)  # 0: midnight has just been

    async def test_leases_are_of_the_stores_clock_too(self, name: str) -> None:
        need_server("Redis", 6379)
        with virtual_clock():
            budget = Budget("1", store=REDIS, name=name)
            await budget.areserve("0.4")
        state = await Budget("1", store=REDIS, name=name).astate()
        assert (state.reserved_usd, state.orphaned_usd) == (Decimal("0.4"), 0)
