"""Rows through a provider's batches: the same rows, the same file, nothing lost and nothing twice."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hocket.batch import BatchFailed, BatchPending, acancel_batch, arun_batch, read_batch
from hocket.caches import InMemoryCache
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import InvalidInput, Unsupported
from hocket.language_models import FakeListChatModel
from hocket.ledger import CallbackLedger, LedgerEntry
from hocket.output_parsers import JsonOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import RunnableLambda
from hocket.testing import BatchPlan, Hangup, Reply, Status
from hocket.testing.server.submitted_batch import SubmittedBatch
from tests.batch.providers import PROVIDERS
from tests.kit.batches import Provider, read_lines, serve_batches

ROWS = [f"row {number}" for number in range(12)]


@pytest.fixture(
    params=[
        pytest.param(one, id=str(one), marks=[] if one.name in ("openai", "anthropic") else [pytest.mark.nightly])
        for one in PROVIDERS
    ]
)
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def outputs(out: Path) -> dict[int, Any]:
    return {row.row: row.output for row in read_batch(out)}


EXPECTED = {number: row.upper() for number, row in enumerate(ROWS)}


@pytest.mark.both_loops
@pytest.mark.parametrize("provider", PROVIDERS, ids=str, indirect=True)
async def test_rows_are_answered_by_one_batch(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=3600, queued=600, in_order=False)
        report = await served.run(ROWS)
        assert (report.ok, report.failed, report.pending, report.stopped) == (12, 0, 0, None)
        assert outputs(out) == EXPECTED
        [batch] = served.server.batches.submitted
        assert set(served.server.batches.executed_ids.values()) == {1}
        again = await served.run(ROWS)
        assert (again.ok, again.skipped) == (12, 12)
        assert len(served.server.batches.submitted) == 1
        key = read_lines(out)[2]["batch"]
        assert [row.custom_id for row in batch.rows] == [f"{key}-{number}" for number in range(12)]


async def test_a_chain_with_a_prompt_and_a_parser(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out, lambda request: Reply('{"mood": "good"}')) as served:
        chain = ChatPromptTemplate.from_messages([("human", "Read {text}")]) | served.model() | JsonOutputParser()
        report = await served.run([{"text": "a"}, {"text": "b"}], model=chain)
        assert report.ok == 2
        assert outputs(out) == {0: {"mood": "good"}, 1: {"mood": "good"}}


async def test_without_time_to_wait_rows_are_left_and_collected_later(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=3_000)
        first = await served.run(ROWS, wait=0)
        assert (first.ok, first.pending) == (0, 12)
        assert isinstance(first.stopped, BatchPending)
        second = await served.run(ROWS, wait=1000)
        assert (second.ok, second.pending) == (0, 12)
        third = await served.run(ROWS)
        assert (third.ok, third.pending, third.stopped) == (12, 0, None)
        assert outputs(out) == EXPECTED
        assert len(served.server.batches.submitted) == 1


async def test_what_a_batch_left_is_asked_in_the_next(provider: Provider, out: Path) -> None:
    def plan(batch: Any) -> BatchPlan:
        # Rows that stand in one document cannot be cut one by one.
        garbled = "expired" if provider.name == "google" else "garbled"
        fates = [("expired", {1, 5}), (garbled, {7})] if batch.number == 0 else []
        return BatchPlan(
            seconds=100,
            rows=lambda row: next((fate for fate, rows in fates if row.number in rows), None),
        )

    async with serve_batches(provider, out) as served:
        served.server.batches.plan = plan
        report = await served.run(ROWS)
        assert (report.ok, report.failed) == (12, 0)
        assert outputs(out) == EXPECTED
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [12, 3]
        assert served.count_asked("row 1") >= 1
        assert {row.attempts for row in read_batch(out) if row.row in (1, 5, 7)} == {2}


async def test_a_row_that_always_expires_fails_after_three_batches(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = lambda batch: BatchPlan(
            seconds=100, rows=lambda row: "expired" if "2" in row.custom_id.rpartition("-")[2] else None
        )
        report = await served.run(ROWS[:3])
        assert (report.ok, report.failed, report.errors) == (2, 1, {"BatchExpired": 1})
        assert len(served.server.batches.submitted) == 3
        served.server.batches.plan = BatchPlan()
        assert (await served.run(ROWS[:3])).ok == 3


async def test_three_batches_are_the_most_over_runs_too(provider: Provider, out: Path) -> None:
    """A program that never waits does not send a row that always expires into one batch after another, for ever."""
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=1, rows=lambda row: "expired")
        for _ in range(10):
            report = await served.run(ROWS[:2], wait=0, retry_failed=False)
            await served.clock.sleep(100)
        assert len(served.server.batches.submitted) == 3
        assert (report.failed, report.pending) == (2, 0)
        assert {(row.error or {})["type"] for row in read_batch(out)} == {"BatchExpired"}
        served.server.batches.plan = BatchPlan(seconds=1000)
        for _ in range(2):  # asked again, they have three batches once more; each is counted once, by its last try
            report = await served.run(ROWS[:2], wait=0)
            assert (report.failed, report.pending) == (0, 2)
        await served.clock.sleep(2000)
        report = await served.run(ROWS[:2])
        assert (report.ok, report.failed, report.pending) == (2, 0, 0)


def drop_rows(out: Path) -> None:
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(line for line in lines if not line.startswith(b'{"row":')))


async def test_rows_that_were_to_be_asked_live_are_after_a_kill_too(provider: Provider, out: Path) -> None:
    """No second batch, and no second day, for what a run was about to ask at once."""
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=100, rows=lambda row: "expired")
        await served.run(ROWS, retry_via="live")
        drop_rows(out)  # as if it was killed before the first one
        report = await served.run(ROWS, retry_via="live")
        assert (report.ok, report.pending) == (len(ROWS), 0)
        assert len(served.server.batches.submitted) == 1
        assert {row.attempts for row in read_batch(out)} == {2}


async def test_an_error_that_passes_is_asked_again_and_one_that_does_not_stays(provider: Provider, out: Path) -> None:
    seen: dict[str, int] = {}

    def script(request: Any) -> Any:
        text = provider.read_prompt(request.json)
        seen[text] = seen.get(text, 0) + 1
        if text == "row 0" and seen[text] == 1:
            return Status(429, "slow down")
        if text == "row 1":
            return Status(400, "no")
        return Reply(text.upper())

    async with serve_batches(provider, out, script) as served:
        report = await served.run(ROWS[:3])
        assert (report.ok, report.failed, report.errors) == (2, 1, {"InvalidRequest": 1})
        assert seen == {"row 0": 2, "row 1": 1, "row 2": 1}


async def test_with_retry_via_live_the_rest_is_asked_at_once(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(
            seconds=100, rows=lambda row: "expired" if row.number in (3, 4) else None
        )
        report = await served.run(ROWS, retry_via="live")
        assert report.ok == 12
        assert outputs(out) == EXPECTED
        assert len(served.server.batches.submitted) == 1
        assert served.count_asked("row 3") == 0


@pytest.mark.parametrize("endpoint", ["upload", "create", "get", "list", "results"])
@pytest.mark.parametrize("effect", [False, True], ids=["refused", "lost"])
async def test_a_disturbed_endpoint_costs_no_row(provider: Provider, out: Path, endpoint: str, effect: bool) -> None:
    how = (lambda reply: Hangup()) if effect else Status(500, "no")
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=100)
        served.server.batches.disturb("create", lambda reply: Hangup())
        served.server.batches.disturb(endpoint, how, times=2)
        report = await served.run(ROWS)
        assert (report.ok, report.failed) == (12, 0)
        assert outputs(out) == EXPECTED
        assert set(served.server.batches.executed_ids.values()) == {1}
        live = [batch for batch in served.server.batches.submitted if batch.state != "cancelled"]
        assert len(live) == 1


async def test_a_lagging_list_does_not_make_a_second_batch(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=100)
        served.server.batches.list_lag = 45
        served.server.batches.disturb("create", lambda reply: Status(500, "no"))
        assert (await served.run(ROWS)).ok == 12
        assert len(served.server.batches.submitted) == 1


async def test_a_server_that_keeps_no_metadata_gets_no_second_batch(out: Path) -> None:
    """The results say whose it is; a batch of others, with another number of rows, is not waited for."""
    openai = PROVIDERS[0]

    def forget(batch: SubmittedBatch) -> BatchPlan:
        batch.document = {**batch.document, "metadata": None}
        return BatchPlan(seconds=100 if len(batch.rows) == len(ROWS) else 10_000_000)

    async with serve_batches(openai, out) as served:
        served.server.batches.plan = forget
        report = await arun_batch(served.model(), ["other"], out.with_suffix(".other"), via="provider", wait=0)
        assert report.pending == 1
        served.server.batches.disturb("create", lambda reply: Hangup())
        report = await served.run(ROWS)
        assert (report.ok, len(served.server.batches.submitted)) == (12, 2)


async def test_a_failed_batch_ends_the_run_and_leaves_its_rows_open(provider: Provider, out: Path) -> None:
    if provider.name == "anthropic":
        pytest.skip("a batch of Anthropic never fails whole")
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(
            seconds=100, end="failed", code="3" if provider.name == "google" else "invalid_json", message="line 3"
        )
        with pytest.raises(BatchFailed, match="line 3"):
            await served.run(ROWS)
        served.server.batches.plan = BatchPlan()
        assert (await served.run(ROWS)).ok == 12


async def test_a_refusal_ends_the_run(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.is_offered = False
        with pytest.raises(Unsupported, match="leave via out"):
            await served.run(ROWS)
        assert not served.server.batches.submitted
        report = await served.run(ROWS, via="live")
        assert report.ok == 12


async def test_a_run_goes_from_live_to_batch_and_back(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=5000)
        assert (await served.run(ROWS[:4], via="live")).ok == 4
        assert (await served.run(ROWS[:8], wait=0)).pending == 4
        report = await served.run(ROWS, via="live")
        assert (report.ok, report.pending) == (12, 0)
        assert outputs(out) == EXPECTED
        assert sum(served.server.batches.executed_ids.values()) == 4


async def test_cancelled_batches_are_collected_and_the_rest_is_asked(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=80_000)
        assert (await served.run(ROWS, wait=0)).pending == 12
        assert await acancel_batch(served.model(), out) == 1
        assert await acancel_batch(served.model(), out) == 1
        served.server.batches.plan = BatchPlan()
        report = await served.run(ROWS)
        assert (report.ok, report.pending) == (12, 0)
        assert outputs(out) == EXPECTED


async def test_a_cache_answers_before_and_is_filled_after(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        model = served.model(cache=InMemoryCache())
        await model.ainvoke("row 0")
        report = await served.run(ROWS, model=model)
        assert report.ok == 12
        assert outputs(out) == EXPECTED
        assert [len(batch.rows) for batch in served.server.batches.submitted] == [11]
        asked = len(served.server.requests)
        assert (await model.ainvoke("row 5")).text == "ROW 5"
        assert len(served.server.requests) == asked


async def test_equal_rows_are_asked_once_where_a_cache_has_the_answer(provider: Provider, out: Path) -> None:
    async with serve_batches(provider, out) as served:
        rows = ["same", "other", "same", "same"]
        report = await served.run(rows, model=served.model(cache=InMemoryCache()))
        assert report.ok == 4
        assert outputs(out) == {0: "SAME", 1: "OTHER", 2: "SAME", 3: "SAME"}
        assert sum(served.server.batches.executed_ids.values()) == 2


async def test_an_agents_second_request_goes_live_or_is_refused(provider: Provider, out: Path) -> None:
    """A chain that asks twice."""
    async with serve_batches(provider, out) as served:
        model = served.model()

        async def ask_twice(row: str) -> str:
            first = await model.ainvoke(row)
            return (await model.ainvoke(f"again {first.text}")).text

        chain = RunnableLambda(ask_twice)
        report = await served.run(ROWS[:2], model=chain)
        assert (report.failed, report.errors) == (2, {"Unsupported": 2})
        report = await served.run(ROWS[:2], model=chain, retry_via="live")
        assert report.ok == 2
        assert outputs(out) == {0: "AGAIN ROW 0", 1: "AGAIN ROW 1"}


async def test_handlers_and_ledgers_hear_of_each_row_once(provider: Provider, out: Path) -> None:
    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.events: list[str] = []

        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            self.events.append("chain")

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            self.events.append("start")

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            self.events.append("end")

    heard, booked = Heard(), list[LedgerEntry]()
    ledger = CallbackLedger(booked.append)
    async with serve_batches(provider, out) as served:
        chain = RunnableLambda(lambda row: row) | served.model(callbacks=[heard], ledger=ledger)
        report = await served.run(ROWS[:3], model=chain.with_config(callbacks=[heard]))
        assert report.ok == 3
        assert Counter(heard.events) == {"chain": 6, "start": 3, "end": 3}
        await ledger.aflush()
        assert len(booked) == 3
        assert {entry.metadata["batch"] for entry in booked} == {read_lines(out)[2]["batch"]}


async def test_odd_arguments_are_refused_before_anything_is_sent(out: Path) -> None:
    model = FakeListChatModel(responses=["a"])
    for arguments, words in (
        ({"via": "post"}, 'via is .post.; it must be "live" or "provider"'),
        ({"retry_via": "live"}, 'give via="provider", too'),
        ({"wait": 0}, 'give via="provider", too'),
        ({"via": "provider", "wait": -1}, "wait is -1"),
        ({"via": "provider", "retry_via": "never"}, "retry_via is"),
    ):
        with pytest.raises(InvalidInput, match=words):
            await arun_batch(model, ["a"], out, **arguments)  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="FakeListChatModel has none"):
        await arun_batch(model, ["a"], out, via="provider")
    assert not out.exists()  # noqa: ASYNC240
