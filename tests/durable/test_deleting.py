"""Runs that have ended are deleted, with all that is kept of them; and found by their metadata."""

import sqlite3

import pytest
from anyio import to_thread

from hocket import create_agent
from hocket.chat_history import alist_sessions
from hocket.durable import open_runs, wait_for
from hocket.errors import InvalidInput, UnknownRun
from hocket.messages import AIMessage
from tests.agents.conftest import call
from tests.durable.conftest import RELEASE, Calendar, make_runs, until_it_waits_for, work
from tests.kit.models import hook_model, tool_model

clerk = create_agent(hook_model(lambda request: request.text.upper()), name="clerk")


async def report(topic: str) -> str:
    """Ask an agent twice, and wait."""
    said = [(await clerk.ainvoke(topic)).output, (await clerk.ainvoke(topic)).output]
    return f"{said} {await wait_for(RELEASE)}"


def count_rows(url: str) -> dict[str, int]:
    """Return how many rows each table of a database has, of those that runs fill."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        names = [one for one in names if one.startswith(("workflow", "operation", "hocket"))]
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
    connection.close()
    return counts


async def test_nothing_is_left(either_url: str):
    """Neither records nor signals nor messages, those of agents inside included; other runs keep theirs."""
    async with work(either_url, report) as durable:
        for id in ("a", "ab"):
            run = await durable.astart("tea", id=id)
            await until_it_waits_for(run)
            with pytest.raises(InvalidInput, match="call it off before"):
                await run.adelete()
            await run.asignal(RELEASE, id)
            await run.asignal("never", id)
            await run.aresult()
        if either_url.startswith("sqlite"):
            before = await to_thread.run_sync(count_rows, either_url)
        assert len(await alist_sessions(either_url)) == 4
        await durable.runs.run("a").adelete()
        with pytest.raises(UnknownRun):
            await durable.runs.run("a").ainfo()
        assert (await durable.runs.run("ab").aresult()).endswith(" ab")
        if either_url.startswith("sqlite"):
            after = await to_thread.run_sync(count_rows, either_url)
            assert {name: 2 * count for name, count in after.items()} == before
        assert len(await alist_sessions(either_url)) == 2
        again = await durable.astart("coffee", id="a")  # its id is free
        await until_it_waits_for(again)


async def test_an_agent_that_never_ended(url: str):
    """The messages of an agent go, too, in whose midst the run was called off."""
    paused = create_agent(
        tool_model(lambda request: AIMessage("", tool_calls=[call("slow", "s")])),
        [slow],
        interrupt_on=["slow"],
        name="clerk",
    )

    async def ask(topic: str) -> str:
        return str(await paused.ainvoke(topic))

    async with work(url, ask) as durable:
        run = await durable.astart("tea", id="a")
        await until_it_waits_for(run, "s")
        assert len(await alist_sessions(url)) == 1
        await run.acancel()
        await run.adelete()
    assert await alist_sessions(url) == []


async def slow() -> str:
    """Do nothing."""
    return ""


async def test_what_ended_long_ago(url: str, calendar: Calendar):
    """It is deleted together; what runs, and what has ended since, stays."""
    runs, (durable,) = make_runs(url, report)
    async with runs:
        for id in ("old", "open"):
            await until_it_waits_for(await durable.astart("tea", id=id))
        await runs.run("old").asignal(RELEASE)
        await runs.run("old").aresult()
        assert await runs.adelete(older_than=60) == 0
        calendar.ahead = 3600
        assert await runs.adelete(older_than=60) == 1
        assert [info.id for info in await runs.alist()] == ["open"]
        with pytest.raises(InvalidInput, match="older_than"):
            await runs.adelete(older_than=-1)


async def test_by_metadata(either_url: str):
    """Runs are found by what they were started with."""

    async def echo(topic: str) -> str:
        return topic

    runs, (durable,) = make_runs(either_url, echo)
    async with runs:
        for at in range(5):
            await durable.ainvoke("tea", id=str(at), metadata={"customer": "ab"[at % 2], "at": at})
        assert [info.id for info in await runs.alist(metadata={"customer": "b"})] == ["3", "1"]
        assert [info.id for info in await runs.alist(metadata={"customer": "a"}, limit=1)] == ["4"]
    found = await to_thread.run_sync(lambda: open_runs(either_url).list_runs(metadata={"at": 3}))
    assert len(found) == 1
