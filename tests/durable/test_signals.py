"""Signals: what a run is told while it works, waits, or has not asked yet."""

from typing import Any

import anyio
import pytest

from hocket.durable import Run, open_runs, sleep, step, wait_for
from hocket.errors import InvalidInput, UnknownRun
from hocket.messages import AIMessage
from tests.durable.conftest import RELEASE, Calendar, Once, until, until_true, work


async def until_told(run: Run[Any], *names: str) -> None:
    """Return as soon as the run waits for these, and has taken all that it was sent."""
    store = run._store
    while await store.find_signals([run.id]) or sorted((await run.ainfo()).waiting_for) != sorted(names):  # noqa: ASYNC110  # in another thread
        await anyio.sleep(0.01)


async def test_a_signal_is_kept(either_url: str):
    """A signal that comes before it is waited for is there, and each is taken once, in their order."""

    async def report(topic: str) -> list[Any]:
        await wait_for("begin")
        return [await wait_for("word"), await wait_for("word"), await wait_for("other")]

    async with work(either_url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal("word", {"first": [1, 2.5, None]})
        await run.asignal("other", AIMessage("hi"))
        await run.asignal("word", "second")
        await run.asignal("begin")
        assert await run.aresult() == [{"first": [1, 2.5, None]}, "second", AIMessage("hi")]


async def test_a_signal_while_nobody_works(url: str):
    """It is there for the process that goes on; the run need not have asked yet."""

    async def report(topic: str) -> Any:
        return [await wait_for(RELEASE), await wait_for("late")]

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    other = open_runs(url)
    await other.run("a").asignal("late", "b")
    await other.run("a").asignal(RELEASE, "a")
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == ["a", "b"]


async def test_a_signal_is_not_taken_twice(url: str):
    """What a dead process has taken is the value of that wait, and not of the next one."""

    async def report(topic: str) -> Any:
        first = await wait_for("word")
        return [first, await wait_for("word"), await wait_for("word", timeout=0)]

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal("word", 1)
        await until_told(run, "word")
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until(run, "waiting", attempts=2)
        await run.asignal("word", 2)
        assert await run.aresult() == [1, 2, None]


async def test_equal_waits_side_by_side(url: str):
    """Each gets one of the signals of their name; the run waits as long as one of them does."""

    async def report(topic: str) -> list[Any]:
        said: list[Any] = []

        async def wait() -> None:
            said.append(await wait_for("word"))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
        return sorted(said)

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until_told(run, "word", "word", "word")
        await run.asignal("word", 0)
        await until_told(run, "word", "word")
        for at in (1, 2):
            await run.asignal("word", at)
        assert await run.aresult() == [0, 1, 2]


async def test_the_first_of_two_waits(url: str):
    """A wait that is cancelled takes nothing: the signal is there for the next one."""

    async def report(topic: str) -> Any:
        with anyio.move_on_after(0.1):
            await wait_for("word")
        await wait_for(RELEASE)
        return await wait_for("word", timeout=0)

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until_told(run, RELEASE)
        await run.asignal("word", "here")
        await run.asignal(RELEASE)
        assert await run.aresult() == "here"


async def test_the_time_of_a_wait_has_passed(url: str, calendar: Calendar):
    """It begins with the first process, and the next one gets None at once; later signals change nothing about that."""
    seen: list[Any] = []

    async def report(topic: str) -> Any:
        seen.append(await wait_for("word", timeout=86_400))
        await wait_for(RELEASE)
        return seen[-1]

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    calendar.ahead = 86_500
    async with work(url, report) as durable:
        await until_true(lambda: seen)
    await open_runs(url).run("a").asignal("word", "late")
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal(RELEASE)
        assert await run.aresult() is None
    assert seen == [None, None]


async def test_a_signal_in_time_is_taken_late(url: str, calendar: Calendar):
    """It came before the time had passed, though nobody worked then: it counts."""

    async def report(topic: str) -> Any:
        return await wait_for("word", timeout=60)

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    await open_runs(url).run("a").asignal("word", "in time")
    calendar.ahead = 86_400
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == "in time"


async def test_what_a_run_waits_for_is_told(url: str):
    """All that it waits for at once, and nothing when it goes on."""
    once = Once()

    async def report(topic: str) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(wait_for, "left")
            group.start_soon(wait_for, "right")
            group.start_soon(sleep, 3600)
            await wait_for(RELEASE)
            group.cancel_scope.cancel()
        return await step(once.hang, topic)

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until_told(run, "left", RELEASE, "right", "sleep")
        await run.asignal(RELEASE)
        await until_true(lambda: once.calls)
        info = await run.ainfo()
        assert (info.status, info.waiting_for) == ("running", [])


async def test_signals_to_nobody(url: str):
    """A run that has ended, or that there is none of, is told nothing; a value that cannot be stored is none."""

    async def report(topic: str) -> str:
        return topic

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.aresult()
        with pytest.raises(InvalidInput, match="ended"):
            await run.asignal("word")
        with pytest.raises(InvalidInput, match="ended"):
            await run.adecide({"call": "approve"})
        with pytest.raises(InvalidInput, match="cannot be stored"):
            await run.asignal("word", object())
    for verb in ("ainfo", "aresult", "apending", "amessages", "acancel", "aresume"):
        with pytest.raises(UnknownRun, match="'nobody'"):
            await getattr(open_runs(url).run("nobody"), verb)()
    with pytest.raises(UnknownRun):
        await open_runs(url).run("nobody").asignal("word")
    with pytest.raises(LookupError):
        await open_runs(url).run("nobody").adecide({"call": "approve"})
    with pytest.raises(UnknownRun):
        await anext(open_runs(url).run("nobody").astream())


async def test_more_than_the_places_may_wait(url: str):
    """A run that waits takes no place of those that work at once, and gets one back before it goes on."""
    once = Once()
    running: list[int] = [0, 0]

    async def work_alone(topic: str) -> None:
        running[0] += 1
        running[1] = max(running)
        await anyio.sleep(0.01)
        running[0] -= 1
        once.calls.append(topic)

    async def report(topic: str) -> str:
        await work_alone(topic)
        await wait_for(RELEASE)
        await work_alone(topic)
        return topic

    runs = open_runs(url, max_concurrency=1)
    durable = runs.durable(report)
    async with runs:
        started = [await durable.astart(str(at)) for at in range(4)]
        for run in started:
            await until(run, "waiting")
        for run in started:
            await run.asignal(RELEASE)
        assert [await run.aresult() for run in started] == ["0", "1", "2", "3"]
    assert (len(once.calls), running) == (8, [0, 1])


async def test_a_wait_that_is_cancelled_with_its_signal(url: str):
    """It had the signal, and not yet its place among the runs that work: the next wait gets it."""
    said: list[str] = []

    async def hog(topic: str) -> None:
        await until_true(lambda: "end" in said)

    async def report(topic: str) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(wait_for, "word")
            await until_true(lambda: "cancel" in said)
            group.cancel_scope.cancel()
        said.append("end")
        return await wait_for("word", timeout=0)

    runs = open_runs(url, max_concurrency=1)
    durable, hogging = runs.durable(report), runs.durable(hog)
    async with runs:
        run = await durable.astart("tea")
        await until_told(run, "word")
        await until(await hogging.astart("tea"), "running", attempts=1)
        await run.asignal("word", "here")
        await until(run, "running")
        said.append("cancel")
        assert await run.aresult() == "here"
