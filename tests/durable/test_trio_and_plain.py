"""The verbs from trio, from plain code, and from threads; the body of a run is on the engine's loop."""

import asyncio
import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket import create_agent
from hocket.durable import current_run, open_runs, sleep, step, wait_for
from hocket.errors import RunCanceled
from tests.durable.conftest import RELEASE, make_runs, until_it_waits_for, work
from tests.kit.models import hook_model


async def report(topic: str) -> list[Any]:
    """Return where this runs, what a step does, and what it is told."""
    await sleep(0.01)
    loop = type(asyncio.get_running_loop()).__module__.partition(".")[0]
    run = current_run()
    assert run is not None
    return [loop, threading.current_thread().name, await step(str.upper, topic), await wait_for(RELEASE)]


@pytest.mark.both_loops
async def test_every_verb(url: str, anyio_backend_name: str):
    """Each works on either loop; the body of a run runs on asyncio, in a thread of the engine's."""
    model = hook_model("hello")
    runs, (durable, clerk) = make_runs(url, report, create_agent(model, name="clerk"))
    async with runs:
        run = await durable.astart("tea", id="a")
        await until_it_waits_for(run)
        assert await run.apending() == []
        assert await run.amessages() == []
        with pytest.raises(TimeoutError):
            await run.aresult(timeout=0.05)
        await run.asignal(RELEASE, 1)
        loop, thread, *rest = await run.aresult()
        assert (loop, rest) == ("asyncio", ["TEA", 1])
        assert thread != threading.current_thread().name
        assert (await clerk.ainvoke("hi", id="b")).output == "hello"
        assert [event.kind async for event in runs.run("b").astream()] == ["message", "end"]
        other = await durable.astart("coffee", id="c")
        await until_it_waits_for(other)
        await other.acancel()
        with pytest.raises(RunCanceled):
            await other.aresult()
        await other.aresume()
        await until_it_waits_for(other)
        assert [info.id for info in await runs.alist()] == ["c", "b", "a"]


@pytest.mark.both_loops
async def test_a_worker_that_is_cancelled(url: str):
    """Its end is not held up, and its runs are left to others."""
    with anyio.CancelScope() as scope:
        async with work(url, report) as durable:
            await until_it_waits_for(await durable.astart("tea", id="a"))
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    async with work(url, report) as durable:
        await open_runs(url).run("a").asignal(RELEASE)
        assert (await durable.ainvoke("tea", id="a"))[2] == "TEA"


@pytest.mark.both_loops
async def test_an_ask_that_is_cancelled(url: str):
    """Whoever waits for a result may go; the run goes on."""
    async with work(url, report) as durable:
        with anyio.move_on_after(0.2):
            await durable.ainvoke("tea", id="a")
        await open_runs(url).run("a").asignal(RELEASE)
        assert (await durable.ainvoke("tea", id="a"))[2] == "TEA"


async def test_from_threads(url: str):
    """The sync verbs work in threads beside a loop, and in a sync step of a run."""

    def tell(id: str) -> str:
        open_runs(url).run(id).signal(RELEASE, "from a step")
        return open_runs(url).run(id).info().status

    async def telling(topic: str) -> str:
        status = await step(tell, "a")
        return f"{status} {topic}"

    runs, (durable, teller) = make_runs(url, report, telling)
    async with runs:
        run = await anyio.to_thread.run_sync(lambda: durable.start("tea", id="a"))
        await until_it_waits_for(run)
        assert (await teller.ainvoke("told")).endswith("told")
        result = await anyio.to_thread.run_sync(run.result)
        assert result[2:] == ["TEA", "from a step"]


def test_plain_code_in_a_thread(url: str):
    """A worker may be opened in one thread, and used in others."""
    runs, (durable,) = make_runs(url, report)
    said: list[Any] = []

    def ask(at: int) -> None:
        run = durable.start(str(at), id=str(at))
        run.signal(RELEASE, at)
        said.append(run.result()[2:])

    with runs:
        threads = [threading.Thread(target=ask, args=(at,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(said) == [[str(at), at] for at in range(4)]
