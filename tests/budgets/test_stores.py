"""Every store keeps a budget's accounts alike: what is spent and held stays within the limit, and counts once."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import anyio
import psycopg
import pytest

from hocket._runtime.mode import ASYNC
from hocket.budgets import Budget, BudgetReservation, BudgetState
from hocket.budgets.opening import LaterAccounts
from hocket.budgets.sqlite import SQLiteAccounts
from hocket.errors import BudgetExceeded, HocketWarning, InvalidInput
from hocket.testing import virtual_clock
from tests.budgets.conftest import Place
from tests.kit.stores import postgres_schema

pytestmark = pytest.mark.anyio

LEASE = 0.05


def figures(state: BudgetState) -> tuple[Decimal, Decimal, Decimal]:
    return state.spent_usd, state.reserved_usd, state.orphaned_usd


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what the store's clock brings."""
    ends_at = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < ends_at, "it never came"
        time.sleep(0.02)


def wait_for_orphans(budget: Budget) -> BudgetState:
    wait_until(lambda: budget.state().orphaned_usd > 0 or budget.state().orphaned_tokens > 0)
    return budget.state()


def test_what_is_held_and_spent_stays_within_the_limit(place: Place) -> None:
    budget = place.open("1")
    first, second = budget.reserve("0.4"), budget.reserve("0.4")
    with pytest.raises(BudgetExceeded) as caught:
        budget.reserve("0.3")
    assert (caught.value.limit, caught.value.spent, caught.value.reserved, caught.value.wanted) == (
        1,
        0,
        Decimal("0.8"),
        Decimal("0.3"),
    )
    assert first.settle("0.1")
    assert figures(budget.state()) == (Decimal("0.1"), Decimal("0.4"), 0)
    assert second.refund()
    assert figures(budget.state()) == (Decimal("0.1"), 0, 0)
    assert budget.reserve("0.9").settle("0.9")
    with pytest.raises(BudgetExceeded):
        budget.reserve("0.00000001")
    budget.reserve(0).refund()


def test_both_limits_hold(place: Place) -> None:
    budget = place.open("1", tokens=1000)
    budget.reserve("0.5", 900).settle("0.5", 800)
    with pytest.raises(BudgetExceeded, match="1000 tokens, of which 800 are spent") as caught:
        budget.reserve("0.1", 201)
    assert (caught.value.limit, caught.value.wanted) == (1000, 201)
    with pytest.raises(BudgetExceeded, match=r"1 USD, of which 0\.5 are spent and 0 reserved"):
        budget.reserve("0.6", 1)
    assert budget.state().limit_tokens == 1000


def test_a_reservation_is_settled_once(place: Place) -> None:
    budget = place.open("1")
    held = budget.reserve("0.5")
    assert [held.settle("0.2"), held.settle("0.4"), held.refund()] == [True, False, False]
    assert figures(budget.state()) == (Decimal("0.2"), 0, 0)


def test_what_cost_more_than_its_bound_is_booked_all_the_same(place: Place) -> None:
    """A bound may be too low, where a provider counts otherwise: then the budget ends early."""
    budget = place.open("1")
    budget.reserve("0.1").settle("1.5")
    assert figures(budget.state()) == (Decimal("1.5"), 0, 0)
    with pytest.raises(BudgetExceeded):
        budget.reserve(0)


def test_a_dead_owners_reservation_is_charged_after_its_lease_and_flagged(place: Place) -> None:
    budget = place.open("1", tokens=100, lease=LEASE)
    budget.reserve("0.3", 30)
    state = wait_for_orphans(budget)
    assert figures(state) == (Decimal("0.3"), 0, Decimal("0.3"))
    assert (state.spent_tokens, state.reserved_tokens, state.orphaned_tokens) == (30, 0, 30)
    with pytest.raises(BudgetExceeded):
        budget.reserve("0.8")


def test_one_that_settles_after_its_lease_was_no_dead_one(place: Place) -> None:
    """What it came to replaces what it was charged."""
    budget = place.open("1", tokens=100, lease=LEASE)
    late = budget.reserve("0.3", 30)
    wait_for_orphans(budget)
    assert late.settle("0.1", 5)
    assert figures(budget.state()) == (Decimal("0.1"), 0, 0)
    assert budget.state().spent_tokens == 5
    assert not late.settle("0.1", 5)


