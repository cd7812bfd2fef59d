"""What rows of a provider's batches cost, and what budgets hold for them meanwhile: at the price of batches, exactly."""

import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hocket.batch import BatchFailed, BatchReport, read_batch
from hocket.budgets import Budget, spending
from hocket.caches import InMemoryCache
from hocket.errors import AuthenticationError, BudgetExceeded, Unpriceable
from hocket.ledger import CallbackLedger, LedgerEntry
from hocket.prices import Price, set_prices
from hocket.runnables import RunnableLambda
from hocket.testing import BatchPlan, Reply, Status
from tests.batch.providers import PROVIDERS
from tests.kit.batches import Provider, read_lines, serve_batches

ROWS = [f"row {number}" for number in range(12)]
BOUNDED: dict[str, Any] = {"max_tokens": 20}
MODELS = "gpt-5.2", "claude-sonnet-4-5"


@pytest.fixture(
    params=[
        pytest.param(one, id=str(one), marks=[] if one.name == "openai" else [pytest.mark.nightly])
        for one in PROVIDERS
        if one.name in ("openai", "anthropic")
    ]
)
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    set_prices(dict.fromkeys(MODELS, Price(1, 2, batch=Price("0.5", 1))))
    yield request.param
    set_prices(dict.fromkeys(MODELS))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/budgets.db"


async def figures(budget: Budget) -> tuple[Decimal, Decimal, Decimal]:
    state = await budget.astate()
    return state.spent_usd, state.reserved_usd, state.orphaned_usd


def find_cost(out: Path) -> Decimal:
    """Return what the usage of the lines comes to, at the price of batches."""
    return sum((Price("0.5", 1).cost(row.usage) for row in read_batch(out) if row.usage), Decimal(0))


async def test_report_lines_budget_block_and_ledger_say_the_same(provider: Provider, out: Path, store: str) -> None:
    booked = list[LedgerEntry]()
    ledger, budget = CallbackLedger(booked.append), Budget("1", tokens=10_000, store=store)
    async with serve_batches(provider, out) as served:
        with spending(usd="1") as spent:
            report = await served.run(ROWS, model=served.model(budget=budget, ledger=ledger, **BOUNDED))
        await ledger.aflush()
    assert report.ok == 12
    assert report.cost == find_cost(out) == sum(entry.cost or 0 for entry in booked) > 0
    assert await figures(budget) == (report.cost, 0, 0)
    assert spent.usd == report.cost
    assert (await budget.astate()).spent_tokens == sum(
        row.usage["total_tokens"] for row in read_batch(out) if row.usage
    )


async def test_rows_that_wait_are_held_and_taken_over_by_the_run_that_collects_them(
    provider: Provider, out: Path, store: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=1000)
        report = await served.run(ROWS, model=served.model(budget=Budget("1", store=store), **BOUNDED), wait=0)
        assert report.pending == 12
        later = Budget("1", store=store)
        spent, reserved, _ = await figures(later)
        assert spent == 0
        assert reserved > Price("0.5", 1).max_cost(0, 12 * 20)
        report = await served.run(ROWS, model=served.model(budget=later, **BOUNDED))
    assert report.ok == 12
    assert await figures(later) == (find_cost(out), 0, 0)
    assert not [line for line in caplog.records if line.levelno >= logging.WARNING]


async def test_a_budget_of_a_process_that_has_ended_is_booked_in_the_next(
    provider: Provider, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=1000)
        await served.run(ROWS, model=served.model(budget=Budget("1"), **BOUNDED), wait=0)
        budget = Budget("0.00002")  # not enough for all, and yet it was paid
        report = await served.run(ROWS, model=served.model(budget=budget, **BOUNDED))
    assert report.ok == 12
    assert await figures(budget) == (find_cost(out), 0, 0)
    assert caplog.text.count("held nothing any more for the row") == 1


async def test_what_has_no_room_is_not_submitted_and_what_is_under_way_is_collected(
    provider: Provider, out: Path, store: str
) -> None:
    async def ask(usd: str) -> tuple[BatchReport, Budget]:
        budget = Budget(usd, store=store)
        return await served.run(ROWS, model=served.model(budget=budget, **BOUNDED), max_concurrency=1), budget

    async with serve_batches(provider, out) as served:
        report, budget = await ask("0.00015")  # each may come to 0.00002 and more
        assert isinstance(report.stopped, BudgetExceeded)
        assert 0 < report.ok < 12
        assert await figures(budget) == (find_cost(out), 0, 0)
        with pytest.warns(match="counts for all from now on"):
            report, budget = await ask("1")
        assert report.ok == 12
        assert await figures(budget) == (find_cost(out), 0, 0)
        assert set(served.server.batches.executed_bodies.values()) == {1}


async def test_rows_that_expire_are_held_once_until_they_are_answered(
    provider: Provider, out: Path, store: str
) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(
            seconds=100, rows=lambda row: "expired" if batch.number == 0 and row.number % 2 else None
        )
        budget = Budget("1", store=store)
        report = await served.run(ROWS, model=served.model(budget=budget, **BOUNDED))
    assert report.ok == 12
    assert await figures(budget) == (report.cost, 0, 0)


