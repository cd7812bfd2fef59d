"""A store that fails at the start of a run, in it, and at its end; and records that cannot be read."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import psycopg
import pytest

from hocket import create_agent
from hocket.durable import Run, dbos, open_runs, step, wait_for
from hocket.durable.dbos import DBOSEngine
from hocket.errors import EngineUnavailable, RunFailed
from tests.durable.conftest import RELEASE, SERVER, Once, until, until_true, work
from tests.kit.models import HookCall, hook_model

NOWHERE = "postgresql://postgres@127.0.0.1:1/none"


async def report(topic: str) -> str:
    """Return the topic when it is released."""
    await wait_for(RELEASE)
    return topic


async def test_no_store(url: str, tmp_path: Path):
    """Every verb says that it cannot be reached, with its address and without a password; nothing hangs."""
    runs = open_runs("postgresql://postgres:hunter2@127.0.0.1:1/none")
    run: Run[str] = runs.run("a")
    for verb in (run.ainfo, run.aresult, run.apending, run.amessages, run.acancel, run.aresume, runs.alist):
        with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:1") as caught:
            await verb()  # type: ignore[operator]
        assert "hunter2" not in str(caught.value)
    with pytest.raises(EngineUnavailable):
        await run.asignal("word")
    with pytest.raises(EngineUnavailable):
        async with runs:
            raise AssertionError
    for place in (tmp_path, tmp_path / "no" / "folder.db"):
        with pytest.raises(EngineUnavailable):
            await open_runs(f"sqlite:///{place}").alist()
    async with work(url, report) as durable:  # what failed to begin is in nobody's way
        await durable.astart("tea")


async def test_a_file_that_is_no_database(url: str, tmp_path: Path):
    """It is told, and left as it is."""
    (path := tmp_path / "runs.db").write_bytes(b"tea, biscuits\n" * 1000)  # a test's own
    with pytest.raises(EngineUnavailable, match=r"runs\.db"):
        await open_runs(url).alist()
    with pytest.raises(EngineUnavailable):
        async with work(url, report):
            raise AssertionError
    assert path.read_bytes()[:13] == b"tea, biscuits"  # as above


async def test_it_is_down_at_the_start(postgres_url: str):
    """The start raises, and starts nothing; when the store is back it may be tried again."""
    async with work(postgres_url, report) as durable:
        with cut_off(postgres_url), pytest.raises(EngineUnavailable):
            await durable.astart("tea", id="a")
        with anyio.fail_after(30):
            while True:
                with suppress(EngineUnavailable):  # it has lost its lock meanwhile, and takes a new one
                    await until(await durable.astart("tea", id="a"), "waiting")
                    break
                await anyio.sleep(0.05)
        assert [info.id for info in await open_runs(postgres_url).alist()] == ["a"]


def tell_server(*commands: str) -> None:
    """Have the server do something, from outside of the database of a test."""
    with psycopg.connect(SERVER, autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())


def break_connections(url: str) -> None:
    """Break all connections to a database."""
    tell_server(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{urlsplit(url).path[1:]}'")


@contextmanager
def cut_off(url: str) -> Iterator[None]:
    """Let nobody get to a database inside the block, and break all connections to it."""
    name = urlsplit(url).path[1:]
    tell_server(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    break_connections(url)
    yield
    tell_server(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


async def test_tables_of_which_some_are_made(postgres_url: str):
    """As another process leaves them that makes them just now, or was killed while it did."""
    assert await open_runs(postgres_url).alist() == []
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE dbos.workflow_input, dbos.workflow_output")
        connection.execute("UPDATE dbos.dbos_migrations SET version = 108")
    assert await open_runs(postgres_url).alist() == []


async def test_it_is_down_in_a_run(postgres_url: str):
    """The run goes on when the store is back: a step that was made is not made again, and the run has not failed."""
    once = Once()
    ready: list[str] = []

    async def hold(value: str) -> str:
        once.calls.append(value)
        await until_true(lambda: ready)
        return value

    async def mailing(topic: str) -> str:
        said = await step(hold, topic)
        return f"{said} and {await step(once.act, 'more')}"

    async with work(postgres_url, mailing) as durable:
        run = await durable.astart("tea", id="a")
        await until_true(lambda: once.calls)
        with cut_off(postgres_url):
            ready.append("yes")
            await anyio.sleep(0.5)
        with anyio.fail_after(30):
            try:
                assert await run.aresult() == "tea and more"
            except RunFailed as error:  # this worker lost its lock in the step, whose end nobody saw
                assert error.kind == "OutcomeUnknown"
    assert once.calls.count("tea") == 1


async def test_it_is_down_when_a_run_begins(url: str, monkeypatch: pytest.MonkeyPatch):
    """What it has recorded cannot be read: it begins later, and has not failed."""
    looks: list[str] = []
    list_steps = DBOSEngine._list_steps

    def fail_once(engine: DBOSEngine, id: str, **options: bool) -> Any:
        if options:
            looks.append(id)
            if len(looks) == 1:
                raise EngineUnavailable("too many clients already")
        return list_steps(engine, id, **options)

    monkeypatch.setattr(DBOSEngine, "_list_steps", fail_once)

    async def report(topic: str) -> str:
        return topic

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        with anyio.fail_after(30):
            assert await run.aresult() == "tea"
    assert looks == ["a", "a"]


async def test_it_is_down_in_an_agent(postgres_url: str):
    """The connections of its history, of the worker's lock and of the engine break: the run goes on, and has not failed."""
    ready: list[str] = []

    async def answer(request: HookCall) -> str:
        if not ready:
            ready.append("asked")
            await until_true(lambda: len(ready) == 2)
        return "hello"

    clerk = create_agent(hook_model(answer), name="clerk")
    async with work(postgres_url, clerk) as durable:
        run = await durable.astart("tea", id="a")
        await until_true(lambda: ready)
        break_connections(postgres_url)
        ready.append("yes")
        with anyio.fail_after(30):
            assert (await run.aresult()).output == "hello"