def test_each_value_has_an_account_of_its_own(place: Place) -> None:
    budget = place.open("1", by="tenant")
    budget.reserve("0.9", key="ada").settle("0.9")
    with pytest.raises(BudgetExceeded, match=r"\(tenant 'ada'\) is 1 USD"):
        budget.reserve("0.2", key="ada")
    budget.reserve("0.9", key="grace: 1/2 {x} é")
    assert budget.state(key="ada").spent_usd == Decimal("0.9")
    assert budget.state(key="grace: 1/2 {x} é").reserved_usd == Decimal("0.9")
    assert budget.state(key="nobody").spent_usd == 0
    with pytest.raises(InvalidInput, match="divided by 'tenant'"):
        budget.reserve("0.1")
    with pytest.raises(InvalidInput, match="tenant is ''"):
        budget.reserve("0.1", key="")


def test_a_budget_begins_anew(place: Place) -> None:
    """With each period, by the store's clock; what was held before is booked where it was held."""
    budget = place.open("1", per=1)
    held: list[BudgetReservation] = []

    def hold() -> bool:
        try:
            held.append(budget.reserve("0.6"))
        except BudgetExceeded:
            return False
        return len(held) > 2

    wait_until(hold)
    assert held[0].settle("0.6")
    assert budget.state().spent_usd in (0, Decimal("0.6"))
    assert budget.state().resets_at is not None


def test_days_end_at_midnight_in_their_time_zone() -> None:
    with virtual_clock() as clock:  # the first of January, 0:00 UTC
        budget = Budget("1", per="day", timezone="Europe/Berlin")
        budget.reserve("1").settle("1")
        assert budget.state().resets_at == datetime(2026, 1, 1, 23, tzinfo=UTC)
        clock.advance(23 * 3600 - 1)
        with pytest.raises(BudgetExceeded, match="it begins again at 2026-01-01 23:00:00 UTC"):
            budget.reserve("1")
        clock.advance(1)
        budget.reserve("1")
        assert budget.state().spent_usd == 0


def test_months_end_with_their_last_day(tmp_path: object) -> None:
    with virtual_clock() as clock:
        budget = Budget("1", per="month", store=f"sqlite:///{tmp_path}/budgets.db")
        budget.reserve("1").settle("1")
        clock.advance(31 * 86400 - 1)
        with pytest.raises(BudgetExceeded):
            budget.reserve("1")
        clock.advance(1)
        budget.reserve("1").settle("1")
        assert budget.state().resets_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_old_periods_are_forgotten() -> None:
    with virtual_clock() as clock:
        budget = Budget("1", per="day")
        for _ in range(100):
            budget.reserve("0.5")
            clock.advance(86400)
        assert len(vars(budget.bookkeeper.store)["_sums"]) < 7


def test_an_account_that_nobody_used_is_empty(place: Place) -> None:
    state = place.open("1", tokens=5).state()
    assert (state.limit_usd, state.limit_tokens) == (1, 5)
    assert figures(state) == (0, 0, 0)
    assert state.resets_at is None


def test_threads_never_exceed_it_together(place: Place) -> None:
    """Sums are exact, and the last cent is given once."""
    budget = place.open("0.01")
    granted: list[BudgetReservation] = []

    def spend() -> None:
        for _ in range(10):
            try:
                granted.append(budget.reserve("0.0003"))
            except BudgetExceeded:
                return
            granted[-1].settle("0.0003")

    with ThreadPoolExecutor(8) as threads:
        for running in [threads.submit(spend) for _ in range(8)]:
            running.result()
    assert len(granted) == 33
    assert figures(budget.state()) == (Decimal("0.0099"), 0, 0)


def test_a_thousand_at_once_are_counted_exactly() -> None:
    """And what comes to the limit exactly is within it."""
    budget = Budget(tokens=3000)
    with ThreadPoolExecutor(50) as threads:
        assert all(threads.map(lambda _: budget.reserve(0, 3).settle(0, 3), range(1000)))
    assert budget.state().spent_tokens == 3000
    with pytest.raises(BudgetExceeded):
        budget.reserve(0, 1)


