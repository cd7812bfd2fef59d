"""Bulk runs through batches as people use them: chains, budgets, ledgers, caches; cron, a full disk, a damaged file."""

import json
import resource
import signal
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from pydantic import BaseModel

from hocket._runtime import clock
from hocket.batch import BatchBusy, BatchFileFailed, BatchPending, acancel_batch, read_batch, run_batch
from hocket.batch.journal import BatchJournal
from hocket.batch.patience import NotNow, Patience
from hocket.batch.replay import read_open_batches
from hocket.batch.wire import take_request
from hocket.budgets import Budget, spending
from hocket.caches import InMemoryCache
from hocket.errors import BudgetExceeded, Unpriceable
from hocket.ledger import CallbackLedger, LedgerEntry
from hocket.prices import Price, set_prices
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import RunnableLambda
from hocket.testing import BatchPlan, Hangup, Reply, Status, serve, virtual_clock
from hocket.testing.server.submitted_batch import SubmittedBatch
from tests.batch.providers import PROVIDERS
from tests.kit.batches import Provider, Served, answer, read_lines, serve_batches
from tests.kit.warm import Program

OPENAI = PROVIDERS[0]
ROWS = [f"row {number}" for number in range(6)]
EXPECTED = {number: row.upper() for number, row in enumerate(ROWS)}

LIVE, IN_BATCH = Price(2, 8, "0.5"), Price(1, 4, "0.25", "1.25")
NAMES = ("openai_compatible:gpt-5.2", "anthropic:claude-sonnet-4-5", "google_genai:gemini-2.5-flash")
NAMES = (*NAMES, "mistralai:mistral-large-latest")


@pytest.fixture(
    params=[pytest.param(one, id=one.name, marks=[] if one is OPENAI else [pytest.mark.nightly]) for one in PROVIDERS]
)
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


@pytest.fixture
def priced() -> Iterator[None]:
    set_prices({name: Price(2, 8, "0.5", batch=IN_BATCH) for name in NAMES})
    yield
    set_prices(dict.fromkeys(NAMES))


def outputs(out: Path) -> dict[int, Any]:
    return {row.row: row.output for row in read_batch(out)}


def expire_once(*rows: int, seconds: float = 100) -> Callable[[SubmittedBatch], BatchPlan]:
    """Return a plan: the first batch does not come to some rows."""
    return lambda batch: BatchPlan(
        seconds=seconds, rows=lambda row: "expired" if batch.number == 0 and row.number in rows else None
    )


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again."""
    while not is_so():  # noqa: ASYNC110  # what is looked at is no event
        await anyio.sleep(0.005)


async def until_ended(served: Served) -> None:
    """Wait until the batches have ended."""
    await wait_until(lambda: all(batch.has_ended for batch in served.server.batches.submitted))


def has_id(out: Path) -> bool:
    """Whether the provider's name of a batch is in the file."""
    return out.exists() and any("id" in line for line in read_lines(out))


# -- without waiting, as by cron


async def test_runs_that_do_not_wait_come_to_an_end(provider: Provider, out: Path) -> None:
    """What a batch left is submitted by the run that collects it, though there is no time to wait."""
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = expire_once(2, 4)
        found = []
        for _ in range(4):
            report = await served.run(ROWS, wait=0)
            found.append((report.ok, report.pending, type(report.stopped)))
            await until_ended(served)
        assert found == [(0, 6, BatchPending), (4, 2, BatchPending), (6, 0, type(None)), (6, 0, type(None))]
        assert outputs(out) == EXPECTED


async def test_a_batch_that_found_no_room_is_submitted_by_the_next_run(out: Path) -> None:
    """And that is not the end of the run: rows are under way."""
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(
            seconds=100, end="completed" if batch.number else "failed", code="token_limit_exceeded", message="too many"
        )
        for expected in ((0, 6), (0, 6), (6, 0)):
            report = await served.run(ROWS, wait=0)
            assert (report.ok, report.pending) == expected
            await until_ended(served)
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [6, 6]