async def test_rows_that_fail_cost_nothing_and_are_held_no_more(provider: Provider, out: Path, store: str) -> None:
    """Refused, refused for now in three batches, or never come to in three."""

    def script(request: Any) -> Any:
        text = provider.read_prompt(request.json)
        return {"row 0": Status(400, "no"), "row 1": Status(429, "slow down")}.get(text) or Reply(text.upper())

    async with serve_batches(provider, out, script) as served:
        served.server.batches.plan = BatchPlan(
            seconds=100, rows=lambda row: "expired" if row.custom_id.endswith("-2") else None
        )
        budget = Budget("1", store=store)
        report = await served.run(ROWS[:4], model=served.model(budget=budget, **BOUNDED))
    assert (report.ok, report.failed) == (1, 3)
    assert await figures(budget) == (find_cost(out), 0, 0)


async def test_rows_that_are_asked_live_after_all_cost_what_calls_cost(
    provider: Provider, out: Path, store: str
) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(
            seconds=100, rows=lambda row: "expired" if row.number in (3, 4) else None
        )
        budget = Budget("1", store=store)
        report = await served.run(ROWS, model=served.model(budget=budget, **BOUNDED), retry_via="live")
    usages = {row.row: row.usage for row in read_batch(out)}
    live = sum((Price("0.5", 1).cost(usages[number]) for number in (3, 4)), Decimal(0))  # type: ignore[arg-type]
    assert report.cost == find_cost(out) + live
    assert await figures(budget) == (report.cost, 0, 0)


async def test_where_it_is_not_known_what_batches_cost_nothing_is_submitted_under_a_budget(
    provider: Provider, out: Path
) -> None:
    """Without a budget the cost is not known; nobody guesses."""
    set_prices(dict.fromkeys(MODELS, Price(1, 2)))
    async with serve_batches(provider, out) as served:
        if provider.name == "anthropic":  # by its page it is half
            report = await served.run(ROWS[:2], model=served.model(budget=Budget("1"), **BOUNDED))
            assert report.cost == find_cost(out)
            return
        with pytest.raises(Unpriceable, match=r"batch=Price\("):
            await served.run(ROWS[:2], model=served.model(budget=Budget("1"), **BOUNDED))
        assert not served.server.batches.submitted
        report = await served.run(ROWS[:2], model=served.model(**BOUNDED))
        assert (report.ok, report.cost, report.unpriced) == (2, None, 2)


async def test_rows_that_a_cache_answers_are_not_held(provider: Provider, out: Path, store: str) -> None:
    """Those that ask the same as another row, whose answer is theirs, too."""
    async with serve_batches(provider, out) as served:
        budget = Budget("1", store=store)
        model = served.model(budget=budget, cache=InMemoryCache(), **BOUNDED)
        report = await served.run(["same", "other", "same", "same"], model=model)
        assert report.ok == 4
        assert len(served.server.batches.submitted[0].rows) == 2
    assert await figures(budget) == (report.cost, 0, 0)


async def test_rows_of_a_refused_batch_are_held_no_more(provider: Provider, out: Path, store: str) -> None:
    """Nor are those of another batch that would have been submitted after it."""
    budget = Budget("1", store=store)
    async with serve_batches(provider, out) as served:
        served.server.batches.disturb("create", Status(403, "no"))
        one, other = (served.model(budget=budget, **BOUNDED, **more) for more in ({}, {"api_key": "other"}))
        chain = RunnableLambda(lambda row: one if row in ROWS[:9] else other, name="chain")
        with pytest.raises(AuthenticationError):
            await served.run(ROWS, model=chain)
        assert await figures(budget) == (0, 0, 0)
        assert (await served.run(ROWS, model=chain)).ok == 12
        assert len(served.server.batches.submitted) == 2


async def test_rows_of_a_batch_that_has_failed_are_held_no_more(provider: Provider, out: Path, store: str) -> None:
    if provider.name == "anthropic":
        pytest.skip("a batch of Anthropic never fails whole")
    budget = Budget("1", store=store)
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=100, end="failed", code="invalid_json", message="line 3")
        with pytest.raises(BatchFailed):
            await served.run(ROWS, model=served.model(budget=budget, **BOUNDED))
    assert await figures(budget) == (0, 0, 0)


@pytest.mark.parametrize("plan", [{"gone_after": 60.0}, {"rows": lambda row: "missing"}], ids=["gone", "missing"])
async def test_rows_whose_answers_are_lost_are_booked_as_they_were_held(
    provider: Provider, out: Path, store: str, plan: dict[str, Any]
) -> None:
    """They have been paid, whatever the file knows of them: a budget is not passed by asking for them again and again."""
    budget = Budget("1", store=store)
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=1, **plan)
        model = served.model(budget=budget, **BOUNDED)
        await served.run(ROWS, model=model, wait=0)
        held = (await figures(budget))[1]
        await served.clock.sleep(1000)
        served.server.batches.plan = BatchPlan(seconds=1)
        report = await served.run(ROWS, model=model)
    assert report.ok == 12
    assert await figures(budget) == (held + find_cost(out), 0, 0)
    assert sum(line.get("lost", 0) for line in read_lines(out)) == held * 10**8


async def test_what_a_batch_held_makes_room_in_the_run_that_collects_it(
    provider: Provider, out: Path, store: str
) -> None:
    budget = Budget("0.0004", store=store)  # each may come to 0.00002 and more, and comes to less
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=1)
        model = served.model(budget=budget, **BOUNDED)
        rows = [f"row {number}" for number in range(25)]
        first = await served.run(rows, model=model, wait=0, max_concurrency=1)
        assert isinstance(first.stopped, BudgetExceeded)
        await served.clock.sleep(100)
        second = await served.run(rows, model=model, wait=0, max_concurrency=1)
        assert second.pending == len(rows) - first.pending and second.ok == first.pending
