"""Workers: how a process begins and ends to be one, what it leaves to others, and whose runs it takes."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import psycopg
import pytest

from hocket import create_agent
from hocket.durable import Run, dbos, open_runs, sleep, step, wait_for
from hocket.errors import InvalidInput, RunCanceled, RunFailed
from tests.durable.conftest import RELEASE, Calendar, Once, make_runs, until, until_it_waits_for, until_true, work
from tests.kit.models import HookCall, hook_model
from tests.kit.warm import Program


async def echo(topic: str) -> str:
    """Return the topic when it is released."""
    return topic if await wait_for(RELEASE) is None else topic.upper()


def list_locks(folder: Path) -> list[str]:
    """Return the locks of workers of a database there."""
    return [path.name for path in folder.glob("*.alive")]


async def test_it_works_inside_the_block_alone(url: str):
    """Before and after nothing is started, but all can be asked."""
    runs, (durable,) = make_runs(url, echo)
    for verb in (durable.astart, durable.ainvoke):
        with pytest.raises(InvalidInput, match="async with"):
            await verb("tea", id="a")
    assert await runs.alist() == []
    async with runs as entered:
        assert entered is runs
        run = await durable.astart("tea", id="a")
        with pytest.raises(InvalidInput, match="already"):
            await runs.__aenter__()
        with pytest.raises(InvalidInput, match="already"):
            runs.durable(echo, name="late")
        await until(run, "waiting")
    with pytest.raises(InvalidInput):
        await durable.astart("tea")
    assert (await run.ainfo()).status == "waiting"
    async with runs:  # again, with the same object
        await run.asignal(RELEASE)
        assert await run.aresult() == "tea"


async def test_a_second_database_in_one_process(url: str, tmp_path: Path):
    """It is refused, and the first goes on; its runs can be asked and told things."""
    other = f"sqlite:///{tmp_path}/other.db"
    async with work(other, echo) as elsewhere:
        await until(await elsewhere.astart("far", id="far"), "waiting")
    runs, (durable,) = make_runs(other, echo)
    async with work(url, echo) as here:
        for one in (runs, make_runs(url, echo)[0]):
            with pytest.raises(InvalidInput, match="one database at a time"):
                await one.__aenter__()
        run = await here.astart("tea", id="a")
        assert [info.id for info in await runs.alist()] == ["far"]
        await runs.run("far").asignal(RELEASE, True)
        await run.asignal(RELEASE)
        assert await run.aresult() == "tea"
    async with runs:
        assert await durable.ainvoke("far", id="far") == "FAR"


async def test_versions_side_by_side(url: str):
    """A run stays with the version that it was started with; new ones take the newest; one is moved by hand."""

    async def old(topic: str) -> str:
        await wait_for(RELEASE)
        raise ValueError("old")

    async def new(topic: str) -> str:
        return f"new {topic}"

    async with work(url, old, name="report") as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    runs = open_runs(url)
    first = runs.durable(old, name="report", version="1")
    second = runs.durable(new, name="report", version="2")
    async with runs:
        assert await second.ainvoke("coffee", id="b") == "new coffee"
        assert (await runs.run("b").ainfo()).version == "2"
        run = await first.astart("tea", id="a")
        await run.asignal(RELEASE)
        with pytest.raises(RunFailed, match="old"):
            await run.aresult()
        assert (await run.ainfo()).version == "1"
        await run.aresume(version="2")
        assert await run.aresult() == "new tea"
        assert (await run.ainfo()).version == "2"


@pytest.mark.parametrize("kind", ["name", "version"])
async def test_what_no_worker_has(url: str, kind: str):
    """It stays as it is until one comes that has it; nobody else touches it."""

    async def other(topic: str) -> str:
        return "other"

    async with work(url, echo, name="report", version="1") as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    wrong = {"name": "other"} if kind == "name" else {"name": "report", "version": "2"}
    async with work(url, other, **wrong) as durable:
        assert await durable.ainvoke("tea", id="b") == "other"
        run: Run[str] = open_runs(url).run("a")
        await run.asignal(RELEASE)
        with pytest.raises(TimeoutError):
            await run.aresult(timeout=0.4)
        assert (await run.ainfo()).attempts == 1
    async with work(url, echo, name="report", version="1") as durable:
        assert await durable.ainvoke("tea", id="a") == "tea"


async def test_a_version_that_nobody_has_stays_queued(url: str):
    """A run that is moved to it waits for a worker that has it; others see that."""

    async def report(topic: str) -> str:
        raise ValueError(topic)

    async def mended(topic: str) -> str:
        return topic

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until(run, "failed")
        await run.aresume(version="9")
        with pytest.raises(TimeoutError):
            await run.aresult(timeout=0.3)
        info = await run.ainfo()
        assert (info.status, info.version) == ("queued", "9")
        assert [one.id for one in await open_runs(url).alist(status="queued")] == ["a"]
        await run.acancel()
        with pytest.raises(RunCanceled):
            await run.aresult()
        await run.aresume()
    async with work(url, mended, name="report", version="9") as durable:
        assert await durable.ainvoke("tea", id="a") == "tea"


async def test_a_run_is_called_off(either_url: str):
    """From another object, within a second: what it does is cancelled, and what it has recorded is kept."""
    once = Once()
    ends: list[str] = []

    async def report(topic: str) -> str:
        await step(once.act, topic)
        try:
            await step(once.hang, "mail", idempotent=True)
        except BaseException as error:
            ends.append(type(error).__name__)
            raise
        return await step(once.act, "end")

    async with work(either_url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until_true(lambda: len(once.calls) == 2)
        await open_runs(either_url).run("a").acancel()
        with pytest.raises(RunCanceled):
            await run.aresult()
        await until_true(lambda: ends)
        assert (await run.ainfo()).status == "cancelled"
        once.is_held = False
        await run.aresume()
        assert await run.aresult() == "end"
        await run.acancel()
        assert (await run.ainfo()).status == "done"
    assert (ends, once.calls) == (["CancelledError"], ["tea", "mail", "mail", "end"])


async def test_code_that_catches_its_end(url: str):
    """A run that was called off stays so, whatever its code makes of that."""

    async def stubborn(topic: str) -> str:
        try:
            await wait_for(RELEASE)
        except BaseException:
            return "never mind"
        return topic

    async with work(url, stubborn) as durable:
        run = await durable.astart("tea", id="a")
        await until(run, "waiting")
        await run.acancel()
        await anyio.sleep(3 * dbos.EVERY)
        with pytest.raises(RunCanceled):
            await run.aresult()


async def test_deadlines_hold_across_restarts(url: str, calendar: Calendar):
    """The time that a run is given begins when it is started; a process that died does not put it off."""
    ends: list[str] = []

    async def report(topic: str) -> str:
        try:
            await sleep(10 * 86_400)
        finally:
            ends.append(topic)
        return topic

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a", timeout=86_400)
        await until(run, "waiting")
        with pytest.raises(RunFailed, match="'soon'") as caught:
            await durable.ainvoke("now", id="soon", timeout=0.05)
        assert caught.value.kind == "TotalTimeout"
    calendar.ahead = 86_399.9
    async with work(url, report) as durable:
        with pytest.raises(RunFailed) as caught:
            await durable.ainvoke("tea", id="a")
        assert (caught.value.kind, (await run.ainfo()).status) == ("TotalTimeout", "failed")
    assert ends == ["now", "tea", "tea"]


async def test_children_belong_to_their_run(url: str):
    """A durable function inside a run is recorded once, and is cancelled with it; it is no run of its own."""
    once = Once()
    runs = open_runs(url)

    @runs.durable
    async def inner(topic: str) -> str:
        await step(once.act, topic)
        await wait_for(topic)
        return topic.upper()

    @runs.durable
    async def outer(topic: str) -> list[str]:
        said = [await inner.ainvoke("a"), await inner.ainvoke("b"), await inner.ainvoke("b", id="own")]
        with pytest.raises(TimeoutError):
            await inner.ainvoke("c", timeout=0.05)
        return said

    async with runs:
        run = await outer.astart("x", id="r")
        for name in ("a", "b", "b"):
            await run.asignal(name)
        assert await run.aresult() == ["A", "B", "B"]
        other = await outer.astart("x", id="s")
        await until(other, "waiting")
        await other.acancel()
        with pytest.raises(RunCanceled):
            await other.aresult()
        assert [info.id for info in await runs.alist()] == ["s", "r"]
    assert once.calls == ["a", "b", "b", "c", "a"]


async def test_a_run_that_starts_another(url: str):
    """``astart`` inside a run starts the same run each time."""
    runs = open_runs(url)
    inner = runs.durable(echo)

    @runs.durable
    async def outer(topic: str) -> str:
        run = await inner.astart(topic)
        await wait_for(RELEASE)
        return run.id

    async with runs:
        await until(await outer.astart("tea", id="r"), "waiting")
    async with runs:
        run: Run[str] = runs.run("r")
        await until(run, "waiting", attempts=2)
        await run.asignal(RELEASE)
        id = await run.aresult()
        assert sorted(info.id for info in await runs.alist()) == sorted(["r", id])
        assert id.startswith("r/")


async def test_nothing_is_left_behind(url: str, tmp_path: Path):
    """A worker that has ended leaves the database, and no lock of its own; threads end."""
    before = threading.active_count()
    async with work(url, echo) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
        assert len(list_locks(tmp_path)) == 1
    assert list_locks(tmp_path) == []
    with anyio.fail_after(5):
        await until_true(lambda: threading.active_count() <= before + 2)  # anyio's own


def test_plain_with_and_plain_verbs(url: str):
    """The sync faces do the same."""
    runs, (durable,) = make_runs(url, echo)
    with runs:
        run = durable.start("tea", id="a", metadata={"n": 1})
        while run.info().status != "waiting":
            time.sleep(0.01)
        assert run.pending() == []
        assert run.messages() == []
        run.signal(RELEASE, "x")
        assert run.result(timeout=5) == "TEA"
        other = durable.start("tea", id="b")
        other.cancel()
        with pytest.raises(RunCanceled):
            other.result()
        other.resume()
        other.signal(RELEASE)
        assert other.result() == "tea"
        assert durable.invoke("tea", id="b") == "tea"
        assert [info.id for info in runs.list_runs(status="done", name="echo", limit=5)] == ["b", "a"]
        with pytest.raises(InvalidInput):
            run.decide({"a": "approve"})


PROGRAM = """
import asyncio, sys
from hocket.durable import open_runs, sleep, wait_for
runs = open_runs(sys.argv[1])

