"""Durable agents on the page and behind the gateway: each question is a run, which outlives whoever asked."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

pytest.importorskip("dbos", reason="durable runs need dbos")

from starlette.applications import Starlette
from starlette.routing import Mount

from hocket.durable import Run, Runs, open_runs
from hocket.errors import InvalidInput
from hocket.serving import LiveAnswers, openai_app
from tests.serving.conftest import question, send
from tests.serving.durable_clerk import make_agent
from tests.serving.test_console import chat, read_events, say


def make_app(url: str, *, asks: bool = True, **options: Any) -> tuple[Any, Runs]:
    """Return an application with a durable agent, and its runs."""
    runs = open_runs(url)
    return openai_app({"clerk": runs.durable(make_agent(asks=asks))}, **{"page": asks, **options}), runs


@contextlib.asynccontextmanager
async def keep_up(app: Any) -> AsyncIterator[list[str]]:
    """Run the lifespan of an application, as a server does; yield what it has said of it."""
    to_app, said = anyio.create_memory_object_stream[Any](2), list[str]()
    told = anyio.Event()

    async def tell(event: Any) -> None:
        said.append(event["type"])
        told.set()

    async with to_app[0], to_app[1], anyio.create_task_group() as group:
        group.start_soon(app, {"type": "lifespan"}, to_app[1].receive, tell)
        await to_app[0].send({"type": "lifespan.startup"})
        await told.wait()
        try:
            yield said
        finally:
            with anyio.CancelScope(shield=True):
                told = anyio.Event()
                await to_app[0].send({"type": "lifespan.shutdown"})
                await told.wait()


@pytest.fixture(autouse=True)
def no_blocking_calls() -> None:
    """Blocking calls are let pass: DBOS takes locks, in a loop of its own, in which hocket's code runs, too."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


async def ask(app: Any, text: str = "Hi", run: str = "r1", **fields: Any) -> httpx.Response:
    return await send(app, "POST", "/page/chat", json=chat("clerk", text, run=run, **fields))


def approve(*ids: str) -> dict[str, Any]:
    payload = {"type": "approve"}
    return {"messages": [], "resume": [{"interruptId": id, "status": "resolved", "payload": payload} for id in ids]}


# -- the page


async def test_a_talk_with_an_approval(url: str):
    """Each question starts a run with all that was said; what waits is decided on the page, and the run goes on."""
    app, runs = make_app(url)
    async with keep_up(app):
        assert say(await ask(app, "one", "r1")) == "one, of 1"
        paused = read_events(await ask(app, "pay", "r2"))
        outcome = paused[-1]["outcome"]
        assert [one["toolCallId"] for one in outcome["interrupts"]] == ["call-2"]
        assert (
            "".join(event.get("delta", "") for event in paused if event["type"] == "TEXT_MESSAGE_CONTENT")
            == "A moment."
        )
        busy = await ask(app, "three", "r3")
        assert busy.status_code == 409
        assert "waits for a decision" in busy.json()["error"]["message"]
        ended = read_events(await ask(app, run="r3", **approve("call-2")))
        assert [event["content"] for event in ended if event["type"] == "TOOL_CALL_RESULT"] == ["5 is paid back"]
        assert "".join(event.get("delta", "") for event in ended) == "5 is paid back, of 2"
        assert ended[-1]["outcome"] == {"type": "success"}
        assert say(await ask(app, "four", "r4")) == "four, of 3"
        assert [info.status for info in await runs.alist()] == ["done"] * 3
        models = (await send(app, "GET", "/page/models.json")).json()
    assert models == [{"name": "clerk", "kind": "agent"}]


async def test_the_same_request_is_the_same_run(url: str):
    """Also in the next process: what an earlier one began, waited for, and was told, is there."""
    app, _ = make_app(url)
    async with keep_up(app):
        await ask(app, "one", "r1")
        first = read_events(await ask(app, "pay", "r2"))
    app, runs = make_app(url)
    async with keep_up(app):
        again = read_events(await ask(app, "pay", "r2"))
        assert again[-1]["outcome"] == first[-1]["outcome"]
        assert say(await ask(app, run="r3", **approve("call-2"))) == "5 is paid back, of 2"
        assert say(await ask(app, "pay", "r2")).endswith("5 is paid back, of 2")
        assert len(await runs.alist()) == 2


async def test_decisions_that_are_none(url: str):
    """Where nothing waits, or not that call."""
    app, _ = make_app(url)
    async with keep_up(app):
        assert (await ask(app, run="r1", **approve("call-1"))).status_code == 400
        await ask(app, "pay", "r2")
        assert (await ask(app, run="r3", **approve("call-9"))).status_code == 400
        assert (await ask(app, run="r4", **approve("call-1"))).status_code == 200


async def test_stop_calls_the_run_off_and_leaving_does_not(url: str):
    """A person who presses Stop means the run; the end of the process leaves it to others."""
    app, runs = make_app(url)
    async with keep_up(app), anyio.create_task_group() as group:
        group.start_soon(ask, app, "wait", "r1")
        await wait_for_status(runs, "running")
        assert (await send(app, "POST", "/page/chat/t/stop")).json() == {"stopped": True}
        await wait_for_status(runs, "cancelled")
        group.start_soon(ask, app, "wait", "r2")
        await wait_for_status(runs, "running")
        group.cancel_scope.cancel()
    assert [info.status for info in await open_runs(url).alist()] == ["running", "cancelled"]


