"""Rows of a bulk run that fail: which are told of, and when they end the run."""

import io
import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from hocket.batch import BatchReport, BatchRow, TooManyFailures, arun_batch, read_batch
from hocket.batch.streak import FailureStreak
from hocket.errors import ConnectionFailed, InvalidInput, RateLimitError
from hocket.language_models import ScriptedChatModel, Turn
from hocket.providers.openai import ChatOpenAI
from hocket.rate_limiters import RateLimiter
from hocket.runnables import RunnableLambda
from hocket.testing import VirtualClock
from tests.kit.notebooks import require_packages


async def read(path: Path) -> list[BatchRow]:
    return await to_thread.run_sync(lambda: sorted(read_batch(path), key=lambda row: row.row))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


class Chain:
    """Answers with what it is asked; fails where it is told to."""

    def __init__(self, *fails: Any) -> None:
        self.fails = set(fails)
        self.asked: list[Any] = []

    async def __call__(self, row: Any) -> Any:
        self.asked.append(row)
        await anyio.lowlevel.checkpoint()
        if row in self.fails:
            raise ValueError(f"not {row}")
        return row

    @property
    def runnable(self) -> RunnableLambda[Any, Any]:
        return RunnableLambda(self, name="chain")


ROWS = [{"id": n, "text": f"row {n}"} for n in range(50)]


@pytest.mark.parametrize(
    ("rows", "id", "text"),
    [
        (ROWS, "idd", r"id is 'idd', which row 0 does not have; it has \['id', 'text'\]; did you mean 'id'\?$"),
        (ROWS, "number", r"it has \['id', 'text'\]$"),
        (["a", "b"], "id", "id is 'id', a key, and row 0 is no mapping but str; give a function of a row"),
        (ROWS, lambda row: row["idd"], "id is a function that fails for row 0: KeyError: 'idd'"),
    ],
    ids=["misspelt", "other", "texts", "function"],
)
async def test_an_id_that_no_row_has_is_refused_before_anything_is_asked(
    out: Path, rows: list[Any], id: Any, text: str
) -> None:
    """At the first row, also of a run that goes on; the file has no row of it."""
    asked: list[Any] = []
    chain = RunnableLambda(lambda row: asked.append(row) or "yes", name="chain")
    with pytest.raises(InvalidInput, match=text):
        await arun_batch(chain, rows, out, id=id)
    assert (asked, await read(out)) == ([], [])
    await arun_batch(chain, rows, out)
    with pytest.raises(InvalidInput, match=text):
        await arun_batch(chain, rows, out, id=id)
    assert len(asked) == len(rows)


async def test_a_later_row_without_its_id_fails_alone(out: Path) -> None:
    """It is not asked; its line says which columns it has, and the next run asks for it."""
    asked: list[Any] = []
    chain = RunnableLambda(lambda row: asked.append(row) or "yes", name="chain")
    rows: list[dict[str, Any]] = [{"id": 1}, {"idd": 2}, {"id": 3}]
    report = await arun_batch(chain, rows, out, id="id")
    assert (report.ok, report.failed, len(asked)) == (2, 1, 2)
    row = (await read(out))[1]
    assert row.error == {
        "type": "InvalidInput",
        "message": "id is 'id', which row 1 does not have; it has ['idd']; did you mean 'idd'?",
    }
    assert row.attempts == 0
    report = await arun_batch(chain, rows, out, id=lambda row: row.get("id"))
    assert (report.ok, report.failed, len(asked)) == (3, 0, 3)


async def test_a_server_that_is_down_ends_the_run(out: Path) -> None:
    """After so many rows in a row; the error says how many, of what, and how to go on."""
    model = ChatOpenAI(model="m", base_url="http://127.0.0.1:9/v1", api_key="k", retry=1)
    rows = [f"row {number}" for number in range(1000)]
    with pytest.raises(
        TooManyFailures, match=r"^20 rows in a row failed, the last one with ConnectionFailed: "
    ) as told:
        await arun_batch(model, rows, out, max_concurrency=5, max_consecutive_failures=20)
    assert "run it again: it goes on where it was" in str(told.value)
    assert "or raise max_consecutive_failures=20" in str(told.value)
    assert isinstance(told.value.__cause__, ConnectionFailed)
    done = await read(out)
    assert 20 <= len(done) < 25 and all(row.error is not None for row in done)


async def test_rows_wait_for_a_slow_limit(out: Path, virtual_clock: VirtualClock) -> None:
    """A hundred rows at once, five a second, and two seconds for each call: no row fails for want of a turn."""
    model = ScriptedChatModel(script=["ok"] * 200, rate_limiter=RateLimiter(300), timeout=2)
    report = await arun_batch(model, list(map(str, range(200))), out)
    assert (report.ok, report.failed, len(model.requests)) == (200, 0, 200)
    assert 39 <= virtual_clock.now() <= 45