async def test_garbled_results_end_without_time_to_wait(out: Path) -> None:
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(
            rows=lambda row: "garbled" if batch.number == 0 and row.number == 3 else None
        )
        assert (await served.run(ROWS, wait=0)).pending == 6
        assert (await served.run(ROWS, wait=0)).pending == 1
        assert (await served.run(ROWS, wait=0)).ok == 6


# -- the provider


async def test_without_room_a_batch_waits_until_another_one_has_ended(out: Path) -> None:
    """`token_limit_exceeded`: at its creation, or afterwards."""
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(
            seconds=600, end="completed" if batch.number else "failed", code="token_limit_exceeded", message="too many"
        )
        full = Status(429, "Enqueued token limit reached", error={"code": "token_limit_exceeded"})
        served.server.batches.disturb("create", full, times=2)
        began = clock.current().now()
        report = await served.run(ROWS)
        assert (report.ok, report.failed, report.errors) == (6, 0, {})
        assert clock.current().now() - began > 300 + 600 + 300 + 600
        assert len(served.server.batches.submitted) == 2


async def test_of_two_batches_with_one_key_the_elder_counts(out: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As where a process that seemed to be dead was only slow."""
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = BatchPlan(seconds=4000)

        def make_another(reply: Any) -> Any:
            again = served.server.batches.submitted[0].request
            served.server.batches.answer(again)
            return Hangup()

        served.server.batches.disturb("create", make_another)
        report = await served.run(ROWS)
        assert (report.ok, outputs(out)) == (6, EXPECTED)
        elder, other = served.server.batches.submitted
        assert (elder.state, other.state) == ("completed", "cancelled")
        assert "there are two batches" in caplog.text


async def test_a_batch_that_is_gone_is_asked_again(provider: Provider, out: Path, caplog: Any) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(seconds=100, gone_after=1e9 if batch.number else 50)
        report = await served.run(ROWS)
        assert (report.ok, outputs(out)) == (6, EXPECTED)
        assert "is gone; its rows are asked again, and budgets count them as paid" in caplog.text
        assert {row.attempts for row in read_batch(out)} == {2}


async def test_results_that_are_archived_are_asked_again(provider: Provider, out: Path, caplog: Any) -> None:
    if provider.name == "google":
        pytest.skip("the results of Gemini's small batches stand in the batch")
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(seconds=50, archived_after=1e9 if batch.number else 50)
        report = await served.run(ROWS)
        assert (report.ok, outputs(out)) == (6, EXPECTED)
        assert "6 rows of the batch" in caplog.text and "budgets count them as paid" in caplog.text


async def test_rows_that_come_twice_or_are_unknown_or_missing(provider: Provider, out: Path, caplog: Any) -> None:
    fates: dict[int, Any] = {1: "twice", 2: "stranger", 3: "missing"}
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(
            seconds=50, in_order=False, rows=lambda row: None if batch.number else fates.get(row.number)
        )
        report = await served.run(ROWS)
        assert (report.ok, outputs(out)) == (6, EXPECTED)
        lines = [line["row"] for line in read_lines(out) if "row" in line]
        assert sorted(lines) == list(range(6))
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [6, 1]
        assert "an unknown row" in caplog.text


# -- money


def count_bill(provider: Provider, served: Served) -> Decimal:
    """Return what the provider's own meter says, at the price of batches."""
    used = served.server.batches.usage
    if provider.name == "google":
        read, cached, said = "promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount"
    elif provider.name == "responses":
        read, cached, said = "input_tokens", "input_tokens_details.cached_tokens", "output_tokens"
    elif provider.name == "anthropic":
        read, cached, said = "input_tokens", "cache_read_input_tokens", "output_tokens"
        used["input_tokens"] += used["cache_read_input_tokens"]
    else:
        read, cached, said = "prompt_tokens", "prompt_tokens_details.cached_tokens", "completion_tokens"
    assert used[cached] and used[said], used
    price = IN_BATCH
    assert price.cache_read is not None
    bill = (used[read] - used[cached]) * price.input + used[cached] * price.cache_read + used[said] * price.output
    return bill / 1_000_000


def say_usage(provider: Provider) -> dict[str, Any]:
    """Return what a reply says of a prompt whose larger part was cached."""
    if provider.name == "google":
        return {"promptTokenCount": 3000, "cachedContentTokenCount": 2048}
    if provider.name == "responses":
        return {"input_tokens": 3000, "input_tokens_details": {"cached_tokens": 2048}}
    if provider.name == "anthropic":
        return {"input_tokens": 952, "cache_read_input_tokens": 2048}
    return {"prompt_tokens": 3000, "prompt_tokens_details": {"cached_tokens": 2048}}


async def test_the_cost_is_the_bill(provider: Provider, out: Path, priced: None) -> None:
    """Cached tokens and rows that failed or expired included: report, lines, ledger and budget say the same."""
    usage, booked = say_usage(provider), list[LedgerEntry]()
    ledger, budget = CallbackLedger(booked.append), Budget("1")

    def script(request: Any) -> Any:
        text = provider.read_prompt(request.json)
        return Status(400, "no") if text == "row 5" else Reply(text.upper(), usage=usage)

    async with serve_batches(provider, out, script) as served:
        served.server.batches.plan = expire_once(1)
        model = served.model(ledger=ledger, budget=budget, max_tokens=1000)
        report = await served.run(ROWS, model=model)
        assert (report.ok, report.failed, report.unpriced) == (5, 1, 0)
        bill = count_bill(provider, served)
        assert report.cost == bill
        assert sum(row.cost or 0 for row in read_batch(out)) == bill
        await ledger.aflush()
        assert sum(entry.cost or 0 for entry in booked) == bill
        state = await budget.astate()
        assert (state.spent_usd, state.reserved_usd, state.orphaned_usd) == (bill, 0, 0)


async def test_a_budget_that_is_used_up_ends_the_run_when_what_is_under_way_is_collected(
    out: Path, priced: None
) -> None:
    async with serve_batches(OPENAI, out, lambda request: Reply("yes", usage={"completion_tokens": 100})) as served:
        served.server.batches.plan = BatchPlan(seconds=3600)
        budget = Budget("0.0013")  # room for three answers of 100 tokens, at four dollars a million
        model = served.model(budget=budget, max_tokens=100)
        report = await served.run(ROWS, model=model)
        assert (report.ok, report.failed, report.pending) == (3, 0, 0)
        assert isinstance(report.stopped, BudgetExceeded)
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [3]
        state = await budget.astate()
        assert state.spent_usd == report.cost and not state.reserved_usd
        more = await served.run(ROWS, model=served.model(budget=Budget("1"), max_tokens=100))
        assert (more.ok, more.skipped, more.stopped) == (6, 3, None)


@pytest.mark.parametrize("cancelled", [False, True], ids=["expired", "cancelled"])
async def test_what_goes_live_is_held_no_more_at_the_batch(out: Path, priced: None, cancelled: bool) -> None:
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = expire_once(2, seconds=4000)
        budget = Budget("1")
        model = served.model(budget=budget, max_tokens=100)
        if cancelled:
            await served.run(ROWS, model=model, wait=0)
            assert (await budget.astate()).reserved_usd
            await acancel_batch(model, out)
            report = await served.run(ROWS, model=model, via="live")
        else:
            report = await served.run(ROWS, model=model, retry_via="live")
        assert report.ok == 6
        state = await budget.astate()
        assert (state.spent_usd, state.reserved_usd) == (report.cost, 0)


async def test_a_row_that_waits_for_an_equal_one_holds_nothing(out: Path, priced: None) -> None:
    async with serve_batches(OPENAI, out) as served:
        budget = Budget("1")
        report = await served.run(["same"] * 5, model=served.model(cache=InMemoryCache(), budget=budget, max_tokens=9))
        assert report.ok == 5
        state = await budget.astate()
        assert (state.spent_usd, state.reserved_usd) == (report.cost, 0)


async def test_without_a_price_nothing_is_submitted_under_a_budget(out: Path) -> None:
    """Half the price of a compatible server would be a guess."""
    set_prices({NAMES[0]: LIVE})
    try:
        async with serve_batches(OPENAI, out) as served:
            model = served.model(max_tokens=100)
            with spending(usd="1"), pytest.raises(Unpriceable, match="costs in a batch is not known"):
                await served.run(ROWS, model=model)
            assert not served.server.batches.submitted
            report = await served.run(ROWS, model=model)
            assert (report.ok, report.cost, report.unpriced) == (6, None, 6)
    finally:
        set_prices({NAMES[0]: None})


# -- rows and chains


class Label(BaseModel):
    mood: Literal["good", "bad"]
    is_urgent: bool


async def test_typed_answers_of_a_chain(provider: Provider, out: Path) -> None:
    """A row whose answer does not fit fails; the next run asks it alone."""
    words = {"a": '{"mood": "good", "is_urgent": false}', "b": '{"mood": "odd"}'}

    def script(request: Any) -> Reply:
        said = next(json_text for key, json_text in words.items() if f"Label {key}." in json.dumps(request.json))
        tools = request.json.get("tools")
        if not tools:
            return Reply(said)
        name = tools[0].get("name") or tools[0].get("function", {}).get("name") or ""
        return Reply(tool_calls=[{"name": name, "args": json.loads(said), "id": "call_1"}])

    async with serve_batches(provider, out, script) as served:
        chain = ChatPromptTemplate.from_messages([("human", "Label {text}.")]) | served.model().with_structured_output(
            Label
        )
        rows = [{"text": "a", "id": 10}, {"text": "b", "id": 11}]
        report = await served.run(rows, model=chain, id="id")
        assert (report.ok, report.errors) == (1, {"OutputParserException": 1})
        words["b"] = '{"mood": "bad", "is_urgent": true}'
        report = await served.run(rows, model=chain, id="id")
        assert (report.ok, report.skipped, report.failed) == (2, 1, 0)
        assert {row.id: row.output for row in read_batch(out)} == {
            10: {"mood": "good", "is_urgent": False},
            11: {"mood": "bad", "is_urgent": True},
        }


async def test_rows_that_fail_before_the_model_among_those_that_do_not_are_no_streak(out: Path) -> None:
    pauses = {1: 0.1, 4: 0.3}  # row 1 fails after row 3, and row 4 goes into its batch after row 5 has failed

    async def check(row: int) -> str:
        await anyio.sleep(pauses.get(row, 0))
        if row % 2:
            raise ValueError("odd")
        return f"row {row}"

    async with serve_batches(OPENAI, out) as served:
        chain = RunnableLambda(check) | served.model()
        report = await served.run(range(20), model=chain, max_consecutive_failures=3, max_concurrency=2)
        assert (report.ok, report.failed, report.errors) == (10, 10, {"ValueError": 10})


async def test_a_row_without_its_id_is_not_asked(out: Path) -> None:
    async with serve_batches(OPENAI, out) as served:
        chain = RunnableLambda(lambda row: row["text"]) | served.model()
        report = await served.run([{"id": 1, "text": "a"}, {"text": "b"}], model=chain, id="id")
        assert (report.ok, report.errors) == (1, {"InvalidInput": 1})
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [1]


async def test_full_batches_are_submitted_one_after_another(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one finds no room, only the next one is in memory, however many rows there are."""
    taken = 0

    def rows() -> Iterator[str]:
        nonlocal taken
        for taken in range(1, 2001):
            yield f"row {taken}"

    async with serve_batches(OPENAI, out) as served:
        model = served.model()
        monkeypatch.setattr("hocket.providers.openai.batches.OpenAIBatches.max_rows", 50)
        full = Status(429, "Enqueued token limit reached", error={"code": "token_limit_exceeded"})
        served.server.batches.disturb("create", full, times=100)
        report = await served.run(rows(), model=model, wait=400, max_concurrency=5)  # type: ignore[arg-type]
        assert isinstance(report.stopped, BatchPending)
        assert report.pending <= 100 + 5  # two batches, and the row that each worker holds
        assert taken < 500


# -- the file


async def test_a_run_that_waits_writes_nothing(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch may take a day, and twenty times a second there is nothing to write: no thread is asked to."""
    idle: list[int] = []
    flush = BatchJournal.flush

    def count(journal: BatchJournal, *, sync: bool) -> None:
        if not journal.waiting:
            idle.append(1)
        flush(journal, sync=sync)

    monkeypatch.setattr(BatchJournal, "flush", count)
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = BatchPlan(seconds=4000)
        assert (await served.run(ROWS)).ok == len(ROWS)
    assert len(idle) < 20  # at its end, as the file is closed, and where another thread was sooner


async def test_a_second_run_is_refused_while_the_first_one_waits(out: Path) -> None:
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = BatchPlan(seconds=2_000)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(served.run, ROWS)
            await wait_until(lambda: bool(served.server.batches.submitted))
            with pytest.raises(BatchBusy):
                await served.run(ROWS)
        assert outputs(out) == EXPECTED
        assert len(served.server.batches.submitted) == 1


PROGRAM = """
import sys
from hocket import ChatOpenAI, run_batch
from hocket.errors import HocketError

url, out = sys.argv[1:]
print("begun", flush=True)
try:
    report = run_batch(ChatOpenAI(model="m", base_url=url, api_key="k"), ["row 0", "row 1"], out, via="provider")
    print(report.ok)
except HocketError as error:
    print(type(error).__name__)
"""


async def test_two_processes_and_ctrl_c(out: Path) -> None:
    """One of two has the file; Ctrl-C leaves its batch under way, and the next one collects it."""
    async with serve(OPENAI.make_format(), answer(OPENAI)) as server:
        server.batches.plan = BatchPlan(seconds=3600)

        def start() -> subprocess.Popen[str]:
            command = ("-c", textwrap.dedent(PROGRAM), server.url, str(out))
            return Program(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        first = start()
        await wait_until(lambda: has_id(out))
        second, _ = await anyio.to_thread.run_sync(start().communicate)
        assert second.split() == ["begun", "BatchBusy"]
        first.send_signal(signal.SIGINT)
        await anyio.to_thread.run_sync(first.communicate)
        assert first.returncode == -signal.SIGINT
        [entry] = read_open_batches(out)
        assert entry.waiting == 2
        server.batches.submitted[0].plan = BatchPlan()
        third, _ = await anyio.to_thread.run_sync(start().communicate)
        assert third.split() == ["begun", "2"]
        assert len(server.batches.submitted) == 1


async def test_a_full_disk_while_rows_are_read_costs_no_second_request(provider: Provider, out: Path) -> None:
    """The batch is not closed: what the file lacks is read again."""
    async with serve_batches(provider, out, lambda request: Reply("long " * 1000)) as served:
        assert (await served.run(ROWS, wait=0)).pending == 6
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (out.stat().st_size + 12_000, hard))  # noqa: ASYNC240
        try:
            with pytest.raises(BatchFileFailed, match="File too large"):
                await served.run(ROWS, max_concurrency=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        assert len(read_open_batches(out)) == 1
        assert len(outputs(out)) < 6
        report = await served.run(ROWS)
        assert (report.ok, report.pending) == (6, 0)
        assert len(served.server.batches.submitted) == 1
        assert not read_open_batches(out)


def damage(out: Path, is_meant: Callable[[dict[str, Any]], bool]) -> None:
    """Spoil some bytes in the first line that is meant."""
    lines = out.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if is_meant(json.loads(line)))
    lines[place] = lines[place][:12] + b"\0\0\0\0" + lines[place][16:]
    out.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "kind",
    [
        lambda line: "rows" in line and "id" not in line,
        lambda line: "rows" in line and "id" in line,
        lambda line: "sent_at" in line,
        lambda line: "reservations" in line,
    ],
    ids=["first", "second", "sent", "reservations"],
)
async def test_a_damaged_line_of_a_batch_costs_nothing(provider: Provider, out: Path, kind: Any) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=100)
        await served.run(ROWS, wait=0)
        damage(out, kind)
        report = await served.run(ROWS)
        assert (report.ok, report.pending, report.unreadable) == (6, 0, 1)
        assert outputs(out) == EXPECTED
        assert len(served.server.batches.submitted) == 1


