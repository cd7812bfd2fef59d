"""A bulk run: every row once, in a file that a run which was killed, stopped or cancelled goes on with."""

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from pydantic import BaseModel

from benchmarks.bulk_killed import run_killed
from hocket.batch import (
    BatchBusy,
    BatchFileFailed,
    BatchReport,
    BatchRow,
    ResumeMismatch,
    arun_batch,
    read_batch,
    run_batch,
)
from hocket.batch.runner import MOST_LINES
from hocket.budgets import Budget
from hocket.errors import AuthenticationError, BudgetExceeded, InvalidInput
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessage, HumanMessage
from hocket.prices import Price, set_prices
from hocket.providers.openai import ChatOpenAI
from hocket.runnables import RunnableLambda
from hocket.testing import OpenAIFormat, Reply, Status, serve
from tests.kit import warm
from tests.kit.notebooks import require_packages


class Echo:
    """Answers with what it is asked, in capitals; fails, or waits, where it is told to."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.fails: set[Any] = set()
        self.error: Exception = ValueError("not this one")
        self.waits: set[Any] = set()
        self.most = 0
        self.running = 0
        self.all_wait = anyio.Event()

    async def __call__(self, row: Any) -> Any:
        self.asked.append(row)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await anyio.lowlevel.checkpoint()
            if row in self.waits:
                self.all_wait.set()
                await anyio.sleep_forever()
        finally:
            self.running -= 1
        if row in self.fails:
            raise self.error
        return str(row).upper()

    @property
    def chain(self) -> RunnableLambda[Any, Any]:
        return RunnableLambda(self, name="echo")


def read_rows(path: Path) -> list[BatchRow]:
    return sorted(read_batch(path), key=lambda row: row.row)


def read(path: Path) -> list[Any]:
    """Return the answers, in the order of the rows."""
    return [row.output for row in read_rows(path)]


async def outputs(path: Path) -> list[Any]:
    return await to_thread.run_sync(read, path)


async def rows_of(path: Path) -> list[BatchRow]:
    return await to_thread.run_sync(read_rows, path)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def test_every_row_is_answered_once(echo: Echo, out: Path) -> None:
    """From a list, no more at once than asked for."""
    rows = [f"row {number}" for number in range(500)]
    report = await arun_batch(echo.chain, rows, out, max_concurrency=7)
    assert (report.rows, report.ok, report.failed, report.skipped, report.stopped) == (500, 500, 0, 0, None)
    assert [(row.row, row.output) for row in await rows_of(out)] == [(n, f"ROW {n}") for n in range(500)]
    assert Counter(echo.asked).most_common(1)[0][1] == 1
    assert echo.most <= 7


async def test_rows_come_from_anything_that_is_iterated(echo: Echo, out: Path, tmp_path: Path) -> None:
    """A generator, read as it is needed; an async one."""

    def generate() -> Iterator[str]:
        yield from "abc"

    async def agenerate() -> AsyncIterator[str]:
        for letter in "abc":
            yield letter

    for number, rows in enumerate((generate(), agenerate(), ("a", "b", "c"), dict.fromkeys("abc"))):
        await arun_batch(echo.chain, rows, tmp_path / f"{number}.jsonl")
        assert await outputs(tmp_path / f"{number}.jsonl") == ["A", "B", "C"]
    with pytest.raises(InvalidInput, match="rows is str; it must be a list"):
        await arun_batch(echo.chain, "abc", out)


async def test_a_run_goes_on_where_it_was(echo: Echo, out: Path) -> None:
    """Rows that failed are lines, and asked again, unless told otherwise."""
    echo.fails = {"b"}
    report = await arun_batch(echo.chain, ["a", "b"], out)
    assert (report.ok, report.failed) == (1, 1)
    assert (await rows_of(out))[1].error == {"type": "ValueError", "message": "not this one"}
    report = await arun_batch(echo.chain, ["a", "b", "c"], out, retry_failed=False)
    assert (report.ok, report.failed, report.skipped) == (2, 1, 2)
    echo.fails.clear()
    report = await arun_batch(echo.chain, ["a", "b", "c"], out)
    assert (report.ok, report.failed, report.skipped) == (3, 0, 2)
    assert echo.asked == ["a", "b", "c", "b"]
    assert await outputs(out) == ["A", "B", "C"]


async def test_other_rows_or_another_model_are_refused(echo: Echo, out: Path) -> None:
    """Unless they are to be asked again."""
    await arun_batch(echo.chain, ["a", "b"], out)
    with pytest.raises(ResumeMismatch, match=r"row 1 of .* is the answer to something else"):
        await arun_batch(echo.chain, ["a", "x"], out)
    with pytest.raises(ResumeMismatch, match="holds the answers of another model"):
        await arun_batch(echo.chain, ["a", "b"], out, version="2")
    report = await arun_batch(echo.chain, ["a", "x"], out, on_mismatch="redo")
    assert await outputs(out) == ["A", "X"]
    report = await arun_batch(echo.chain, ["a", "x"], out, version="2", on_mismatch="redo")
    assert (report.rows, report.skipped) == (2, 0)
    assert await outputs(out) == ["A", "X"]


async def test_a_second_runner_is_refused(echo: Echo, out: Path) -> None:
    """Two would write every row twice."""
    echo.waits = {"a"}
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: arun_batch(echo.chain, ["a"], out))
        await echo.all_wait.wait()
        with pytest.raises(BatchBusy, match="another run writes to"):
            await arun_batch(echo.chain, ["a"], out)
        group.cancel_scope.cancel()
    echo.waits.clear()
    assert (await arun_batch(echo.chain, ["a"], out)).ok == 1


@pytest.mark.parametrize("ticks", range(12))
async def test_a_run_that_is_cancelled_while_it_opens_its_file_lets_go_of_it(echo: Echo, out: Path, ticks: int) -> None:
    """At whichever moment: the next run can have the file."""
    await anyio.Path(out).write_text('{"hocket_batch":1,"fingerprint":"v"}\n' + "\n" * 2000)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: arun_batch(echo.chain, ["a"], out, version="v"))
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    for _ in range(5_000):
        with suppress(BatchBusy):  # the thread that was left is still at it
            assert (await arun_batch(echo.chain, ["a"], out, version="v")).ok == 1
            return
    pytest.fail("nobody has let go of the file")


async def test_a_cancelled_run_keeps_what_is_done(echo: Echo, out: Path) -> None:
    """What was in flight is not in the file."""
    echo.waits = {"c"}
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: arun_batch(echo.chain, ["a", "b", "c"], out))
            await echo.all_wait.wait()
            scope.cancel()
    assert set(await outputs(out)) <= {"A", "B"}
    echo.waits.clear()
    assert (await arun_batch(echo.chain, ["a", "b", "c"], out)).ok == 3


def test_a_cut_line_never_happened(echo: Echo, out: Path) -> None:
    """As a crash may leave it: its row is asked again."""
    run_batch(echo.chain, ["a", "b"], out)
    whole = out.read_bytes()
    for cut in range(whole.index(b"\n") + 2, len(whole)):
        out.write_bytes(whole[:cut])
        report = run_batch(echo.chain, ["a", "b"], out)
        assert (report.rows, report.ok) == (2, 2)
        assert read(out) == ["A", "B"]


FOREIGN = [b'{"some": "data"}\n', b"not JSON\n", b'{"hocket_batch":2,"fingerprint":"x"}\n', b"[]\n"]


@pytest.mark.parametrize("content", FOREIGN)
def test_other_files_are_refused(echo: Echo, out: Path, content: bytes) -> None:
    """And stay as they are; so is a directory."""
    out.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"no file of a batch|of version 2"):
        run_batch(echo.chain, ["a"], out)
    assert out.read_bytes() == content
    with pytest.raises(InvalidInput, match="a directory"):
        run_batch(echo.chain, ["a"], out.parent)


async def test_an_error_that_all_rows_would_meet_ends_the_run(out: Path) -> None:
    """A key that is refused makes one failure, not a million lines."""
    async with serve(OpenAIFormat(), lambda request: Status(401)) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
        with pytest.raises(AuthenticationError):
            await arun_batch(model, (f"row {n}" for n in range(100_000)), out, max_concurrency=5)
        assert len(server.requests) <= 5
    assert await rows_of(out) == []


async def test_usage_and_cost_over_all_attempts_and_runs(out: Path) -> None:
    """Each row's own in its line, the sum in the report."""
    set_prices({"m": Price(1, 2)})
    try:
        script = [Status(503), Reply("one two"), Reply("three")]
        async with serve(OpenAIFormat(), script) as server:
            model = ChatOpenAI(model="m", base_url=server.url, api_key="k", retry=2)
            await arun_batch(model, ["a row"], out)
            report = await arun_batch(model, ["a row", "b"], out)
            billed = server.tokens_billed
    finally:
        set_prices({"m": None})
    first, second = await rows_of(out)
    assert (first.attempts, first.usage, first.cost) == (
        2,
        {"input_tokens": 2, "output_tokens": 2, "total_tokens": 4},
        Decimal("0.000006"),
    )
    assert (second.attempts, second.cost) == (1, Decimal("0.000003"))
    assert report.usage["total_tokens"] == billed == 6
    assert (report.cost, report.unpriced) == (Decimal("0.000009"), 0)