async def test_a_refusal_of_the_server_is_a_failure_of_the_row(out: Path) -> None:
    """Also one that says when to ask again: the model has done that, as often as its policy says."""
    model = ScriptedChatModel(script=[Turn(error=RateLimitError("slow down", retry_after=1)), "ok"], retry=None)
    report = await arun_batch(model, ["a", "b"], out, max_concurrency=1)
    assert (report.ok, report.failed, len(model.requests)) == (1, 1, 2)


async def test_the_next_run_goes_on(out: Path) -> None:
    """What failed is asked again, each row is answered once."""
    rows = list(range(300))
    broken, mended = Chain(*range(50, 300)), Chain()
    with pytest.raises(TooManyFailures, match=r"100 rows in a row failed, .* with ValueError: not"):
        await arun_batch(broken.runnable, rows, out, max_concurrency=10)
    assert len(broken.asked) < 160
    report = await arun_batch(mended.runnable, rows, out)
    assert (report.ok, report.failed) == (300, 0)
    assert sorted(mended.asked) == list(range(50, 300))


async def test_failures_between_answers_do_not_end_it(out: Path) -> None:
    """However many; nor do any where it is never to end."""
    rows = list(range(300))
    some = Chain(*(row for row in rows if row % 10))
    report = await arun_batch(some.runnable, rows, out, max_consecutive_failures=10)
    assert (report.ok, report.failed) == (30, 270)
    report = await arun_batch(Chain(*rows).runnable, rows, out, max_consecutive_failures=None)
    assert (report.ok, report.failed) == (30, 270)


async def test_quick_failures_beside_slow_answers_do_not_end_it(out: Path) -> None:
    """In a row are those that were asked one after another, whichever ended first."""
    rows = list(range(200))
    go = anyio.Event()
    failed: list[int] = []

    async def answer(row: int) -> int:
        if row % 2:
            failed.append(row)
            if len(failed) == 100:
                go.set()
            raise ValueError(f"not {row}")
        await go.wait()
        return row

    report = await arun_batch(RunnableLambda(answer), rows, out, max_concurrency=200, max_consecutive_failures=20)
    assert (report.ok, report.failed) == (100, 100)


@pytest.mark.parametrize("seed", range(5))
def test_a_streak_is_found_whatever_ends_first(seed: int) -> None:
    """Against counting it afterwards."""
    chance = random.Random(seed)
    places = list(range(200))
    fails = {place for place in places if chance.random() < 0.8}
    streak = FailureStreak(12)
    assert [streak.begin() for _ in places] == places
    chance.shuffle(places)
    found = any([streak.fail(place) for place in places if place in fails])
    text = "".join("x" if place in fails else "." for place in range(200))
    assert found == ("x" * 12 in text)


async def test_the_report_has_the_first_failures(out: Path) -> None:
    """And how many there are, by class; of this run only."""
    rows = [{"id": f"a{number}"} for number in range(30)]

    def answer(row: dict[str, str]) -> str:
        if row["id"] == "a0":
            return "yes"
        raise KeyError("x") if row["id"] == "a3" else ValueError("<not> this one")

    report = await arun_batch(RunnableLambda(answer), rows, out, id="id", max_concurrency=1)
    assert report.errors == {"ValueError": 28, "KeyError": 1}
    assert [failure.row for failure in report.failures] == list(range(1, 11))
    assert (report.failures[0].id, report.failures[0].error) == (
        "a1",
        {"type": "ValueError", "message": "<not> this one"},
    )
    shown = report._repr_html_()
    assert "<td>ValueError</td><td>28</td>" in shown
    assert "row 1 (a1): ValueError: &lt;not&gt; this one" in shown
    again = await arun_batch(RunnableLambda(answer), rows, out, id="id", retry_failed=False)
    assert (again.failed, again.errors, again.failures) == (29, {}, [])
    assert "ValueError" not in again._repr_html_()


async def test_progress_tells_of_failed_rows(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A function finds them in the report; tqdm writes each once, above the bar."""
    named: list[int] = []

    def show(report: BatchReport) -> None:
        named.extend(failure.row for failure in report.failures[len(named) :])

    await arun_batch(Chain(1, 2).runnable, [0, 1, 2], out, progress=show)
    assert sorted(named) == [1, 2]

    require_packages("tqdm")
    from tqdm import tqdm

    shown = io.StringIO()
    with tqdm(total=3, file=shown) as bar:
        await arun_batch(Chain(1, 2).runnable, [0, 1, 2], out, progress=bar)
    for line in ("row 1: ValueError: not 1", "row 2: ValueError: not 2"):
        assert shown.getvalue().count(line) == 1
    assert capsys.readouterr().out == ""
