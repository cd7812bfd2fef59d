"""A row of a provider's batch under a budget: held before the batch is submitted, booked when its reply is read.

The model's stages are the real ones. What stands between them is what a bulk run puts there: a call that is taken before its
attempts, and a call that is made in the place of a row.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

import anyio
import pytest

from hocket._metering.batch_row import BatchPlace, batch_place
from hocket._pipeline.call import Call, Next
from hocket._pipeline.reservations import release_ahead, reserve_ahead
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC
from hocket.budgets import Budget, spending
from hocket.budgets.account import BATCH_LEASE, KEPT, Amounts
from hocket.errors import BudgetExceeded, ProviderUnavailable, Unpriceable
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import UsageMetadata
from hocket.prices import Price, set_prices
from hocket.testing import virtual_clock
from tests.budgets.conftest import MODEL, Place
from tests.kit.growth import assert_linear
from tests.kit.reservers import RecordingReserver, reserve_with

pytestmark = pytest.mark.anyio

USAGE: UsageMetadata = {
    "input_tokens": 10,
    "output_tokens": 20,
    "total_tokens": 30,
    "input_token_details": {"cache_read": 4},
}
COST = Decimal("0.000024")  # of that usage in a batch: half of what it is live
ANSWER = Turn(text="yes", usage=USAGE)
DAY = 86_400.0

_taken: ContextVar[list[Call] | None] = ContextVar("taken", default=None)


class _IsTaken(BaseException):
    """Out of a chain, past whatever catches errors."""


class RowModel(ScriptedChatModel):
    """A model whose calls may be taken where a bulk run takes them."""

    def _compose_attempts(self) -> Next:
        send = super()._compose_attempts()

        async def start(call: Call) -> Any:
            calls = _taken.get()
            if calls is None:
                return await send(call)
            calls.append(call)
            raise _IsTaken

        return start


def row_model(*script: Any, longest: int | None = 20, **options: Any) -> RowModel:
    profile: Any = None if longest is None else {"max_output_tokens": longest}
    return RowModel(script=list(script) or [ANSWER], profile=profile, **options)


def row(number: int = 0, at: float | None = None) -> BatchPlace:
    return BatchPlace("hk1", f"file-{number}", clock.current().time() if at is None else at)


async def take(model: RowModel, config: Any = None, prompt: str = "hi") -> Call:
    """Return the call as it comes to its attempts."""
    calls: list[Call] = []
    token = _taken.set(calls)
    try:
        await model.ainvoke(prompt, config)
    except _IsTaken:
        pass
    finally:
        _taken.reset(token)
    return calls[0]


async def write(model: RowModel, place: BatchPlace, config: Any = None, prompt: str = "hi") -> None:
    await reserve_ahead(await take(model, config, prompt), place)


@contextmanager
def reading(place: BatchPlace) -> Iterator[None]:
    token = batch_place.set(place)
    try:
        yield
    finally:
        batch_place.reset(token)


async def read(model: RowModel, place: BatchPlace, config: Any = None) -> None:
    with reading(place):
        await model.ainvoke("hi", config)


async def figures(budget: Budget, key: str | None = None) -> tuple[Decimal, Decimal, Decimal]:
    state = await budget.astate(key=key)
    return state.spent_usd, state.reserved_usd, state.orphaned_usd


@pytest.fixture(autouse=True)
def _priced() -> Iterator[None]:
    set_prices({MODEL: Price(1, 2, "0.5", batch=Price("0.5", 1, "0.25"))})
    yield
    set_prices({MODEL: None})


async def test_a_row_is_held_before_its_batch_and_booked_at_the_price_of_batches(place: Place) -> None:
    budget = place.open("1", tokens=10_000)
    model, one = row_model(budget=budget), row()
    await write(model, one)
    held = (await budget.astate()).reserved_usd
    need = (await (await take(model)).estimate_need()).input
    assert held == Price("0.5", 1).max_cost(need, 20)
    await read(model, one)
    assert await figures(budget) == (COST, 0, 0)
    assert (await budget.astate()).spent_tokens == 30
    await row_model(budget=budget).ainvoke("hi")
    assert await figures(budget) == (3 * COST, 0, 0)


async def test_a_row_is_held_once_whoever_asks_how_often(place: Place) -> None:
    """Also where there is no room for it twice: another process that goes on with the run asks again."""
    budget, one = place.open("0.00006"), row()
    model = row_model(budget=budget)
    await write(model, one)
    held = await figures(budget)
    assert held[1] > Decimal("0.00002")
    for again in (budget, place.open("0.00006")) if place.store else (budget,):
        await write(row_model(budget=again), one)
        assert await figures(again) == held
    with pytest.raises(BudgetExceeded, match="this request may come to"):
        for number in range(1, 4):
            await write(model, row(number))
    await read(model, one)
    assert (await figures(budget))[0] == COST


async def test_many_rows_at_once_never_exceed_it(place: Place) -> None:
    budget = place.open(tokens=1000)
    model = row_model(*[ANSWER] * 100, budget=budget)
    held: list[int] = []

    async def hold(number: int) -> None:
        try:
            await write(model, row(number))
        except BudgetExceeded:
            return
        held.append(number)

    async with anyio.create_task_group() as group:
        for number in range(60):
            group.start_soon(hold, number)
    state = await budget.astate()
    assert 0 < len(held) < 60
    assert 900 < state.reserved_tokens <= 1000
    for number in held:
        await read(model, row(number))
    state = await budget.astate()
    assert (state.spent_tokens, state.reserved_tokens) == (30 * len(held), 0)


async def test_what_is_not_submitted_is_given_back(place: Place) -> None:
    budget = place.open("1", by="tenant")
    model, config = row_model(budget=budget), {"metadata": {"tenant": "ada"}}
    await write(model, row(), config)
    assert (await figures(budget, "ada"))[1] > 0
    call = await take(model, config)
    for _ in range(2):  # what is not held is no matter
        await release_ahead(call, row())
        assert await figures(budget, "ada") == (0, 0, 0)
    await release_ahead(call, row(7))


async def test_a_row_that_failed_has_cost_nothing(place: Place) -> None:
    """And is held anew for its next batch."""
    budget = place.open("1")
    model = row_model(ProviderUnavailable("down", status=503), ANSWER, budget=budget)
    await write(model, row())
    with pytest.raises(ProviderUnavailable):
        await read(model, row())
    assert await figures(budget) == (0, 0, 0)
    await write(model, row())
    await read(model, row())
    assert await figures(budget) == (COST, 0, 0)


async def test_each_budget_has_a_hold_of_its_own(place: Place) -> None:
    """In one store, under other names, and for other people; and where one has no room, none holds."""
    config: Any = {"metadata": {"tenant": "ada"}}
    one, two = place.open("1"), place.open("1", name=f"{place.name}-2", by="tenant")
    model = row_model(budget=[one, two])
    await write(model, row(), config)
    held = await figures(one)
    assert held == await figures(two, "ada") != (0, 0, 0)
    await write(model, row(1), {"metadata": {"tenant": "grace"}})
    assert await figures(two, "grace") == held
    await read(model, row(), config)
    assert [await figures(one), await figures(two, "ada")] == [(COST, held[1], 0), (COST, 0, 0)]
    full = place.open(tokens=1, name=f"{place.name}-3")
    with pytest.raises(BudgetExceeded, match="1 tokens"):
        await write(row_model(budget=[two, full]), row(2), config)
    assert await figures(two, "ada") == (COST, 0, 0)


async def test_a_cancelled_caller_holds_nothing(shared: Place) -> None:
    budget = shared.open("1")
    call = await take(row_model(budget=budget))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await reserve_ahead(call, row())
    assert (await figures(budget))[1] == 0


@pytest.mark.parametrize("per", [None, "day"])
async def test_what_nobody_holds_any_more_is_booked_all_the_same(
    place: Place, per: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """As where the budget of a dead process was in memory: beyond the limit, too, and the log says so once."""
    budget = place.open("0.00005", per=per)
    model = row_model(*[ANSWER] * 3, budget=budget)
    for number in range(3):
        await read(model, row(number))
    assert await figures(budget) == (3 * COST, 0, 0)
    told = [line for line in caplog.records if line.levelno >= logging.WARNING]
    assert ["held nothing any more for the row 'file-0" in line.getMessage() for line in told] == [True]
    with pytest.raises(BudgetExceeded):
        await write(model, row(3))


async def test_a_row_that_failed_and_is_not_held_is_not_booked(place: Place) -> None:
    budget = place.open("1")
    with pytest.raises(ProviderUnavailable):
        await read(row_model(ProviderUnavailable("down", status=503), budget=budget), row())
    assert await figures(budget) == (0, 0, 0)


async def test_a_block_holds_for_rows_too() -> None:
    with spending(usd="0.00006") as spent:
        model = row_model()
        await write(model, row())
        await write(model, row())
        with pytest.raises(BudgetExceeded):
            for number in range(1, 4):
                await write(model, row(number))
        await read(model, row())
        assert spent.usd == COST


class TestPrices:
    """What a row may come to has to be known."""

    @pytest.fixture(autouse=True)
    def _live_price_only(self) -> None:
        set_prices({MODEL: Price(1, 2)})

    async def test_without_a_price_of_batches_nothing_is_held(self) -> None:
        budget = Budget("1")
        with pytest.raises(Unpriceable, match=r"costs in a batch is not known.*batch=Price\('0\.625', 5\)"):
            await write(row_model(budget=budget), row())
        assert await figures(budget) == (0, 0, 0)
        await row_model(budget=budget).ainvoke("hi")

    async def test_unless_such_models_are_let_pass(self) -> None:
        budget = Budget("1", tokens=1000, unpriced="ignore")
        model = row_model(budget=budget)
        await write(model, row())
        await read(model, row())
        assert await figures(budget) == (0, 0, 0)
        assert (await budget.astate()).spent_tokens == 30

    async def test_tokens_have_no_price(self) -> None:
        budget = Budget(tokens=1000)
        model = row_model(budget=budget)
        await write(model, row())
        await read(model, row())
        assert (await budget.astate()).spent_tokens == 30

    async def test_one_that_is_forgotten_meanwhile_costs_the_bound_and_no_answer(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        set_prices({MODEL: Price(1, 2, batch=Price(1, 2))})
        with virtual_clock() as time:
            budget = Budget("1")
            model = row_model(budget=budget)
            await write(model, row())
            held = (await figures(budget))[1]
            set_prices({MODEL: None})
            await read(model, row())
            assert "could not be settled: Unpriceable" in caplog.text
            time.advance(BATCH_LEASE + 1)
            assert await figures(budget) == (held, 0, held)


async def test_an_answer_that_says_nothing_of_its_tokens_costs_the_bound() -> None:
    budget = Budget("1")
    model = row_model(Turn(text="yes", usage=None), budget=budget)
    await write(model, row())
    held = (await figures(budget))[1]
    await read(model, row())
    assert await figures(budget) == (held, 0, 0)


async def test_what_calls_have_taught_holds_for_rows() -> None:
    """A server that counts more than the estimate says: the next rows reserve as much."""
    billed: UsageMetadata = {"input_tokens": 500, "output_tokens": 1, "total_tokens": 501}
    budget = Budget(tokens=10_000)
    model = row_model(Turn(text="y", usage=billed), longest=1, budget=budget)
    await model.ainvoke("hi")
    await write(model, row())
    assert (await budget.astate()).reserved_tokens >= 501


class TestTime:
    """By a clock that tests set: the stores that go by this machine's."""

    @pytest.fixture(params=["memory", "sqlite"])
    def place(self, request: pytest.FixtureRequest, tmp_path: Any) -> Place:
        return Place(None if request.param == "memory" else f"sqlite:///{tmp_path}/budgets.db", "test")

    async def test_a_row_is_held_for_two_days(self, place: Place) -> None:
        with virtual_clock() as time:
            budget = place.open("1", lease=60)
            model, one = row_model(budget=budget), row()
            await write(model, one)
            held = (await figures(budget))[1]
            time.advance(BATCH_LEASE - 1)
            assert await figures(budget) == (0, held, 0)
            time.advance(2)
            assert await figures(budget) == (held, 0, held)
            await read(model, one)
            assert await figures(budget) == (COST, 0, 0)

    async def test_a_lease_that_is_longer_than_that_counts(self, place: Place) -> None:
        with virtual_clock() as time:
            budget = place.open("1", lease=10 * DAY)
            await write(row_model(budget=budget), row())
            time.advance(9 * DAY)
            assert (await figures(budget))[1] > 0

    async def test_one_that_is_read_far_too_late_is_booked_once_more(self) -> None:
        """Nobody knows any more what was charged for it."""
        with virtual_clock() as time:
            budget = Budget("1")
            model = row_model(*[ANSWER] * 2, budget=budget)
            await write(model, one := row())
            held = (await figures(budget))[1]
            time.advance(BATCH_LEASE + 1)
            assert (await figures(budget))[2] == held
            time.advance(KEPT)
            await write(model, row(1))
            await read(model, one)
            assert (await figures(budget))[0] == held + COST

    @pytest.mark.parametrize("days", [1, 2])
    async def test_a_row_is_booked_on_the_day_on_which_it_was_held(
        self, place: Place, days: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A batch that is collected the next day, or the day after that by another process, counts for its own."""
        with virtual_clock() as time:
            budget = place.open("1", per="day")
            await write(row_model(budget=budget), one := row())
            time.advance(days * DAY)
            later = place.open("1", per="day") if place.store else budget
            await write(row_model(budget=later), row(1))  # old days are forgotten when a day begins
            held = await figures(later)
            await read(row_model(budget=later), one)
            assert await figures(later) == held == (0, held[1], 0)
            keeper = budget.bookkeeper
            assert not await keeper.book(ASYNC, keeper.find_row(None, one), Amounts())
            assert not caplog.records

    async def test_a_row_that_was_held_before_midnight_counts_for_that_day(
        self, place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its batch was submitted afterwards."""
        with virtual_clock() as time:
            budget = place.open("1", per="day")
            time.advance(DAY - 60)
            await write(row_model(budget=budget), row())
            time.advance(120)
            await read(row_model(budget=budget), row(at=clock.current().time()))
            assert await figures(budget) == (0, 0, 0)
            assert not caplog.records

    async def test_a_row_that_was_held_before_midnight_is_booked_once(
        self, place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its batch was submitted afterwards. In a database it counts for the first day, in memory for both."""
        with virtual_clock() as time:
            budget = place.open("1", per="day")
            model = row_model(*[ANSWER] * 2, budget=budget)
            time.advance(DAY - 60)
            await write(model, row())
            time.advance(120)
            await write(model, row())
            await read(model, row(at=clock.current().time()))
            assert await figures(budget) == (0 if place.store else COST, 0, 0)
            assert not caplog.records


@pytest.mark.parametrize("limit", [{"tokens": 10**9}, {"usd": 1000}])
def test_a_hold_costs_the_same_however_many_there_are(limit: Any) -> None:
    """A batch of a budget in memory has thousands."""

    def hold(count: int) -> None:
        budget = Budget(**limit)
        for _ in range(count):
            budget.reserve(tokens=1)

    assert_linear(hold, 4000)


async def test_limits_and_meters_are_not_asked_for_rows_that_wait() -> None:
    """What a row may use is no matter of theirs before its reply is there."""
    meter = RecordingReserver()
    with reserve_with(meter):
        model = row_model(*[ANSWER] * 2)
        await write(model, row())
        assert meter.log == []
        await read(model, row())
        await model.ainvoke("hi")
    assert meter.log == ["one reserves", "one settles ok"] * 2
    places = [attempt.batch_place for attempt in meter.attempts]
    assert [place and place.row_id for place in places] == ["file-0", None]