@runs.durable
async def report(topic: str) -> str:
    await sleep(3 * 86_400) if topic == "days" else await wait_for("release")
    return topic

async def main() -> None:
    async with runs:
        for topic in ("days", "signal"):
            run = await report.astart(topic, id=topic)
            while (await run.ainfo()).status != "waiting":
                await asyncio.sleep(0.01)
        print("ready", flush=True)
        if sys.argv[2] == "hang":
            await asyncio.Event().wait()
    print("closed", flush=True)

if sys.argv[2] == "plain":
    runs.__enter__()
    report.start("days", id="days"), report.start("signal", id="signal")
    print("ready", flush=True)
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", [pytest.param("close", marks=pytest.mark.nightly), "plain"])
def test_the_interpreter_ends(url: str, how: str):
    """It does not wait for runs that wait for days; nor where the worker is not closed at all."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, url, how], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["ready", "closed"] if how == "close" else ["ready"]
    assert {info.status for info in open_runs(url).list_runs()} <= {"waiting", "running", "queued"}


ON_POSTGRES = pytest.mark.parametrize(
    "either_url", [pytest.param("sqlite", marks=pytest.mark.nightly), "postgres"], indirect=True
)


@pytest.fixture
def program(either_url: str) -> Iterator[tuple[str, Any]]:
    """Yield the address of a database, and a program that works on it and hangs."""
    with Program("-c", PROGRAM, either_url, "hang", stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == "ready\n"
            yield either_url, started
        finally:
            started.kill()


@ON_POSTGRES
async def test_a_process_is_killed(program: tuple[str, Any]):
    """Another takes its runs; as long as it lived, or stood still, it did not."""
    url, process = program

    async def report(topic: str) -> str:
        await wait_for(RELEASE)
        return topic

    process.send_signal(signal.SIGSTOP)
    async with work(url, report) as durable:
        run: Run[str] = open_runs(url).run("signal")
        await anyio.sleep(5 * dbos.EVERY)
        assert (await run.ainfo()).attempts == 1
        process.kill()
        process.wait()
        await until(run, "waiting", attempts=2)
        await run.asignal(RELEASE)
        assert await run.aresult() == "signal"
        info = await run.ainfo()
        assert info.worker
        assert f"-{os.getpid()}-" in info.worker
        assert await durable.ainvoke("signal", id="signal") == "signal"


FORK = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from hocket.durable import open_runs, wait_for

def open_ours():
    runs = open_runs(sys.argv[1])

    @runs.durable
    async def report(topic: str) -> str:
        await wait_for("release")
        return topic
    return runs, report

runs, report = open_ours()
with runs:
    run = report.start("parent", id="parent")
    child = os.fork()
    if not child:
        mine, own = open_ours()
        with mine:
            started = own.start("child", id="child")
            started.signal("release")
            assert started.result(timeout=20) == "child"
            assert mine.run("parent").info().attempts <= 1
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run.signal("release")
    assert run.result(timeout=20) == "parent"
    assert run.info().attempts == 1
print("good")
"""


