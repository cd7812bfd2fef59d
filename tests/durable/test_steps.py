"""Steps, and sleep: made once in the life of a run, whoever executes it."""

import functools
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from hocket.durable import current_run, sleep, step, wait_for
from hocket.errors import InvalidInput, InvalidRequest, OutcomeUnknown, RateLimitError, RunFailed, StepFailed
from tests.durable.conftest import RELEASE, Calendar, Once, until, until_true, work


async def test_a_step_is_made_once(either_url: str):
    """What a step returned is returned again in the next process, on SQLite and PostgreSQL."""
    once = Once()

    async def report(topic: str) -> list[str]:
        said = await step(once.act, topic)
        await wait_for(RELEASE)
        return [said, await step(once.act, f"{topic} again")]

    async with work(either_url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    assert once.calls == ["tea"]
    async with work(either_url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal(RELEASE)
        assert await run.aresult() == ["tea", "tea again"]
        assert (await run.ainfo()).attempts == 2
    assert once.calls == ["tea", "tea again"]


async def test_a_step_that_was_begun_is_not_made_again(url: str):
    """Its outcome is unknown; the run fails, until somebody has it made again."""
    once = Once()

    async def report(topic: str) -> str:
        return await step(once.hang, topic, key="mail")

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: once.calls)
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        with pytest.raises(RunFailed, match="step:mail") as caught:
            await run.aresult()
        assert (caught.value.kind, caught.value.id) == ("OutcomeUnknown", "a")
        assert once.calls == ["tea"]
        await run.aresume()  # without rerun="always" it is as unknown as before
        assert (await until(run, "failed")).attempts == 3
        once.is_held = False
        await run.aresume(rerun="always")
        assert await run.aresult() == "TEA"
    assert once.calls == ["tea", "tea"]


async def test_a_function_may_handle_an_unknown_outcome(url: str):
    """It gets the error with the key, and goes on; the next process takes the same way."""
    once = Once()

    async def report(topic: str) -> str:
        try:
            return await step(once.hang, topic)
        except OutcomeUnknown as error:
            assert error.key.startswith("step:Once.hang:")
        await wait_for(RELEASE)
        return "look it up"

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: once.calls)
    for life in (2, 3):
        async with work(url, report) as durable:
            run = await durable.astart("tea", id="a")
            await until(run, "waiting", attempts=life)
    async with work(url, report) as durable:
        await run.asignal(RELEASE)
        assert await durable.ainvoke("tea", id="a") == "look it up"
    assert once.calls == ["tea"]


async def test_an_idempotent_step_is_made_again(url: str):
    """Where a process died in it."""
    once = Once()

    async def report(topic: str) -> str:
        return await step(once.hang, topic, idempotent=True)

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: once.calls)
    once.is_held = False
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == "TEA"
    assert once.calls == ["tea", "tea"]


class OwnError(Exception):
    """An error of a class that no other process need know."""


class Demanding(LookupError):
    """An error that is made of two things."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} in {where}")


RAISED: list[tuple[Callable[[], Exception], type[Exception], str]] = [
    (lambda: ValueError("odd"), ValueError, "odd"),
    (lambda: KeyError("tea"), KeyError, "'tea'"),
    (lambda: FileNotFoundError(2, "is not there", "tea.txt"), FileNotFoundError, "[Errno 2] is not there: 'tea.txt'"),
    (lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), UnicodeDecodeError, "'utf-8' codec can't decode"),
    (lambda: InvalidRequest("no such model", provider="p"), InvalidRequest, "p: invalid_request: no such model"),
    (lambda: OutcomeUnknown("nobody knows", "step:a"), OutcomeUnknown, "nobody knows"),
    (lambda: OwnError("mine"), StepFailed, "OwnError: mine"),
    (lambda: Demanding("tea", "box"), StepFailed, "Demanding: tea in box"),
    (lambda: ExceptionGroup("both", [ValueError("a")]), StepFailed, "ExceptionGroup: both"),
    (lambda: StopAsyncIteration("over"), StepFailed, "StopAsyncIteration: over"),
]


async def test_an_error_is_the_same_each_time(url: str):
    """A step's error is raised as itself or as `StepFailed`, the first time and from the record; it is not made again."""
    made: list[Exception] = []
    seen: list[list[Exception]] = []

    async def fail(at: int) -> None:
        made.append(RAISED[at][0]())
        raise made[-1]

    async def report(topic: str) -> str:
        raised: list[Exception] = []
        for at in range(len(RAISED)):
            try:
                await step(fail, at)
            except Exception as error:
                raised.append(error)
        seen.append(raised)
        await wait_for(RELEASE)
        return "handled"

    for _ in range(2):
        async with work(url, report) as durable:
            await durable.astart("tea", id="a")
            before = len(seen)
            await until_true(lambda before=before: len(seen) > before)
    assert len(made) == len(RAISED)
    for (_, kind, text), cause, first, second in zip(RAISED, made, *seen, strict=True):
        assert type(first) is type(second) is kind
        assert str(first) == str(second)
        assert str(first).startswith(text)
        assert (first.__cause__, second.__cause__) == (cause, None)
        assert vars(first) == vars(second)
        assert first.args == second.args


