"""Durable runs: what a step, an agent's step and a call outside of any run cost, and how soon a dead process's run goes on.

CPU time of the process. "bare" is what stands below: DBOS's own step, the same agent with the same history, a run that was
executed whole; and a call of a model as it is without the stage of journals.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .bench import Bench, Case
from .harness import Samples, Target
from .table import Row, row_of

__all__ = ["CASES"]

ROOT = Path(__file__).parents[1]
STEPS = 200
AGENT_STEPS = (10, 90)


def _measure_cpu(micros: list[float], began: float, count: int) -> None:
    micros.append((time.process_time() - began) / count * 1e6)


def steps(bench: Bench) -> Iterator[Row]:
    """Compare steps with DBOS's own, and with the restart of a run that has made them."""
    from dbos import DBOS

    from hocket.durable import open_runs, step

    count = 100 if bench.plan.quick else STEPS
    rounds = bench.plan.fewest
    samples = {name: Samples({"hocket": [], "bare": []}) for name in ("step", "idempotent", "restart")}

    async def nothing(number: int) -> int:
        return number

    async def work(kind: str) -> None:
        began = time.process_time()
        for number in range(count):
            if kind == "bare":
                await DBOS.run_step_async({"name": f"bare:{number}"}, nothing, number)
            else:
                await step(nothing, number, key=f"{kind}:{number}", idempotent=kind == "idempotent")
        for name in ("step", "idempotent") if kind == "bare" else (kind,):
            _measure_cpu(samples[name].micros["bare" if kind == "bare" else "hocket"], began, count)

    async def measure(folder: str) -> None:
        runs = open_runs(f"sqlite:///{folder}/runs.db")
        target = runs.durable(work, name="work")
        async with runs:
            for number in range(rounds):
                for kind in ("bare", "idempotent", "step"):
                    await target.ainvoke(kind, id=f"{kind}-{number}")

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(folder))
        for seconds in asyncio.run(_restart(folder, count * 5)):
            samples["restart"].micros["hocket"].append(seconds[1] * 1e6)
            samples["restart"].micros["bare"].append(seconds[0] * 1e6)
    limits = {"step": 2.2, "idempotent": 1.15, "restart": 0.1}
    names = {
        "step": "a step, over one of DBOS's",
        "idempotent": "an idempotent step, over one of DBOS's",
        "restart": f"{count * 5} steps found again, over having made them",
    }
    for name, limit in limits.items():
        yield row_of(bench.case, names[name], samples[name], Target(limit, over="bare"))


async def _restart(folder: str, count: int) -> list[tuple[float, float]]:
    """Return the CPU seconds of a run of steps, and of the execution that finds them all recorded."""
    from hocket.durable import open_runs, step, wait_for

    spent: list[float] = []

    async def nothing(number: int) -> int:
        return number

    async def work(name: str) -> None:
        began = time.process_time()
        for number in range(count):
            await step(nothing, number, key=f"{number}", idempotent=True)
        spent.append(time.process_time() - began)
        await wait_for("end")

    for attempt in range(2):
        runs = open_runs(f"sqlite:///{folder}/restart.db")
        target = runs.durable(work, name="work")
        async with runs:
            run = await target.astart("restart", id="restart")
            while len(spent) == attempt:  # noqa: ASYNC110  # another loop fills it
                await asyncio.sleep(0.05)
            if attempt:
                await run.asignal("end")
                await run.aresult()
    return [(spent[0], spent[1])]