async def test_a_budget_that_is_used_up_stops_the_run_cleanly(out: Path) -> None:
    """What is in flight is finished, no row is a failure, and with more money it goes on."""
    async with serve(OpenAIFormat(), lambda request: Reply("yes")) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", max_tokens=1, budget=Budget(tokens=60))
        rows = [f"row {number}" for number in range(50)]
        report = await arun_batch(model, rows, out, max_concurrency=4)
        assert isinstance(report.stopped, BudgetExceeded)
        assert 0 < report.ok < 50
        assert report.failed == 0
        model.budget = None
        assert (await arun_batch(model, rows, out)).ok == 50
        assert len(server.requests) == 50


async def test_ids_and_outputs(out: Path) -> None:
    """Texts, messages with calls, objects and data; what has no JSON is a failure of its row."""

    class Thing(BaseModel):
        name: str

    call = {"name": "f", "args": {"x": 1}, "id": "1", "type": "tool_call"}
    answers: dict[str, Any] = {
        "text": AIMessage("hello"),
        "calls": AIMessage("", tool_calls=[call]),
        "object": Thing(name="x"),
        "data": {"a": [1, None, Thing(name="y")]},
        "odd": object(),
    }
    rows = [{"key": key} for key in answers]
    await arun_batch(RunnableLambda(lambda row: answers[row["key"]]), rows, out, id="key")
    done = {row.id: row for row in await rows_of(out)}
    assert done["text"].output == "hello"
    assert done["calls"].output == {"content": "", "tool_calls": [call]}
    assert done["object"].output == {"name": "x"}
    assert done["data"].output == {"a": [1, None, {"name": "y"}]}
    assert done["odd"].error is not None
    assert done["odd"].error["message"].startswith("the answer is a object, which is no JSON")