async def test_what_an_error_knows_is_kept(url: str):
    """Code that looks at the facts of an error finds them each time."""
    seen: list[Any] = []

    def look_up() -> str:
        return {"a": "b"}["tea"]

    async def ask() -> str:
        raise RateLimitError("too many", provider="p", status=429, retryable=True, retry_after=3.5)

    async def report(topic: str) -> str:
        for call in (look_up, ask):
            try:
                await step(call)
            except KeyError as error:
                seen.append(error.args)
            except RateLimitError as error:
                seen.append((error.status, error.retryable, error.retry_after))
        await wait_for(RELEASE)
        return "handled"

    for count in (2, 4):
        async with work(url, report) as durable:
            await durable.astart("tea", id="a")
            await until_true(lambda count=count: len(seen) == count)
    assert seen == [("tea",), (429, True, 3.5)] * 2


async def test_a_result_that_cannot_be_stored(url: str):
    """The step has failed with `InvalidInput`, and is not made again."""
    calls: list[str] = []

    def connect() -> object:
        calls.append("connect")
        return object()

    async def report(topic: str) -> str:
        await step(connect)
        return "never"

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        for _ in range(2):
            with pytest.raises(RunFailed, match="connect") as caught:
                await run.aresult()
            assert caught.value.kind == "InvalidInput"
            await run.aresume()
            await until(run, "failed")
    assert calls == ["connect"]


async def test_equal_steps_side_by_side(url: str):
    """Two steps that ask the same are interchangeable: what one of them has is not made by the other again."""
    once = Once()
    done: list[str] = []

    async def send(text: str) -> str:
        once.calls.append(text)
        if len(once.calls) == 1:
            await anyio.sleep_forever()
        return text

    async def report(topic: str) -> list[str]:
        said: list[str] = []

        async def make() -> None:
            said.append(await step(send, topic, idempotent=True))
            done.append("done")

        async with anyio.create_task_group() as group:
            group.start_soon(make)
            group.start_soon(make)
        return said

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: done)
    assert len(once.calls) == 2
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == ["tea", "tea"]
    assert len(once.calls) == 3


async def test_the_order_of_steps_may_change(url: str):
    """Steps are found by what they are asked, in whichever order code reaches them."""
    once = Once()
    orders = iter([[1, 2, 3], [3, 1, 2]])

    async def report(topic: str) -> list[int]:
        said = [await step(once.act, at) for at in next(orders)]
        await wait_for(RELEASE)
        return said

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal(RELEASE)
        assert await run.aresult() == [3, 1, 2]
    assert once.calls == [1, 2, 3]


async def test_partial_functions_are_told_apart(url: str):
    """By what they are partial of, and the arguments that they have."""
    once = Once()
    orders = iter([["a", "b"], ["b", "a"]])

    async def report(topic: str) -> list[str]:
        said = [await step(functools.partial(once.act, text)) for text in next(orders)]
        await wait_for(RELEASE)
        return said

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal(RELEASE)
        assert await run.aresult() == ["b", "a"]
    assert once.calls == ["a", "b"]


async def test_a_lambda_needs_a_key(url: str):
    """It has no name by which its step would be known again; a key is one."""

    async def report(is_named: bool) -> int:
        return await step(lambda: 3, key="three" if is_named else None)

    async with work(url, report) as durable:
        assert await durable.ainvoke(True) == 3
        with pytest.raises(RunFailed, match="lambda"):
            await durable.ainvoke(False)


async def test_a_step_inside_a_step_is_a_part_of_it(url: str):
    """The outer one is recorded, with all that it did; nothing inside waits or is recorded."""
    once = Once()
    names: list[str] = []

    async def outer(text: str) -> str:
        run = current_run()
        assert run is not None
        names.append(run.id)
        await sleep(0)
        with pytest.raises(InvalidInput, match="inside a durable run"):
            await wait_for("nothing")
        return str(await step(once.act, text))

    async def report(topic: str) -> str:
        said = await step(outer, topic)
        await wait_for(RELEASE)
        return said

    for life in (1, 2):
        async with work(url, report) as durable:
            await until(await durable.astart("tea", id="a"), "waiting", attempts=life)
    assert (once.calls, names) == (["tea"], ["a"])


async def test_outside_of_a_run():
    """A step is a call, and a sleep a sleep; a signal cannot come."""
    once = Once()
    assert await step(once.act, "tea") == "tea"
    assert await step(str.upper, "tea") == "TEA"
    await sleep(0)
    assert current_run() is None
    with pytest.raises(InvalidInput, match="inside a durable run"):
        await wait_for("release")


async def test_a_sleep_of_days(url: str, calendar: Calendar):
    """It ends three days after the first time, however often it is begun again."""

    async def report(topic: str) -> str:
        await sleep(3 * 86_400)
        return topic

    for life in (1, 2, 3):
        async with work(url, report) as durable:
            info = await until(await durable.astart("tea", id="a"), "waiting", attempts=life)
            assert info.waiting_for == ["sleep"]
        calendar.ahead += 86_390  # in the third life half a minute is left
    calendar.ahead += 30
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == "tea"


async def test_two_equal_sleeps_are_two(url: str, calendar: Calendar):
    """One that has passed does not stand for the next that is as long."""

    async def report(topic: str) -> str:
        await sleep(100)
        await sleep(100)
        return topic

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    calendar.ahead = 150
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until(run, "waiting", attempts=2)
        with pytest.raises(TimeoutError):
            await run.aresult(timeout=0.3)
    calendar.ahead = 300
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == "tea"


@pytest.mark.parametrize("seconds", [-1, "3", float("nan"), float("inf"), True, None])
async def test_seconds_are_a_number(seconds: Any):
    """Of at least 0, inside of a run and outside."""
    with pytest.raises(InvalidInput, match="seconds"):
        await sleep(seconds)