@pytest.mark.nightly  # new interpreters, which import for seconds
def test_a_fork(either_url: str):
    """A child opens the runs anew, and is a worker of its own; the parent's goes on, and keeps its runs."""
    done = subprocess.run([sys.executable, "-c", FORK, either_url], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr


ORPHAN = """
import os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from hocket.durable import open_runs, wait_for

runs = open_runs(sys.argv[1])

@runs.durable
async def echo(topic: str) -> str:
    await wait_for("release")
    return topic

with runs:
    run = echo.start("!", id="a")
    while run.info().status != "waiting":
        time.sleep(0.05)
    if os.fork():
        print("forked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def orphan(either_url: str) -> Iterator["subprocess.Popen[str]"]:
    """Yield a program that has forked, in a group of its own, which is killed afterwards."""
    command = [sys.executable, "-c", ORPHAN, either_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "forked\n"
            yield parent
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.nightly  # a new interpreter, which imports for seconds
async def test_a_child_does_not_keep_the_lock_of_its_killed_parent(either_url: str, orphan: "subprocess.Popen[str]"):
    """Another worker takes the runs of the parent, though the child lives on."""
    orphan.kill()
    async with work(either_url, echo) as durable:
        await until(durable.runs.run("a"), "waiting", attempts=2)


async def test_ten_thousand_waits_are_one_look(url: str):
    """Runs that wait cost one question for all of them, and not one each."""
    runs, (durable,) = make_runs(url, echo)
    async with runs:
        started = [await durable.astart(str(at)) for at in range(20)]
        for run in started:
            await until(run, "waiting")
        for run in started:
            await run.asignal(RELEASE)
        assert [await run.aresult() for run in started] == [str(at) for at in range(20)]


async def test_an_agent_and_a_chain_share_a_worker(url: str):
    """Kinds are told apart by name; each run is of the one that it was started with."""
    model = hook_model(lambda request: request.text.upper())
    runs = open_runs(url)
    clerk, chain = runs.durable(create_agent(model, name="clerk")), runs.durable(model, name="chain")
    async with runs:
        assert (await clerk.ainvoke("tea", id="a")).output == "TEA"
        assert (await chain.ainvoke("tea", id="b")).text == "TEA"
    assert {info.id: info.name for info in await runs.alist()} == {"a": "clerk", "b": "chain"}
    assert isinstance(model.requests[0], HookCall)


async def test_old_files_are_swept(url: str, tmp_path: Path):
    """The lock of a worker that was killed goes when its runs are taken."""
    async with work(url, echo) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        (worker,) = connection.execute("SELECT executor_id FROM workflow_status").fetchone()
    connection.close()
    (tmp_path / f"runs.db.{worker}.alive").touch()
    async with work(url, echo):
        await until(open_runs(url).run("a"), "waiting", attempts=2)
        assert len(list_locks(tmp_path)) == 1


async def test_schemas_have_runs_of_their_own(postgres_url: str):
    """A program whose address names another schema takes nobody else's runs, and may use their ids."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for name in ("shop", "desk"):
            connection.execute(f"CREATE SCHEMA {name}".encode())
    shop, desk = (f"{postgres_url}?options=-csearch_path%3D{name}" for name in ("shop", "desk"))
    async with work(shop, echo) as durable:
        await until_it_waits_for(await durable.astart("tea", id="a"))
    async with work(desk, echo) as durable:
        run = await durable.astart("coffee", id="a")
        await until_it_waits_for(run)
        await run.asignal(RELEASE)
        assert await run.aresult() == "coffee"
        assert [info.attempts for info in await open_runs(shop).alist()] == [1]
    assert await open_runs(postgres_url).alist() == []
    async with work(shop, echo) as durable:
        await durable.runs.run("a").asignal(RELEASE)
        assert await durable.runs.run("a").aresult() == "tea"


def test_a_schema_has_a_plain_name():
    """One that PostgreSQL would have to be asked about is refused."""
    for name in ('"Shop"', "$user", "a" * 60, ""):
        with pytest.raises(InvalidInput, match="the schema of durable runs is"):
            open_runs(f"postgresql://host/x?options={quote(f'-c search_path={name}')}")