def break_lock(worker: str | None) -> None:
    """Break the connection with which a worker holds its lock."""
    with psycopg.connect(SERVER, autocommit=True) as connection:
        held = (
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' "
            "AND (classid::bigint << 32) | objid::bigint = hashtextextended('hocket worker ' || %s, 0)"
        )
        for (pid,) in connection.execute(held, [worker]).fetchall():
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])


async def test_the_lock_of_a_worker_is_lost(postgres_url: str):
    """It ends its runs, and goes on as another worker: they are taken up again, by whoever comes first."""
    async with work(postgres_url, report) as durable:
        run = await durable.astart("tea", id="a")
        before = (await until(run, "waiting")).worker
        break_lock(before)
        info = await until(run, "waiting", attempts=2)
        assert info.worker != before
        await run.asignal(RELEASE)
        assert await run.aresult() == "tea"


# DBOS drops one that it takes from a queue just when its loop ends; that one is taken up again.
@pytest.mark.filterwarnings("ignore:.*execute_dequeued_workflow")
async def test_runs_that_start_while_a_worker_begins_again(postgres_url: str, monkeypatch: pytest.MonkeyPatch):
    """The start raises, or the run is executed: here some were recorded as failed, since the loop had ended."""
    monkeypatch.setattr(dbos, "EVERY", 0.05)
    runs: list[Run[str]] = []
    workers: set[str] = set()

    async def echo(topic: str) -> str:
        return topic

    async def start() -> None:
        while len(workers) < 6:
            with suppress(EngineUnavailable):
                runs.append(await durable.astart("tea"))
            await anyio.sleep(0.01)

    async with work(postgres_url, echo) as durable:
        async with anyio.create_task_group() as starts:
            for _ in range(4):
                starts.start_soon(start)
            while len(workers) < 6:
                await anyio.sleep(0.2)
                assert dbos._working is not None
                workers.add(worker := dbos._working._worker)
                await anyio.to_thread.run_sync(break_lock, worker)
        with anyio.fail_after(60):
            for run in runs:
                assert await run.aresult() == "tea"
    assert await open_runs(postgres_url).alist(status="failed") == []  # of those, too, whose start raised


@pytest.fixture
def database(url: str) -> Iterator[Any]:
    """Yield what changes the database of a test."""

    def change(command: str) -> int:
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            count = connection.execute(command).rowcount
        connection.close()
        return count

    yield change


async def test_records_that_cannot_be_read(url: str, database: Any):
    """The run fails with `LoadError`, and nothing is done in place of what is not known."""
    once = Once()

    async def making(topic: str) -> str:
        said = await step(once.act, topic)
        await wait_for(RELEASE)
        return str(said)

    async with work(url, making) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    assert database("UPDATE operation_outputs SET output = '\"{broken\"' WHERE function_name LIKE 'step:%'") == 1
    async with work(url, making) as durable:
        with pytest.raises(RunFailed) as caught:
            await durable.ainvoke("tea", id="a")
        assert caught.value.kind == "LoadError"
    assert once.calls == ["tea"]


@pytest.mark.parametrize("text", ["no json", '{"failure": 3}', "3", "zzzz"])
async def test_other_records_are_in_nobodys_way(url: str, database: Any, text: str):
    """A run whose start cannot be read fails, or says so, and does not hold up the others."""
    async with work(url, report) as durable:
        for id in ("a", "b"):
            await until(await durable.astart("tea", id=id), "waiting")
    assert database(f"UPDATE workflow_status SET inputs = '{text}' WHERE workflow_uuid = 'a'") == 1
    async with work(url, report) as durable:
        await open_runs(url).run("b").asignal(RELEASE)
        assert await durable.ainvoke("tea", id="b") == "tea"


async def test_what_cannot_be_recorded_is_not_begun(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A step whose beginning is not on record would be made again by the next process; the run waits for its store."""
    monkeypatch.setattr("hocket.durable.dbos_journal._GRACE", 0.1)
    ready, go, calls = threading.Event(), threading.Event(), list[str]()

    def send(text: str) -> str:
        calls.append(text)
        return text

    async def report(topic: str) -> str:
        ready.set()
        await until_true(go.is_set)
        return await step(send, topic)

    def lock() -> sqlite3.Connection:
        connection = sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)
        connection.execute("BEGIN IMMEDIATE")
        return connection

    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await until_true(ready.is_set)
        writer = await anyio.to_thread.run_sync(lock)
        go.set()
        await anyio.sleep(0.4)
        assert calls == []
        await anyio.to_thread.run_sync(writer.close)
        assert await run.aresult() == "tea" and calls == ["tea"]
