"""Durable runs where services run: in FastAPI's lifespan, in four processes with one database, in a loop that goes on."""

import contextlib
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

pytest.importorskip("dbos", reason="durable runs need dbos")

from fastapi import FastAPI

from hocket.durable import open_runs, wait_for
from hocket.serving import openai_app
from tests.kit.warm import Program
from tests.serving.conftest import Serve
from tests.serving.durable_clerk import make_agent
from tests.serving.test_console import chat, read_events, say
from tests.serving.test_durable_agents import approve

ROOT = Path(__file__).parents[2]
PROCESSES = 4


@pytest.fixture(autouse=True)
def no_blocking_calls() -> None:
    """Blocking calls are let pass: DBOS takes locks, in a loop of its own, in which hocket's code runs, too."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


async def test_in_the_lifespan_of_fastapi(url: str, serve: Serve):
    """The service works on its runs from its start to its end; its routes, and a mounted gateway, start them."""
    runs = open_runs(url)
    clerk = runs.durable(make_agent(asks=True))

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with runs:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/orders/{id}")
    async def start(id: str) -> str:
        await clerk.astart("pay", id=id)
        return id

    @app.get("/orders/{id}")
    async def show(id: str) -> Any:
        run = runs.run(id)
        return {"status": (await run.ainfo()).status, "waits": [call["id"] for call in await run.apending()]}

    @app.post("/orders/{id}/approval")
    async def decide(id: str) -> str:
        run = runs.run(id)
        await run.adecide({call["id"] or "": "approve" for call in await run.apending()})
        return (await run.aresult()).output

    app.mount("/ai", openai_app({"clerk": clerk}, page=True))
    async with httpx.AsyncClient(base_url=serve(app), timeout=60) as client:
        assert (await client.post("/orders/7")).json() == "7"
        while (await client.get("/orders/7")).json() != {"status": "waiting", "waits": ["call-1"]}:  # noqa: ASYNC110  # as a client would
            await anyio.sleep(0.05)
        assert (await client.post("/orders/7/approval")).json() == "5 is paid back, of 1"
        assert say(await client.post("/ai/page/chat", json=chat("clerk", "one"))) == "one, of 1"


class Service:
    """`hocket serve` in some processes, with one database."""

    def __init__(self, url: str) -> None:
        self._env = {**os.environ, "RUNS": url, "PYTHONPATH": str(ROOT)}
        self.processes: list[subprocess.Popen[str]] = []
        self.addresses: list[str] = []

    def start(self) -> None:
        """Start one more."""
        agent = "clerk=tests.serving.durable_clerk:clerk"
        command = ("-m", "hocket", "serve", "--agent", agent, "--page", "--port", "0")
        self.processes.append(
            Program(*command, imports="hocket.durable.dbos", env=self._env, stderr=subprocess.PIPE, text=True)
        )

    def find_addresses(self) -> None:
        """Wait until each says where it is."""
        for process in self.processes:
            assert process.stderr is not None
            found = re.search(r"http://[\w.:]+", line := process.stderr.readline())
            assert found, line
            self.addresses.append(found[0])

    def end(self) -> None:
        """Kill all."""
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()


@pytest.fixture
def service(url: str) -> Iterator[Service]:
    service = Service(url)
    try:
        for _ in range(PROCESSES):
            service.start()
        service.find_addresses()
        yield service
    finally:
        service.end()


@pytest.mark.nightly  # four servers, each of which imports for seconds
async def test_four_processes_with_one_database(service: Service, url: str):
    """Whichever is asked: a talk goes on in it; and where a process is killed, another takes up what it did."""

    async def ask(number: int, text: str = "Hi", run: str = "r1", thread: str = "t", **fields: Any) -> httpx.Response:
        path = f"{service.addresses[number]}/page/chat"
        return await client.post(path, json=chat("clerk", text, run=run, thread=thread, **fields))

    async with httpx.AsyncClient(timeout=60) as client:
        for number in range(PROCESSES):
            assert say(await ask(number, "again", f"r{number}")) == f"again, of {number + 1}"
        answers: list[Any] = []

        async def open_order(number: int) -> None:
            events = read_events(await ask(number % PROCESSES, "pay", thread=f"order-{number}"))
            answers.append(events[-1]["outcome"]["type"])

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(open_order, number)
        assert answers == ["interrupt"] * 8

        runs = open_runs(url)
        waiting = await runs.alist(status="waiting")
        assert len({info.worker for info in waiting}) > 1
        for process in service.processes[1:]:
            process.kill()
        for number in range(8):
            ended = await ask(0, run="r2", thread=f"order-{number}", **approve("call-1"))
            assert say(ended) == "5 is paid back, of 1"
    infos = await runs.alist()
    assert [info.status for info in infos] == ["done"] * (PROCESSES + 8)
    assert len({info.worker for info in infos[:8]}) == 1


async def test_in_a_loop_that_goes_on(url: str):
    """As in a notebook: a block works, ends, and another goes on with what was left, in the same loop; so does `with`."""
    runs = open_runs(url)

    @runs.durable
    async def report(topic: str) -> str:
        return f"{topic}: {await wait_for('release')}"

    async with runs:
        run = await report.astart("tea", id="tea")
        while (await run.ainfo()).status != "waiting":  # noqa: ASYNC110  # as a person would look
            await anyio.sleep(0.02)
    assert (await run.ainfo()).status == "waiting"
    await run.asignal("release", "now")
    async with runs:
        assert await run.aresult() == "tea: now"
        assert (await run.ainfo()).attempts == 2
        other = await report.astart("milk", id="milk")

    def finish() -> str:
        with runs:
            other.signal("release", "later")
            return other.result()

    assert await anyio.to_thread.run_sync(finish) == "milk: later"