class LateEngine:
    """An engine whose starter hears of a run when a test lets it, and not when it is in the store."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.has_stored, self.may_tell = anyio.Event(), anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def start(self, *run: Any) -> None:
        await self._engine.start(*run)
        self.has_stored.set()
        await self.may_tell.wait()


async def test_stop_means_a_run_of_which_its_starter_does_not_know_yet(url: str):
    """It is in the store already: the answer ends, and the run."""
    app, runs = make_app(url)
    runs._store.engine = late = LateEngine(runs._store.engine)  # type: ignore[assignment]
    statuses = list[str]()

    async def stop() -> None:
        assert (await send(app, "POST", "/page/chat/t/stop")).json() == {"stopped": True}
        statuses.extend([info.status for info in await runs.alist()])

    async with keep_up(app), anyio.create_task_group() as group:
        group.start_soon(ask, app, "wait", "r1")
        await late.has_stored.wait()
        group.start_soon(stop)
        await anyio.wait_all_tasks_blocked()
        late.may_tell.set()
    assert statuses == ["cancelled"]


async def wait_for_status(runs: Runs, status: Any) -> None:
    while not await runs.alist(status=status):  # noqa: ASYNC110  # of another process, for all that is known
        await anyio.sleep(0.02)


async def test_a_run_that_fails(url: str):
    """The page is told in words for strangers, and the next question goes on."""
    app, _ = make_app(url, keys="a-long-key")
    headers = {"authorization": "Bearer a-long-key"}
    async with keep_up(app):
        reply = await send(app, "POST", "/page/chat", json=chat("clerk", "fail", run="r1"), headers=headers)
        assert "secret" not in reply.text
        reply = await send(app, "POST", "/page/chat", json=chat("clerk", "two", run="r2"), headers=headers)
        assert say(reply) == "two, of 1"  # what had no answer was not kept


# -- who works


async def test_nobody_works(url: str):
    """A mounted application has no lifespan: it says what to do; where the outer one works, it answers."""
    app, runs = make_app(url)
    outer = Starlette(routes=[Mount("/ai", app)])
    asked = chat("clerk", "one")
    reply = await send(outer, "POST", "/ai/page/chat", json=asked)
    assert reply.status_code == 500
    assert reply.json()["error"]["code"] == "misconfigured"
    async with runs:
        assert say(await send(outer, "POST", "/ai/page/chat", json=asked)) == "one, of 1"
        async with keep_up(app):  # which leaves it to whoever was first
            pass
        assert runs.is_working
    assert not runs.is_working


async def test_a_start_that_fails(tmp_path: Path):
    """The server is told why, and does not start."""
    app, _ = make_app(f"sqlite:///{tmp_path}/none/runs.db")
    said = list[str]()

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def tell(event: Any) -> None:
        said.append(f"{event['type']}: {event['message']}")

    await app({"type": "lifespan"}, receive, tell)
    assert said[0].startswith("lifespan.startup.failed: EngineUnavailable: sqlite:///")


# -- the faces


async def test_what_is_refused_when_it_is_built(url: str):
    """An agent that may pause without a page; what is no agent."""
    with pytest.raises(InvalidInput, match="may wait for a person"):
        make_app(url, page=False)

    runs = open_runs(url)

    @runs.durable
    async def report(topic: str) -> str:
        return topic

    with pytest.raises(InvalidInput, match="durable, and no agent"):
        openai_app({"report": report})


async def test_an_agent_that_may_pause_is_on_the_page_alone(url: str):
    app, _ = make_app(url)
    reply = await send(app, "POST", "/v1/chat/completions", json=question(model="clerk"))
    assert reply.status_code == 404


@pytest.mark.parametrize("streams", [False, True])
async def test_the_faces_answer(url: str, streams: bool):
    """The text of all steps, and the usage of the run, which has the metadata of the request."""
    app, runs = make_app(url, asks=False, keys={"red": "a-long-key"})
    asked = question("pay", model="clerk", stream=streams)
    asked["messages"] = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, *asked["messages"]]
    async with keep_up(app):
        headers = {"authorization": "Bearer a-long-key"}
        reply = await send(app, "POST", "/v1/chat/completions", json=asked, headers=headers)
        [info] = await runs.alist()
    text = "A moment.\n\n5 is paid back, of 2"
    if streams:
        chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        assert "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks if one["choices"]) == text
    else:
        assert reply.json()["choices"][0]["message"]["content"] == text
        assert reply.json()["usage"]["total_tokens"] == 22
    assert info.metadata["tenant"] == "red"


async def test_live_answers_follow_a_run(url: str):
    """In each protocol of pages: the recorded events, from the first on, and again for the next reader."""
    runs = open_runs(url)
    clerk = runs.durable(make_agent(asks=True))
    live = LiveAnswers()
    async with runs:
        run: Run[Any] = await clerk.astart("pay", id="order-7")
        body = await live.start("order-7", run.astream(), protocol="ag-ui")
        while not await run.apending():  # noqa: ASYNC110  # as a person would look
            await anyio.sleep(0.02)
        await run.adecide({"call-1": "approve"})
        first = b"".join([piece async for piece in body])
        second = await live.follow("order-7")
        assert second is not None
        assert b"".join([piece async for piece in second]) == first
        whole = b"".join([piece async for piece in await live.start("again", run.astream(), protocol="vercel")])
    for said in (first, whole):
        assert said.count(b"A moment.") == 1
        assert said.count(b"5 is paid back, of 1") == 1
    assert first.count(b"TOOL_CALL_START") == 1