async def test_tasks_never_exceed_it_together(place: Place) -> None:
    budget = place.open("0.01")
    granted: list[BudgetReservation] = []

    async def spend() -> None:
        try:
            granted.append(await budget.areserve("0.0003"))
        except BudgetExceeded:
            return
        await granted[-1].asettle("0.0001")

    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(spend)
    state = await budget.astate()
    assert state.spent_usd == len(granted) * Decimal("0.0001")
    assert state.reserved_usd == 0


def test_the_newer_limit_counts_for_all(shared: Place) -> None:
    """And both sides are told, once each."""
    old = shared.open("1")
    old.reserve("0.5").settle("0.5")
    with pytest.warns(HocketWarning, match=r"was 1 USD; 2 USD, which is newer, counts for all from now on"):
        new = shared.open("2")
        new.reserve("1").settle("1")
    with pytest.warns(HocketWarning, match=r"is 2 USD, as was said elsewhere since, and no longer 1 USD"):
        old.reserve("0.5").settle("0.5")
    with pytest.raises(BudgetExceeded, match="is 2 USD"):
        old.reserve("0.5")
    assert old.state().limit_usd == new.state().limit_usd == 2
    shared.open("2").reserve(0).refund()


def test_a_limit_of_another_kind_replaces_it_too(shared: Place) -> None:
    shared.open("1").reserve("0.5").settle("0.5")
    with pytest.warns(HocketWarning, match="was 1 USD; 5 tokens, which is newer"):
        budget = shared.open(tokens=5)
        budget.reserve("3", 5)
    with pytest.raises(BudgetExceeded, match="5 tokens"):
        budget.reserve(0, 1)


@pytest.mark.filterwarnings("error")
def test_a_warning_that_is_an_error_leaves_nothing_held(shared: Place) -> None:
    shared.open("1").reserve(0).refund()
    new = shared.open("2")
    with pytest.raises(HocketWarning):
        new.reserve("1")
    assert new.state().reserved_usd == 0


def test_budgets_in_memory_are_each_their_own() -> None:
    Budget("1").reserve("1")
    Budget("1").reserve("1")


def test_two_objects_of_one_name_are_one_budget(shared: Place) -> None:
    shared.open("1").reserve("0.6")
    with pytest.raises(BudgetExceeded):
        shared.open("1").reserve("0.6")


def test_nothing_is_opened_before_it_is_used(tmp_path: object) -> None:
    Budget("1", store="redis://127.0.0.1:1/0")
    Budget("1", store="postgresql://127.0.0.1:1/nothing")
    Budget("1", store=f"sqlite:///{tmp_path}/there/is/no/such/directory.db")


@pytest.mark.parametrize("table", ["hocket_budget", "hocket_budget_limit", "hocket_reservation"])
def test_tables_that_were_dropped_are_made_anew(table: str) -> None:
    """Also where the functions that use them stayed."""
    with postgres_schema() as url:
        budget = Budget(tokens=10, store=url)
        held = budget.reserve(tokens=1)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP TABLE {table} CASCADE".encode())
        assert held.settle(tokens=1) == (table != "hocket_reservation")
        assert budget.reserve(tokens=9).settle(tokens=9)


def test_threads_of_one_key_and_of_many_do_not_block_one_another(shared: Place) -> None:
    """Two accounts are opened at once by many, which takes no lock for long."""
    budget = shared.open("1", by="tenant")
    errors: list[BaseException] = []

    def spend(key: str) -> None:
        try:
            for _ in range(5):
                budget.reserve("0.001", key=key).settle("0.001")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=spend, args=(f"tenant {number % 3}",)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert [budget.state(key=f"tenant {number}").spent_usd for number in range(3)] == [Decimal("0.015")] * 3


async def test_the_import_of_a_client_does_not_count_as_a_stores_silence(tmp_path: Path) -> None:
    """However long it takes, the first call waits for it; the time-out of the store begins behind it.

    The time is real: a thread imports, for which a virtual clock would not wait.
    """

    def import_slowly() -> SQLiteAccounts:
        time.sleep(1.1)
        return SQLiteAccounts(str(tmp_path / "budgets.db"))

    keeper = Budget("1", store=f"sqlite:///{tmp_path}/other.db", name="x").bookkeeper
    keeper.store, keeper._circuit.patience = LaterAccounts("the store", import_slowly), 1.0
    verdict, _ = await keeper.read(ASYNC, None)
    assert verdict.is_granted
