"""Many calls at once: results where they belong, inputs pulled as needed, and nothing left behind by a failure."""

import asyncio
import gc
import itertools
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast
from uuid import uuid4

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput
from hocket.runnables import Runnable, RunnableConfig


class Work(Runnable[Any, Any]):
    """Gives its input back, and knows how many calls are under way."""

    def __init__(self) -> None:
        self.active = self.most = self.done = 0
        self.configs: list[RunnableConfig | None] = []
        self.cancelled: list[Any] = []

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        self.active += 1
        self.most = max(self.most, self.active)
        self.configs.append(config)
        try:
            return await self.work(input, **kwargs)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(input)
            raise
        finally:
            self.active -= 1
            self.done += 1

    async def work(self, input: Any, **kwargs: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if isinstance(input, BaseException):
            raise input
        if isinstance(input, float):
            await anyio.sleep(input)
        return input


async def from_generator(items: Any) -> AsyncIterator[Any]:
    for item in items:
        await anyio.lowlevel.checkpoint()
        yield item


class OnlyAsync:
    """An async iterable that is no generator."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __aiter__(self) -> AsyncIterator[Any]:
        return from_generator(self.items)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda items: (item for item in items),
    "iterator": iter,
    "dict": dict.fromkeys,
    "async generator": from_generator,
    "async iterable": OnlyAsync,
}


# -- results


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("limit", [None, 1, 3])
async def test_results_are_in_the_order_of_the_inputs(shape: str, limit: int | None) -> None:
    """BCM-10: any iterable, sync or async, however many at a time."""
    inputs = SHAPES[shape](range(20))
    assert await Work().abatch(inputs, {"max_concurrency": limit}) == list(range(20))


@pytest.mark.parametrize("shape", SHAPES)
async def test_results_come_with_their_index(shape: str) -> None:
    """BCM-11: as they come, each with the index of its input."""
    outcomes = [outcome async for outcome in Work().abatch_as_completed(SHAPES[shape](range(20)))]
    assert sorted(outcomes) == [(index, index) for index in range(20)]


async def test_a_slow_input_comes_last() -> None:
    """BCM-11: in the order of finishing; the slow one holds up nobody."""

    class Patient(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            while input == "slow" and self.done < 2:
                await anyio.lowlevel.checkpoint()
            return input

    inputs = ["slow", "a", "b"]
    assert [index async for index, _ in Patient().abatch_as_completed(inputs)] == [1, 2, 0]
    assert await Patient().abatch(inputs) == inputs


async def test_no_input_gives_no_result() -> None:
    """BCM-10: an empty iterable of any shape."""
    for shape in SHAPES.values():
        assert await Work().abatch(shape([])) == []
        assert [outcome async for outcome in Work().abatch_as_completed(shape([]))] == []


async def test_a_failure_is_in_its_own_place() -> None:
    """BCM-10: five inputs, the third fails: with ``return_exceptions`` its exception is its outcome, as itself."""
    error = KeyError("x")
    inputs = ["a", "b", error, "d", "e"]
    assert await Work().abatch(inputs, return_exceptions=True) == inputs
    outcomes = [outcome async for outcome in Work().abatch_as_completed(inputs, return_exceptions=True)]
    assert dict(outcomes) == dict(enumerate(inputs))


async def test_a_failure_is_raised_as_itself() -> None:
    """BCM-10: the item's own error, not a group of one."""
    error = KeyError("x")
    with pytest.raises(KeyError) as raised:
        await Work().abatch(["a", error])
    assert raised.value is error
    with pytest.raises(KeyError) as raised:
        [outcome async for outcome in Work().abatch_as_completed(["a", error])]
    assert raised.value is error


@pytest.mark.parametrize("as_completed", [False, True])
async def test_a_failure_cancels_its_siblings(as_completed: bool) -> None:
    """BCM-10, BCM-11: no call goes on when the batch has raised, and no further input is pulled."""
    work = Work()
    pulled: list[Any] = []

    def inputs() -> Iterator[Any]:
        for item in [60.0, 60.0, KeyError("x"), *range(1000)]:
            pulled.append(item)
            yield item

    with pytest.raises(KeyError), anyio.fail_after(30):
        if as_completed:
            [outcome async for outcome in work.abatch_as_completed(inputs(), {"max_concurrency": 3})]
        else:
            await work.abatch(inputs(), {"max_concurrency": 3})
    assert work.cancelled == [60.0, 60.0]
    assert work.active == 0
    assert len(pulled) < 10


@pytest.mark.parametrize("return_exceptions", [False, True])
async def test_what_is_no_exception_ends_the_batch(return_exceptions: bool) -> None:
    """BCM-10: a BaseException, Ctrl-C for one, is nobody's outcome: it is raised, and the others are cancelled."""

    class Stop(BaseException):
        pass

    work = Work()
    with pytest.raises(Stop), anyio.fail_after(30):
        await work.abatch([60.0, Stop()], return_exceptions=return_exceptions)
    assert (work.cancelled, work.active) == ([60.0], 0)


def test_a_call_that_cancels_itself_ends_the_batch() -> None:
    """BCM-10: CancelledError raised by a call itself is an error like any other."""
    work = Work()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work.abatch([60.0, asyncio.CancelledError()]))
    assert work.active == 0