async def test_rows_may_be_conversations(out: Path) -> None:
    """Their digests are the same in the next process, though their ids are not."""
    for _ in range(2):
        report = await arun_batch(ScriptedChatModel(script=[Turn(text="hi")]), [[HumanMessage("hello")]], out)
    assert (report.ok, report.skipped) == (1, 1)


async def test_progress(echo: Echo, out: Path) -> None:
    """At the end at the latest; sync or async."""
    told: list[int] = []

    async def tell(report: BatchReport) -> None:
        told.append(report.rows)

    await arun_batch(echo.chain, ["a", "b"], out, progress=tell)
    assert told[-1] == 2
    await arun_batch(echo.chain, ["a", "b", "c"], out, progress=lambda report: told.append(report.rows))
    assert told[-1] == 3


async def test_a_progress_bar(echo: Echo, out: Path) -> None:
    """Is moved on to where the file is, earlier runs included, and stays open."""

    class Bar:
        at, words = 0, ""

        def update(self, n: int, /) -> None:
            self.at += n

        def set_postfix(self, words: dict[str, object], *, refresh: bool) -> None:
            self.words = str(words)

    echo.fails = {"b"}
    bar = Bar()
    await arun_batch(echo.chain, ["a", "b"], out, progress=bar)
    assert bar.at == 2 and bar.words == "{'failed': 1, 'cost': '$0.00'}"
    again = Bar()
    await arun_batch(echo.chain, ["a", "b", "c"], out, progress=again)
    assert again.at == 3
    with pytest.raises(InvalidInput, match=r"progress is a class: make one, as in progress=Bar\(total="):
        await arun_batch(echo.chain, ["a"], out, progress=Bar)
    with pytest.raises(InvalidInput, match="progress is int"):
        await arun_batch(echo.chain, ["a"], out, progress=3)  # type: ignore[arg-type]