async def test_a_damaged_line_of_a_row_costs_that_row(out: Path) -> None:
    async with serve_batches(OPENAI, out) as served:
        await served.run(ROWS)
        damage(out, lambda line: line.get("row") == 3)
        report = await served.run(ROWS)
        assert (report.ok, report.skipped, report.unreadable) == (6, 5, 1)
        assert outputs(out) == EXPECTED
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [6, 1]


async def test_a_damaged_row_of_a_batch_under_way_is_read_again(out: Path) -> None:
    """As long as the last line of the batch is not there."""
    async with serve_batches(OPENAI, out) as served:
        await served.run(ROWS)
        lines = out.read_bytes().splitlines(keepends=True)  # noqa: ASYNC240
        out.write_bytes(b"".join(line for line in lines if b'"end"' not in line))  # noqa: ASYNC240
        damage(out, lambda line: line.get("row") == 3)
        report = await served.run(ROWS)
        assert (report.ok, report.skipped, outputs(out)) == (6, 5, EXPECTED)
        assert len(served.server.batches.submitted) == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"batch": "hk1", "sent_at": "noon"}',
        '{"batch": ["hk1"], "end": "completed"}',
        '{"batch": "hk1", "provider": "openai", "rows": [[5, 1]], "at": 1, "digests": ""}',
        '{"batch": "hk1", "provider": "openai", "rows": 7, "at": 1, "digests": ""}',
        '{"reservations": 7}',
    ],
)
async def test_lines_that_are_none_of_ours_are_passed_over(out: Path, line: str) -> None:
    async with serve_batches(OPENAI, out) as served:
        await served.run(ROWS[:2])
        with open(out, "a") as file:  # noqa: ASYNC230
            file.write(f"{line}\n")
        report = await served.run(ROWS)
        assert (report.ok, report.unreadable) == (6, 1)
        assert not read_open_batches(out)


