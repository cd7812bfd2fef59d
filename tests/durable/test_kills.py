"""Workers are killed at random times: every run ends, no tool and no step is begun twice, and no answer is paid for twice
but one that was under way when its process died."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from hocket.durable import Run, RunInfo, Runs
from hocket.errors import InvalidInput
from tests.durable.worker import make_runs
from tests.kit.amount import RUNS_ALL
from tests.kit.warm import Program

ROOT = Path(__file__).parents[2]
WORKERS = 3
KILLS, RUNS = (500, 40) if RUNS_ALL else (12, 4)
PATIENCE = 600 if RUNS_ALL else 120  # seconds
ENDED = ("done", "failed", "cancelled")


class Family:
    """The workers, of which none outlives the test."""

    def __init__(self, url: str, log: Path, ids: list[str]) -> None:
        self._arguments = ("-m", "tests.durable.worker", url, str(log), "0.1", *ids)
        self.living: list[subprocess.Popen[str]] = []
        self.killed: set[int] = set()

    def start(self) -> "subprocess.Popen[str]":
        """Start a worker."""
        worker = Program(*self._arguments, imports="hocket.durable.dbos", cwd=ROOT, stdout=subprocess.DEVNULL)
        self.living.append(worker)
        return worker

    def kill(self, worker: "subprocess.Popen[str]") -> None:
        """Kill a worker."""
        self.living.remove(worker)
        self.killed.add(worker.pid)
        worker.kill()
        worker.wait()

    def kill_all(self) -> None:
        """Kill all of them."""
        for worker in [*self.living]:
            self.kill(worker)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def ids() -> list[str]:
    return [f"{('clerk', 'report')[at % 2]}-{at}" for at in range(RUNS)]


@pytest.fixture
def family(store_url: str, log: Path, ids: list[str]) -> Iterator[Family]:
    family = Family(store_url, log, ids)
    yield family
    family.kill_all()


@pytest.fixture(params=["url", "postgres_url"], ids=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture
def runs(store_url: str) -> Iterator[Runs]:
    runs, _ = make_runs(store_url)
    yield runs
    runs.close()


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, which only another process can tell."""
    while not await anyio.to_thread.run_sync(is_so):  # noqa: ASYNC110  # nothing would set an event
        await anyio.sleep(0.02)


async def answer(run: Run[object], info: RunInfo) -> None:
    """Tell a run what it waits for."""
    for name in info.waiting_for:
        try:
            if name == "release":
                await run.asignal(name, "yes")
            elif name != "sleep":
                await run.adecide({name: "approve"})
        except InvalidInput:  # it was told just now, or goes on since
            pass


def read_log(log: Path) -> dict[tuple[str, ...], list[int]]:
    """Return which processes wrote each line, in their order."""
    writers: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for line in log.read_text().splitlines():
        pid, *words = line.split()
        writers[tuple(words)].append(int(pid))
    return writers


@pytest.mark.timeout(2 * PATIENCE)
async def test_killed_at_random(store_url: str, runs: Runs, family: Family, log: Path, ids: list[str]) -> None:
    """As many kills as there are, over agents with parallel tools, approvals and agents among them, chains, steps, waits."""
    chance = random.Random(store_url)
    for _ in range(WORKERS):
        family.start()
    begun = time.monotonic()
    infos: list[RunInfo] = []
    while len(infos) < len(ids) or not all(info.status in ENDED for info in infos):
        assert time.monotonic() < begun + PATIENCE, infos
        infos = await runs.alist(limit=len(ids))
        for info in infos:
            await answer(runs.run(info.id), info)
        await anyio.sleep(chance.random() * 0.4)
        if len(family.killed) < KILLS:
            family.kill(chance.choice(family.living))
            family.start()
    assert {info.id for info in infos} == {*ids} and {info.status for info in infos} == {"done"}, infos
    writers = read_log(log)
    again = {words: pids for words, pids in writers.items() if len(pids) > 1}
    assert not [words for words in again if words[0] in ("begin", "end")]
    # Asked again is only what a process had under way, or not recorded yet, when it was killed.
    assert all({*pids[:-1]} <= family.killed for pids in again.values()), again


async def test_who_stands_still_keeps_its_runs(store_url: str, runs: Runs, log: Path) -> None:
    """A frozen worker lives: nobody takes its run, and when it goes on, so does the run."""
    family = Family(store_url, log, ["clerk-0"])
    try:
        frozen = family.start()
        run = runs.run("clerk-0")
        await wait_until(log.exists)
        os.kill(frozen.pid, signal.SIGSTOP)
        family.start()
        await anyio.sleep(1.5)  # in which a dead one's run is taken
        info = await run.ainfo()
        assert info.attempts == 1 and info.status == "running"
        os.kill(frozen.pid, signal.SIGCONT)
        await wait_until(lambda: bool(run.info().waiting_for))
        await answer(run, await run.ainfo())
        assert (await run.aresult(timeout=30)).output.startswith("clerk done")
        assert (await run.ainfo()).attempts == 1
        assert all(len(pids) == 1 for pids in read_log(log).values())
    finally:
        family.kill_all()


@pytest.mark.nightly  # two interpreters, and the lease of an answer
def test_a_chat_survives(url: str):
    """An answer that a page was shown goes on after its process was killed: no second question, no second payment."""

    def run(way: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "tests.durable.chat", url, way]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    died, lived = run("die"), run("live")
    assert (died.returncode, died.stdout) == (9, "asked 0\npaid\n"), died.stderr
    assert lived.stdout == "asked 1\noutput all done\nshown True\nkept human ai tool ai\n", lived.stderr