def agent(bench: Bench) -> Iterator[Row]:
    """Compare an agent in a durable run with the same agent and its history: by how much a step more costs more."""
    from hocket import AIMessage, ScriptedChatModel, create_agent, open_history
    from hocket.agents import AgentLimits
    from hocket.durable import open_runs

    few, many = AGENT_STEPS
    samples = Samples({"hocket": [], "bare": []})

    async def look(number: int) -> str:
        """Look something up."""
        return f"{number} found"

    def make(calls: int) -> Any:
        turns: list[Any] = [
            AIMessage("", tool_calls=[{"name": "look", "args": {"number": at}, "id": f"call_{at}"}])
            for at in range(calls)
        ]
        limits = AgentLimits(model_calls=None, tool_calls=None)
        return create_agent(ScriptedChatModel(script=[*turns, "done"]), [look], name="clerk", limits=limits)

    async def measure(url: str, number: int) -> None:
        runs = open_runs(url)
        durables = {calls: runs.durable(make(calls), name=f"clerk-{calls}") for calls in (few, many)}
        spent: dict[str, list[float]] = {"hocket": [], "bare": []}
        async with runs:
            for calls, durable in durables.items():
                began = time.process_time()
                await make(calls).ainvoke("Look.", history=open_history(url, session_id=f"bare-{number}-{calls}"))
                spent["bare"].append(time.process_time() - began)
                began = time.process_time()
                run = await durable.astart("Look.", id=f"run-{number}-{calls}")
                while (await run.ainfo()).status != "done":  # noqa: ASYNC110  # seldom: who asks costs more than a step
                    await asyncio.sleep(1)
                spent["hocket"].append(time.process_time() - began)
        for name, (less, more) in spent.items():
            samples.micros[name].append((more - less) / (many - few) * 1e6)

    with tempfile.TemporaryDirectory() as folder:
        for number in range(bench.plan.fewest):
            asyncio.run(measure(f"sqlite:///{folder}/runs.db", number))
    what = "a step of a durable agent, over its history's"
    yield row_of(bench.case, what, samples, Target(1.1, over="bare"))


def outside(bench: Bench) -> Iterator[Row]:
    """Compare a call of a model with one whose pipeline has no stage for journals."""
    from hocket import ScriptedChatModel
    from hocket._pipeline import compose

    count = 2_000
    samples = Samples({"hocket": [], "bare": []})
    with_journal = compose.with_journal

    async def ask(model: Any) -> None:
        began = time.process_time()
        for _ in range(count):
            await model.ainvoke("hi")
        micros.append((time.process_time() - began) / count * 1e6)

    for _ in range(bench.plan.rounds):
        for name, stage in (("hocket", with_journal), ("bare", lambda make_key, call_next: call_next)):
            compose.with_journal = stage  # type: ignore[assignment]
            micros = samples.micros[name]
            try:
                asyncio.run(ask(ScriptedChatModel(script=["yes"] * count)))
            finally:
                compose.with_journal = with_journal
    yield row_of(bench.case, "a call of a model outside of any run", samples, Target(1.01, over="bare"))


def takeover(bench: Bench) -> Iterator[Row]:
    """Kill a worker, and measure how long its run waits for another."""
    taken: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1 if bench.plan.quick else 5):
            taken.append(_take_over(f"sqlite:///{folder}/{number}.db", f"{folder}/log-{number}"))
    samples = Samples({"hocket": [max(taken)]})
    yield row_of(bench.case, "from a kill until another worker has the run", samples, Target(3, over=None), "s")


def _take_over(url: str, log: str) -> float:
    command = [sys.executable, "-m", "tests.durable.worker", url, log, "0.1"]
    environ = {**os.environ, "DURABLE_EVERY": "1"}  # as it is without a test's hurry
    second = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE)
    first = None
    try:
        assert second.stdout is not None and second.stdout.readline()  # it works
        first = subprocess.Popen([*command, "clerk-0"], cwd=ROOT, env=environ, stdout=subprocess.DEVNULL)
        _wait_for(lambda: os.path.exists(log))
        os.kill(first.pid, signal.SIGKILL)
        killed = time.monotonic()
        _wait_for(lambda: f"{second.pid} " in Path(log).read_text())
        return time.monotonic() - killed
    finally:
        for worker in filter(None, (first, second)):
            worker.kill()
            worker.wait()


def _wait_for(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.01)


def costs(bench: Bench) -> Iterator[Row]:
    """Compare what durable runs cost with what stands below them."""
    yield from steps(bench)
    yield from agent(bench)
    yield from outside(bench)


CASES: dict[str, Case] = {"durable": costs, "durable-takeover": takeover}