async def test_a_cancelled_batch_cancels_its_calls() -> None:
    """BCM-10: with the caller every call goes, also if one answers with an error of its own."""

    class Sulking(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            if self.active == 3:
                scope.cancel()
            try:
                await anyio.sleep(60)
            except anyio.get_cancelled_exc_class():
                if input == 1:
                    raise OSError("busy") from None
                raise

    work = Sulking()
    errors: list[Exception] = []
    with anyio.CancelScope() as scope:
        try:
            await work.abatch([0, 1, 2])
        except Exception as error:
            errors.append(error)
    assert [type(error) for error in errors] in ([], [OSError])
    assert (work.active, work.done) == (0, 3)


async def test_a_batch_that_is_left_early_cancels_its_calls() -> None:
    """BCM-11: who leaves the results as they come leaves no call behind."""
    work = Work()
    async with work.abatch_as_completed([0, 60.0, 60.0]) as outcomes:
        async for _ in outcomes:
            break
    assert (work.active, work.cancelled) == (0, [60.0, 60.0])


outcomes_of_items = st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=30)


@pytest.mark.parametrize("shape", ["list", "generator", "async generator"])
@given(items=outcomes_of_items, limit=st.one_of(st.none(), st.integers(1, 8)))
def test_results_are_index_true(shape: str, items: list[tuple[bool, int]], limit: int | None) -> None:
    """BCM-10, BCM-11: whatever fails, and in whatever order calls end, result i is that of input i."""

    class Unsteady(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            index, (fails, turns) = input
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            if fails:
                raise KeyError(index)
            return index

    async def check() -> None:
        config: RunnableConfig = {"max_concurrency": limit}
        inputs = list(enumerate(items))
        work = Unsteady()
        results = await work.abatch(SHAPES[shape](inputs), config, return_exceptions=True)
        as_completed = work.abatch_as_completed(SHAPES[shape](inputs), config, return_exceptions=True)
        outcomes = {index: outcome async for index, outcome in as_completed}
        for index, (fails, _) in enumerate(items):
            for outcome in (results[index], outcomes[index]):
                assert (outcome.args == (index,)) if fails else (outcome == index)
        assert len(results) == len(outcomes) == len(items)
        assert work.most <= (limit or 100)

    anyio.run(check)


# -- inputs


@pytest.mark.parametrize("shape", ["generator", "async generator"])
async def test_inputs_are_pulled_as_needed(shape: str) -> None:
    """BCM-10: of an endless iterable no more is pulled than calls are under way."""
    work = Work()
    pulled = itertools.count()
    ahead: list[int] = []

    class Watching(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            ahead.append(input - self.done)
            if input == 500:
                raise EOFError
            return input

    work = Watching()
    with pytest.raises(EOFError):
        await work.abatch(SHAPES[shape](pulled), {"max_concurrency": 5})
    assert max(ahead) <= 5
    assert next(pulled) < 600


async def test_no_more_tasks_than_calls() -> None:
    """BCM-10: a long batch has `max_concurrency` calls and tasks, and not a task for every input."""
    tasks: list[int] = []

    class Counting(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            tasks.append(len(anyio.get_running_tasks()))
            return input

    before = len(anyio.get_running_tasks())
    work = Counting()
    await work.abatch(range(500), {"max_concurrency": 7})
    assert work.most == 7
    assert max(tasks) <= before + 7 + 1


async def test_a_hundred_at_a_time() -> None:
    """BCM-10: without `max_concurrency`, a hundred calls are under way."""
    met = anyio.Event()

    class Meeting(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            if self.active == 100:
                met.set()
            await met.wait()

    work = Meeting()
    with anyio.fail_after(30):
        await work.abatch(range(300))
    assert work.most == 100


async def test_an_iterable_that_fails() -> None:
    """BCM-10: an error of the inputs themselves is raised, and the calls under way are cancelled."""
    work = Work()

    def inputs() -> Iterator[Any]:
        yield 60.0
        raise EOFError("no more")

    async def async_inputs() -> AsyncIterator[Any]:
        for item in inputs():
            yield item

    for given_ in (inputs(), async_inputs()):
        with pytest.raises(EOFError, match="no more"), anyio.fail_after(30):
            await work.abatch(given_)
    assert (work.active, work.cancelled) == (0, [60.0, 60.0])


@pytest.mark.parametrize("inputs", ["abc", b"abc", 42, None], ids=repr)
async def test_inputs_must_be_iterable(inputs: Any) -> None:
    """BCM-10: a text is one input and not a batch of letters; the error names the type."""
    with pytest.raises(InvalidInput, match=type(inputs).__name__):
        await Work().abatch(inputs)


# -- configs


async def test_a_config_for_every_item() -> None:
    """BCM-10: one config goes to every call; its run id to the first alone."""
    run_id = uuid4()
    work = Work()
    await work.abatch([1, 2, 3], {"tags": ["t"], "run_id": run_id, "max_concurrency": 1})
    assert [cast(Any, config)["tags"] for config in work.configs] == [["t"]] * 3
    assert [cast(Any, config).get("run_id") for config in work.configs] == [run_id, None, None]


async def test_a_config_for_each_item() -> None:
    """BCM-10: a list of configs, one for each; the first says how many at a time."""
    work = Work()
    configs: list[RunnableConfig] = [{"tags": [str(index)], "max_concurrency": 1} for index in range(3)]
    await work.abatch(range(3), configs)
    assert work.configs == configs
    assert work.most == 1


@pytest.mark.parametrize(("shape", "count"), [("list", 1), ("list", 4), ("generator", 1)])
async def test_configs_must_be_as_many_as_the_inputs(shape: str, count: int) -> None:
    """BCM-10: too few or too many are refused; where the inputs cannot be counted, too few are, at the first without."""
    with pytest.raises(InvalidInput, match="configs were given"):
        await Work().abatch(SHAPES[shape](range(3)), [{}] * count)


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_of_nothing_is_refused(limit: int) -> None:
    """BCM-10: `max_concurrency` is at least 1."""
    with pytest.raises(InvalidInput, match=f"max_concurrency is {limit}"):
        await Work().abatch([1], {"max_concurrency": limit})


async def test_arguments_go_to_every_call() -> None:
    """BCM-10: keyword arguments of a batch are those of its calls."""

    class Keyed(Work):
        async def work(self, input: Any, **kwargs: Any) -> Any:
            return input, kwargs

    assert await Keyed().abatch([1, 2], stop=["."]) == [(1, {"stop": ["."]}), (2, {"stop": ["."]})]


# -- sync faces


def test_a_batch_in_sync_code() -> None:
    """BCM-10, BCM-11: the sync verbs are the same batch, on the kept loop; an error is raised as itself."""
    error = KeyError("x")
    assert Work().batch(range(20), {"max_concurrency": 3}) == list(range(20))
    assert sorted(Work().batch_as_completed(range(20))) == [(index, index) for index in range(20)]
    assert Work().batch(["a", error], return_exceptions=True) == ["a", error]
    with pytest.raises(KeyError):
        Work().batch(["a", error, 60.0])


class SyncWork(Runnable[int, int]):
    """A runnable with sync code alone."""

    def invoke(self, input: int, config: RunnableConfig | None = None, **kwargs: Any) -> int:
        return input * 2


def test_sync_code_runs_at_once_in_worker_threads() -> None:
    """BCM-10: calls of sync code wait for one another in threads: they are under way at the same time."""
    barrier = threading.Barrier(8, timeout=30)

    class Meeting(SyncWork):
        def invoke(self, input: int, config: RunnableConfig | None = None, **kwargs: Any) -> int:
            barrier.wait()
            return input

    assert Meeting().batch(range(8)) == list(range(8))


# -- size


async def test_memory_stays_flat() -> None:
    """BCM-11: twenty thousand items through `abatch_as_completed` leave nothing behind."""

    class Quick(Runnable[int, bytes]):
        async def ainvoke(self, input: int, config: RunnableConfig | None = None, **kwargs: Any) -> bytes:
            return bytes(100)

    async def consume(count: int) -> int:
        total = 0
        async for _, outcome in Quick().abatch_as_completed(range(count)):
            total += len(outcome)
        return total

    await consume(1000)
    gc.collect()
    tracemalloc.start()
    try:
        assert await consume(20_000) == 2_000_000
        gc.collect()  # else what is counted is how long ago the collector came by
        grown, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 100_000
    assert peak < 1_000_000
