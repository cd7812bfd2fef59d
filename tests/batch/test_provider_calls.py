"""Which call of a chain has the answer that a batch brought for its row."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket.batch import read_batch
from hocket.caches import InMemoryCache
from hocket.prompts import PromptTemplate
from hocket.runnables import Runnable, RunnableLambda, RunnableParallel
from hocket.testing import Reply
from tests.batch.providers import PROVIDERS
from tests.kit.batches import serve_batches

OPENAI = PROVIDERS[0]
ROWS = ["x", "y"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def outputs(out: Path) -> dict[int, Any]:
    return {row.row: row.output for row in read_batch(out)}


def ask(word: str, model: Any, pauses: Iterator[float] | None = None) -> Runnable[Any, str]:
    """Return a branch that asks "WORD of ROW", at times after a pause."""

    async def wait(row: str) -> str:
        if pauses is not None:
            await anyio.sleep(next(pauses))
        return row

    return RunnableLambda(wait) | PromptTemplate.from_template(word + " of {row}") | model | (lambda said: said.content)


def swap_pauses(count: int) -> tuple[Iterator[float], Iterator[float]]:
    """Return the pauses of two branches: the first one comes first for as many calls, and last ever after."""
    return iter([0.0] * count + [0.2] * 9), iter([0.2] * count + [0.0] * 9)


async def test_side_by_side_each_call_has_its_own_answer(out: Path) -> None:
    """Whichever branch comes first when the answers are read."""
    first, second = swap_pauses(len(ROWS))
    async with serve_batches(OPENAI, out) as served:
        model = served.model()
        chain = RunnableParallel(a=ask("a", model, first), b=ask("b", model, second))
        report = await served.run(ROWS, model=chain, retry_via="live")
        assert report.ok == 2
        assert outputs(out) == {0: {"a": "A OF X", "b": "B OF X"}, 1: {"a": "A OF Y", "b": "B OF Y"}}
        assert [served.count_asked(f"{word} of x") for word in "ab"] == [1, 0]


async def test_without_live_calls_a_second_call_ends_its_row(out: Path) -> None:
    """Even where the chain would take the failure of a call for an answer."""
    first, second = swap_pauses(len(ROWS))
    async with serve_batches(OPENAI, out) as served:
        model = served.model()

        def or_nothing(branch: Runnable[Any, str]) -> Runnable[Any, str]:
            return branch.with_fallbacks([RunnableLambda(lambda _: "nothing")])

        chain = RunnableParallel(a=or_nothing(ask("a", model, first)), b=or_nothing(ask("b", model, second)))
        report = await served.run(ROWS, model=chain)
        assert (report.ok, report.errors) == (0, {"Unsupported": 2})
        assert "retry_via=" in str(next(read_batch(out)).error)


@pytest.mark.parametrize("retry_via", ["live", "provider"])
async def test_a_call_whose_answer_left_the_cache_does_not_take_that_of_the_next(out: Path, retry_via: str) -> None:
    async with serve_batches(OPENAI, out) as served:
        cache = InMemoryCache()
        first, second = ask("kind", served.model(cache=cache)), ask("answer", served.model())
        chain = first | second
        assert await first.ainvoke("x") == "KIND OF X"

        async def forget() -> None:
            while not served.server.batches.submitted:  # noqa: ASYNC110  # what is looked at is no event
                await anyio.sleep(0.001)
            await cache.aclear()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forget)
            report = await served.run(["x"], model=chain, retry_via=retry_via)
        if retry_via == "live":
            assert (report.ok, outputs(out)) == (1, {0: "ANSWER OF KIND OF X"})
            assert served.count_asked("answer of KIND OF X") == 1
        else:
            assert (report.ok, report.errors) == (0, {"Unsupported": 1})


async def test_a_prompt_that_says_the_time_has_its_answer(out: Path) -> None:
    """Where a row makes one call, the answer is its own, though the request is not the same to the letter."""
    async with serve_batches(OPENAI, out, lambda request: Reply("noon")) as served:
        times = iter(range(9))
        chain = RunnableLambda(lambda row: f"{row} at {next(times)}") | served.model()
        report = await served.run(["x"], model=chain)
        assert (report.ok, next(times)) == (1, 2)


async def test_an_answer_that_no_call_asked_for_is_not_used(out: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Beside live calls it may be that of another call. The log says that it is paid."""
    async with serve_batches(OPENAI, out) as served:
        times = iter(range(9))
        chain = RunnableLambda(lambda row: f"{row} at {next(times)}") | served.model() | (lambda said: said.content)
        with caplog.at_level(logging.WARNING, "hocket.batch"):
            report = await served.run(["x"], model=chain, retry_via="live")
        assert (report.ok, outputs(out)) == (1, {0: "X AT 1"})
        assert "row 0 asks something else than was submitted" in caplog.text