async def test_other_readers_pass_over_the_lines_of_batches(out: Path) -> None:
    """The snippets of docs/batches.md: Python, and jq where it is installed."""
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = expire_once(2)
        await served.run(ROWS[:4], wait=0)
        await served.run(ROWS)
        assert sum("row" not in line for line in read_lines(out)) > 6
        with open(out) as lines:  # noqa: ASYNC230
            rows = {line["row"]: line for line in map(json.loads, lines) if "row" in line}
        assert {number: line["output"] for number, line in rows.items()} == EXPECTED


# -- where it runs


@pytest.mark.both_loops
async def test_leaving_the_run_leaves_its_batch_under_way(out: Path) -> None:
    """A task that is cancelled, as by Ctrl-C."""
    async with serve_batches(OPENAI, out) as served:
        served.server.batches.plan = BatchPlan(seconds=3_000_000)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(served.run, ROWS)
            await wait_until(lambda: has_id(out))
            tasks.cancel_scope.cancel()
        served.server.batches.submitted[0].plan = BatchPlan()
        assert (await served.run(ROWS)).ok == 6
        assert len(served.server.batches.submitted) == 1


def test_from_sync_code(out: Path) -> None:
    with serve(OPENAI.make_format(), answer(OPENAI)) as server:
        model = OPENAI.make_model(server.url)
        report = run_batch(model, ROWS, out, via="provider", wait=30)
        assert (report.ok, report.pending, outputs(out)) == (6, 0, EXPECTED)
        report = run_batch(model, [*ROWS, "row 6"], out, via="provider", wait=0)
        assert (report.ok, report.pending) == (6, 1)


async def test_a_run_that_ends_waits_for_no_room() -> None:
    """Five minutes are for the provider, and not for a run that has failed."""
    stopping = anyio.Event()
    with virtual_clock() as time:
        patience = Patience(None, stopping)

        async def stop() -> None:
            await time.sleep(1)
            stopping.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            with pytest.raises(NotNow):
                await patience.pause(300, anyio.Event())
        assert time.now() == 1


@pytest.mark.both_loops
async def test_a_live_call_at_the_same_time_is_a_call_of_its_own(out: Path) -> None:
    """A service asks what a row asks, too, with the same cache: it gets its answer, and not the request of the row."""
    async with serve_batches(OPENAI, out) as served:
        model = served.model(cache=InMemoryCache())
        replies: list[str] = []

        async def ask() -> None:
            replies.append((await model.ainvoke("row 0")).text)

        async def take() -> None:
            assert await take_request(model, "row 0") is not None

        async with anyio.create_task_group() as tasks:
            for one in (take, ask, take, ask):
                tasks.start_soon(one)
        assert replies == ["ROW 0"] * 2
