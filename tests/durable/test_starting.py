"""A process that only starts runs, for workers elsewhere; and lists of more runs than are read at once."""

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

from hocket.durable import open_runs, store
from hocket.errors import EngineUnavailable, InvalidInput, RunExists
from tests.durable import worker
from tests.durable.conftest import make_runs, until, work
from tests.durable.test_workers import list_locks
from tests.kit.warm import Program

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["url", "postgres_url"], ids=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Return the address of an empty database of either kind."""
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log in which every process writes what it executes, this one, too."""
    monkeypatch.setenv(worker.LOG, str(tmp_path / "log"))
    monkeypatch.setenv(worker.SECONDS, "0.01")
    return tmp_path / "log"


@pytest.fixture
def workers(store_url: str, log: Path) -> Iterator[list["subprocess.Popen[str]"]]:
    """Workers, which are killed afterwards."""
    living: list[subprocess.Popen[str]] = []
    yield living
    for one in living:
        one.kill()
        one.wait()


def list_writers(log: Path) -> set[int]:
    """Return the processes that have executed something."""
    return {int(line.split()[0]) for line in log.read_text().splitlines()} if log.exists() else set()


async def echo(topic: str) -> str:
    """Return the topic."""
    return topic


async def test_one_starts_and_others_work(
    store_url: str, log: Path, tmp_path: Path, workers: list["subprocess.Popen[str]"]
):
    """It executes nothing, and takes no lock; what it has started is queued until another process works on it."""
    runs, targets = worker.make_runs(store_url, max_concurrency=0)
    async with runs:
        run = await targets["clerk"].astart("tea", id="clerk-0", metadata={"customer": "ada"})
        await anyio.sleep(0.6)  # in which a worker looks four times
        info = await run.ainfo()
        assert (info.status, info.attempts, info.metadata) == ("queued", 0, {"customer": "ada"})
        assert (list_writers(log), list_locks(tmp_path)) == (set(), [])
        program = ("-m", "tests.durable.worker", store_url, str(log), "0.01")
        workers.append(Program(*program, imports="hocket.durable.dbos", cwd=ROOT, stdout=subprocess.DEVNULL))
        info = await until(run, "waiting")
        assert f"-{workers[0].pid}-" in (info.worker or "")
        await run.adecide({call["id"] or "": "approve" for call in await run.apending()})
        assert (await run.aresult(timeout=30)).output == "clerk done: 5"
    assert list_writers(log) == {workers[0].pid}


async def test_an_id_again(store_url: str, caplog: pytest.LogCaptureFixture):
    """Is the same run, whether a worker has started it or not, and whether it has ended; else it is refused."""
    front = open_runs(store_url, max_concurrency=0)
    durable, other = front.durable(echo), front.durable(echo, name="other")
    with caplog.at_level(logging.WARNING), pytest.raises(InvalidInput, match="async with"):
        await durable.astart("tea", id="a")
    async with front, work(store_url, echo) as worked:  # both in one process
        for id, first, second in (("a", worked, durable), ("b", durable, worked)):
            assert await (await first.astart("tea", id=id)).aresult(timeout=20) == "tea"
            assert await (await second.astart("tea", id=id)).aresult(timeout=20) == "tea"
            assert (await front.run(id).ainfo()).attempts == 1
            for target, said in ((durable, "milk"), (other, "tea")):
                with pytest.raises(RunExists, match=f"'{id}'"):
                    await target.astart(said, id=id)
    assert not caplog.records


async def test_two_databases(tmp_path: Path):
    """One process may start runs in both, and works on neither."""
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in "ab"]
    for url in urls:
        front = open_runs(url, max_concurrency=0)
        durable = front.durable(echo)
        async with front:
            await durable.astart("tea", id="one")
    for url in urls:
        async with work(url, echo) as worked:
            assert await worked.runs.run("one").aresult(timeout=20) == "tea"


async def test_a_store_that_is_away():
    """Is told when a run is started."""
    front = open_runs("postgresql://127.0.0.1:1/nowhere", max_concurrency=0)
    durable = front.durable(echo)
    async with front:
        with pytest.raises(EngineUnavailable):
            await durable.astart("tea")


async def read_pages(runs: Any, limit: int, **filters: Any) -> list[list[str]]:
    """Return the ids of all runs, page by page."""
    pages: list[list[str]] = []
    while page := await runs.alist(limit=limit, before=pages[-1][-1] if pages else None, **filters):
        pages.append([info.id for info in page])
    return pages


@pytest.mark.one_of(2)
@pytest.mark.parametrize("together", [1, 7, 25], ids=lambda count: f"{count} at once")
async def test_pages(store_url: str, together: int, monkeypatch: pytest.MonkeyPatch):
    """Every run is on one page, the newest first, however many were started at one moment of the engine's."""
    monkeypatch.setattr(store, "_PAGE", 10)
    runs, _ = make_runs(store_url, echo)
    front = open_runs(store_url, max_concurrency=0)
    durable = front.durable(echo)
    ids = [f"run-{99 - at}" for at in range(26)]
    async with front:
        for id in ids:
            await durable.astart("tea", id=id, metadata={"is_odd": int(id[-1]) % 2 == 1})
    engine = sa.create_engine(store_url.replace("postgresql:", "postgresql+psycopg:"))
    table = "workflow_status" if store_url.startswith("sqlite") else "dbos.workflow_status"
    with engine.begin() as connection:
        for at, id in enumerate(ids):
            created = 1_790_000_000_001 + at // together
            asked = f"UPDATE {table} SET created_at = :created WHERE workflow_uuid = :id"
            connection.execute(sa.text(asked), {"created": created, "id": id})
    engine.dispose()
    newest = ids[::-1]
    assert [info.id for info in await runs.alist(limit=1000)] == newest
    for limit in (1, 9, 10, 25, 26):
        pages = await read_pages(runs, limit)
        assert [id for page in pages for id in page] == newest
        assert {len(page) for page in pages[:-1]} <= {limit}
    assert [id for page in await read_pages(runs, 5, metadata={"is_odd": True}) for id in page] == newest[1::2]
    await front.run(ids[10]).acancel()
    assert await read_pages(runs, 5, status="cancelled") == [[ids[10]]]
    await runs.aclose()