def test_the_bar_of_tqdm(echo: Echo, out: Path) -> None:
    """And the verbs that give answers as they come go through it as they are."""
    require_packages("tqdm")
    from tqdm import tqdm

    shown = io.StringIO()
    with tqdm(total=3, file=shown) as bar:
        run_batch(echo.chain, ["a", "b", "c"], out, progress=bar)
    assert bar.n == 3 and "3/3" in shown.getvalue() and "cost=$0.00" in shown.getvalue()
    answers = tqdm(echo.chain.batch_as_completed(["a", "b"]), total=2, file=shown)
    assert dict(answers) == {0: "A", 1: "B"}


def test_the_sync_face(echo: Echo, out: Path) -> None:
    """The same, without a loop."""
    assert run_batch(echo.chain, ["a"], out, fsync=True).ok == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"max_consecutive_failures": 0}, "max_consecutive_failures is 0; it must be 1 or more, or None"),
        ({"on_mismatch": "ignore"}, "on_mismatch is 'ignore'"),
        ({"model": len}, "builtin_function_or_method is not runnable"),
        ({"out": ""}, "out is empty"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_arguments_that_are_of_no_use(echo: Echo, out: Path, options: dict[str, Any], text: str) -> None:
    """Refused at once."""
    with pytest.raises(InvalidInput, match=text):
        run_batch(**{"model": echo.chain, "rows": ["a"], "out": out, **options})


async def test_rows_that_fail_to_come_end_the_run(echo: Echo, out: Path) -> None:
    """With their own error; what was done is in the file."""

    def generate() -> Iterator[str]:
        yield "a"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await arun_batch(echo.chain, generate(), out)
    assert len(await rows_of(out)) <= 1


@pytest.mark.parametrize(
    "line",
    [
        "",
        "<<<<<<< a merge",
        '{"row":0,"output":"cut by hand',
        "[" * 100_000,
        "[]",
        '{"row":1000000000000,"digest":1}',
        '{"row":-1,"digest":1}',
        '{"row":0,"digest":99999999999}',
        '{"row":0,"digest":1,"cost":"much"}',
        '{"row":0,"digest":1,"usage":7}',
        '{"digest":1}',
    ],
)
def test_a_line_that_cannot_be_read_costs_no_other(
    echo: Echo, out: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Wherever it stands it is counted, and stays; nothing that was paid is asked again, and nothing is cut off."""
    rows = list("abcde")
    run_batch(echo.chain, rows, out, max_concurrency=1)
    lines = out.read_text().splitlines(keepends=True)
    for place in (1, 3, 6):
        text = "".join([*lines[:place], line + "\n", *lines[place:]])
        out.write_text(text)
        echo.asked.clear()
        report = run_batch(echo.chain, rows, out)
        assert (report.ok, report.skipped, report.unreadable, echo.asked) == (5, 5, 1, [])
        assert "1 lines of the file could not be read" in report._repr_html_()
        assert read(out) == list("ABCDE")
        assert out.read_text() == text
    assert "1 of its lines cannot be read" in caplog.text


def test_a_row_whose_line_is_damaged_is_asked_again(echo: Echo, out: Path) -> None:
    """It, and no other; the damaged line stays beside the new one."""
    run_batch(echo.chain, ["a", "b", "c"], out, max_concurrency=1)
    damaged = out.read_bytes().replace(b'"B"', b'"B')
    out.write_bytes(damaged)
    echo.asked.clear()
    report = run_batch(echo.chain, ["a", "b", "c"], out)
    assert (report.ok, report.skipped, report.unreadable, echo.asked) == (3, 2, 1, ["b"])
    assert out.read_bytes().startswith(damaged)
    assert read(out) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("tail", "unreadable"), [(b"", 0), (b'{"row":2,"output":"hal', 0), (b"\0\0\0", 0), (b"a note", 1)]
)
def test_a_last_line_without_an_end(echo: Echo, out: Path, tail: bytes, unreadable: int) -> None:
    """Whole, it is a row; what a killed run has left of one never happened; whatever else it is, it stays."""
    run_batch(echo.chain, ["a", "b"], out)
    whole = out.read_bytes()
    out.write_bytes(whole + tail if tail else whole[:-1])
    echo.asked.clear()
    assert read(out) == ["A", "B"]
    report = run_batch(echo.chain, ["a", "b", "c"], out)
    assert (report.skipped, report.unreadable, echo.asked) == (2, unreadable, ["c"])
    assert out.read_bytes().startswith(whole + tail + b"\n{" if unreadable else whole + b"{")
    assert read(out) == ["A", "B", "C"]


@pytest.mark.parametrize(
    "text", [b"my notes, and no end of a line", b"\n" * 30 + b'{"hocket_batch":1,"fingerprint":"f"}\n']
)
def test_a_file_that_does_not_begin_as_one_of_a_batch_stays(echo: Echo, out: Path, text: bytes) -> None:
    """Also one without the end of a line, which looks like what a killed run has left."""
    out.write_bytes(text)
    with pytest.raises(InvalidInput, match="is no file of a batch"):
        run_batch(echo.chain, ["a"], out)
    with pytest.raises(InvalidInput, match="is no file of a batch"):
        read(out)
    assert out.read_bytes() == text


async def test_an_error_of_who_is_told_ends_the_run_with_itself(
    echo: Echo, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not with a group of errors."""
    monkeypatch.setattr("hocket.batch.runner.PROGRESS_EVERY", 0)

    def tell(report: BatchReport) -> None:
        raise ValueError("the screen is gone")

    with pytest.raises(ValueError, match="the screen is gone"):
        await arun_batch(echo.chain, ["a"], out, progress=tell)


def test_a_disk_that_is_full_leaves_whole_lines(echo: Echo, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends with the disk's error, and goes on when there is room."""
    write, budget = os.write, [400]

    def fill(file: int, data: memoryview) -> int:
        if not os.path.samestat(os.fstat(file), os.stat(out)):
            return write(file, data)
        if budget[0] <= 0:
            raise OSError(28, "No space left on device")
        count = write(file, data[: budget[0]])
        budget[0] -= count
        return count

    monkeypatch.setattr("hocket.batch.journal.os.write", fill)
    with pytest.raises(
        BatchFileFailed, match=r"answers.jsonl: No space left on device; when that is mended, run it again"
    ):
        run_batch(echo.chain, [f"row {number}" for number in range(100)], out)
    monkeypatch.undo()
    assert not out.read_bytes() or out.read_bytes().endswith(b"\n")
    assert run_batch(echo.chain, [f"row {number}" for number in range(100)], out).ok == 100
    with pytest.raises(BatchFileFailed, match=r"nowhere/a.jsonl: No such file"):
        run_batch(echo.chain, ["a"], out.parent / "nowhere" / "a.jsonl")


def test_a_reader_sees_whole_lines(echo: Echo, out: Path) -> None:
    """The last one may be under way."""
    run_batch(echo.chain, ["a"], out)
    with open(out, "ab") as file:
        file.write(b'{"row": 1, "out')
    assert read(out) == ["A"]


KILLED = """
    import os, signal, sys, anyio
    from hocket.batch import run_batch
    from hocket.runnables import RunnableLambda
    path, asked, kill_at = sys.argv[1], sys.argv[2], int(sys.argv[3])
    count = 0
    async def ask(row):
        global count
        count += 1
        with open(asked, "a") as file:
            file.write(f"{row}\\n")
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        await anyio.sleep(0.002)
        return row * 2
    run_batch(RunnableLambda(ask, name="double"), range(600), path, max_concurrency=10)
"""


def test_killed_at_any_point_no_row_is_lost_or_answered_twice(out: Path, tmp_path: Path) -> None:
    """Asked twice at most is what was in flight, and what the last 50 ms brought."""
    asked = tmp_path / "asked.txt"
    for kill_at in (60, 150, 1, 200, 10**9):
        code = warm.run("-c", textwrap.dedent(KILLED), str(out), str(asked), str(kill_at)).returncode
        assert code in (-signal.SIGKILL, 0)
    assert code == 0
    rows = list(read_batch(out))
    assert sorted((row.row, row.output) for row in rows) == [(number, 2 * number) for number in range(600)]
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 601
    twice = len(asked.read_text().split()) - 600
    assert 0 < twice <= 411  # all that the four that were killed had asked for; far fewer on an idle machine


def test_killed_at_random_points_it_asks_twice_for_what_was_not_written_at_most(tmp_path: Path) -> None:
    """Three thousand rows, three kills from outside. In lines, since a busy machine has its own idea of 50 ms.

    `python -m benchmarks --only bulk-killed` does so with 100,000 rows, and holds it to the 50 ms.
    """
    at_once = 10
    got = run_killed(3_000, at_once, 3, str(tmp_path))
    assert (got.lost, got.twice) == (0, 0)
    # Being written, waiting to be written, and in flight.
    assert max(got.billed_twice) <= 2 * (MOST_LINES + at_once) + at_once
    assert 0 < got.skipped < 3_000


def test_memory_is_flat(tmp_path: Path) -> None:
    """A row takes five bytes, whatever it says."""
    code = """
    import resource, sys
    from hocket.batch import run_batch
    from hocket.runnables import RunnableLambda
    def measure(count, path):
        run_batch(RunnableLambda(lambda row: "x" * 1000, name="x"), ("row " * 50 for _ in range(count)), path)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    small = measure(1_000, sys.argv[1] + "1")
    large = measure(10_000, sys.argv[1] + "2")
    print(large - small)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "out")]
    done = subprocess.run(command, timeout=300, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 8_000  # kB; the answers alone are 10 MB


async def test_a_row_is_more_than_what_is_asked(echo: Echo, out: Path) -> None:
    """``input`` says what of a row is asked, ``write`` what its line says; a row that has changed is another one."""
    rows = [{"id": 7, "ask": "a", "label": "x"}, {"id": 8, "ask": "b", "label": "y"}]

    def write(row: dict[str, Any], answer: str, seconds: float) -> dict[str, Any]:
        return {"answer": answer, "label": row["label"], "took": seconds >= 0}

    options: dict[str, Any] = {"id": "id", "input": lambda row: row["ask"], "write": write}
    await arun_batch(RunnableLambda(echo), rows, out, **options)
    assert sorted(echo.asked) == ["a", "b"]
    assert sorted((row.id, row.output["label"]) for row in read_batch(out)) == [(7, "x"), (8, "y")]  # type: ignore[index]
    with pytest.raises(ResumeMismatch):
        await arun_batch(RunnableLambda(echo), [{**rows[0], "label": "z"}], out, **options)


async def test_what_reads_or_writes_a_row_may_fail(echo: Echo, out: Path) -> None:
    for options in ({"input": lambda row: row["no"]}, {"write": lambda row, answer, seconds: 1 / 0}):
        report = await arun_batch(RunnableLambda(echo), [{"a": 1}], out, on_mismatch="redo", **options)
        assert (report.ok, report.failed) == (0, 1)


async def test_which_failures_are_asked_again(echo: Echo, out: Path) -> None:
    echo.fails = {"a", "b"}
    await arun_batch(RunnableLambda(echo), ["a", "b", "c"], out)
    echo.asked.clear()
    report = await arun_batch(RunnableLambda(echo), ["a", "b", "c"], out, retry_failed=lambda row: row.row == 1)
    assert echo.asked == ["b"] and (report.ok, report.failed, report.skipped) == (1, 2, 2)
