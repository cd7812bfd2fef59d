"""Servers that are processes: cancelled, killed, closed from anywhere, and never left behind."""

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from hocket.agents.mcp import MCPTools, mcp_tools
from hocket.errors import InvalidInput, ToolServerUnavailable
from hocket.tools import BaseTool, arun_tool_calls
from tests.agents.mcp.conftest import Bare, call

MakeBare = Callable[..., Bare]

GONE = "has gone"


async def ask(tools: list[BaseTool], name: str, limit: float | None = None, **arguments: object) -> str:
    """Return the text of a call's result; ``limit`` is in seconds."""
    (result,) = await arun_tool_calls([call(name, **arguments)], tools, timeout=limit)
    return result.text


async def test_the_tools_of_a_process(bare: MakeBare) -> None:
    """Their names fit, the real ones are kept, and what is called is the process."""
    server = bare()
    async with mcp_tools(server.command, prefix="bare_") as tools:
        assert [tool.name for tool in tools] == [
            "bare_add",
            "bare_wait",
            "bare_list_cancelled",
            "bare_count_waits",
            "bare_environ",
            "bare_crash",
        ]
        assert tools[2].metadata == {"mcp_name": "list.cancelled"}
        assert await ask(tools, "bare_add", a=1, b=2) == "3"
        assert 'a is "x", and must be of type integer' in await ask(tools, "bare_add", a="x", b=2)
        assert len(server.list_processes()) == 1
    assert server.list_processes() == []


async def test_a_server_sees_little_of_the_environment(bare: MakeBare, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of models are none of its business."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    async with mcp_tools(bare().command, only=["environ"]) as tools:
        assert {"PATH", "OPENAI_API_KEY"} & {*json.loads(await ask(tools, "environ"))} == {"PATH"}


async def test_fifty_calls_at_once(bare: MakeBare) -> None:
    async with mcp_tools(bare().command) as tools:
        results = await arun_tool_calls([call("add", a=1, b=number) for number in range(50)], tools)
    assert [result.text for result in results] == [str(1 + number) for number in range(50)]


async def cancel_a_wait(tools: list[BaseTool]) -> None:
    """Cancel a call that the server has begun."""
    before = await ask(tools, "count_waits")
    async with anyio.create_task_group() as group:
        group.start_soon(partial(ask, tools, "wait", seconds=20))
        while await ask(tools, "count_waits") == before:  # noqa: ASYNC110 - of another process
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()


async def test_a_call_that_ends_early_leaves_the_server_usable(bare: MakeBare) -> None:
    """By a deadline, by anyio's cancellation: the server is told, and answers the next call."""
    async with mcp_tools(bare().command) as tools:
        assert "took longer than 0.5 s" in await ask(tools, "wait", limit=0.5, seconds=20)
        await cancel_a_wait(tools)
        assert len(json.loads(await ask(tools, "list_cancelled"))) == 2
        assert await ask(tools, "add", a=1, b=2) == "3"


async def test_a_limit_on_every_call(bare: MakeBare) -> None:
    """The one of the connection holds where nobody sets another."""
    async with mcp_tools(bare().command, timeout=2) as tools:
        assert "took longer than 2 s" in await ask(tools, "wait", seconds=20)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_call_that_asyncio_cancels(bare: MakeBare, anyio_backend: str) -> None:
    """`asyncio.wait_for` and `task.cancel()` strike past anyio's scopes."""
    async with mcp_tools(bare().command) as tools:
        waiting = asyncio.create_task(ask(tools, "wait", seconds=20))
        while await ask(tools, "count_waits") != "1":  # noqa: ASYNC110 - of another process
            await anyio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(json.loads(await ask(tools, "list_cancelled"))) == 1


async def test_a_server_that_is_killed(bare: MakeBare) -> None:
    """Every call that runs ends at once with an error, so does every later one, and the close raises nothing."""
    server = bare()
    said: list[str] = []
    async with mcp_tools(server.command, reconnect=False) as tools:

        async def wait() -> None:
            said.append(await ask(tools, "wait", seconds=600))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            said.append(await ask(tools, "crash"))
        said.append(await ask(tools, "add", a=1, b=2))
    assert [GONE in text for text in said] == [True] * 4


async def test_closed_from_another_task_while_a_call_runs(bare: MakeBare) -> None:
    """Opened in one task, used in a second, closed in a third and a fourth, as frameworks do it."""
    server = bare()
    connection = mcp_tools(server.command)
    tools: list[BaseTool] = []
    said: list[str] = []

    async def open_it() -> None:
        tools.extend(await connection.__aenter__())

    async def wait() -> None:
        said.append(await ask(tools, "wait", seconds=600))

    async with anyio.create_task_group() as group:
        group.start_soon(open_it)
    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(connection.aclose)
        group.start_soon(connection.aclose)
    assert server.list_processes() == []
    said.append(await ask(tools, "add", a=1, b=2))
    assert ["was closed" in text for text in said] == [True, True]
    await connection.aclose()
    with pytest.raises(InvalidInput, match="is opened once"):
        await connection.__aenter__()


async def test_an_error_inside_comes_out_as_itself(bare: MakeBare) -> None:
    """No group around it, and no process behind it."""
    server = bare()
    with pytest.raises(KeyError, match="mine"):
        async with mcp_tools(server.command):
            raise KeyError("mine")
    assert server.list_processes() == []


async def test_a_cancellation_inside_ends_the_process(bare: MakeBare) -> None:
    server = bare()
    with anyio.CancelScope() as scope:
        async with mcp_tools(server.command):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught and server.list_processes() == []


async def test_a_server_that_dies_at_its_start(bare: MakeBare) -> None:
    server = bare("die")
    with pytest.raises(
        ToolServerUnavailable, match=f"{server.mark} die' ended before it answered; its standard error may"
    ):
        async with mcp_tools(server.command):
            raise AssertionError


async def test_a_server_that_never_answers(bare: MakeBare) -> None:
    server = bare("mute")
    with pytest.raises(ToolServerUnavailable, match=r"did not answer within 0\.5 s"):
        async with mcp_tools(server.command, timeout=0.5):
            raise AssertionError
    assert server.list_processes() == []


@pytest.mark.parametrize("way", ["cancelled", "closed"])
async def test_an_opening_that_is_given_up(way: str, bare: MakeBare) -> None:
    """By its own caller, or by another task that closes."""
    server = bare("mute")
    connection = mcp_tools(server.command)
    said: list[str] = []

    async def open_it() -> None:
        try:
            await connection.__aenter__()
        except ToolServerUnavailable as error:
            said.append(str(error))

    async with anyio.create_task_group() as group:
        group.start_soon(open_it)
        while not server.list_processes():  # noqa: ASYNC110 - of another process
            await anyio.sleep(0.01)
        if way == "cancelled":
            group.cancel_scope.cancel()
        else:
            await connection.aclose()
    assert server.list_processes() == []
    assert ["was closed" in text for text in said] == ([] if way == "cancelled" else [True])


async def test_cancelled_at_any_point(bare: MakeBare) -> None:
    """While the process starts, while it is asked for its tools, in a call: none is left."""
    server = bare()

    async def use() -> None:
        async with mcp_tools(server.command, only=["wait"]) as tools:
            await ask(tools, "wait", seconds=600)

    for steps in (*range(12), 40, 400):
        async with anyio.create_task_group() as group:
            group.start_soon(use)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        with anyio.fail_after(30):  # one that is killed while it starts dies a moment later
            while server.list_processes():  # noqa: ASYNC110 - of another process
                await anyio.sleep(0.01)


async def test_a_server_that_does_not_end_by_itself(bare: MakeBare) -> None:
    """Nor does its child: both are killed."""
    server = bare("stubborn")
    async with mcp_tools(server.command):
        assert len(server.list_processes()) == 2
    assert server.list_processes() == []


async def test_only_names_what_is_there(bare: MakeBare) -> None:
    server = bare()
    with pytest.raises(InvalidInput, match=r"only names 'ad', and the server has no such tool; did you mean 'add'\?"):
        async with mcp_tools(server.command, only=["wait", "ad"]):
            raise AssertionError
    assert server.list_processes() == []
    async with mcp_tools(server.command, only=["wait", "list.cancelled"]) as tools:
        assert [tool.name for tool in tools] == ["wait", "list_cancelled"]


async def test_the_tools_belong_to_one_loop(bare: MakeBare) -> None:
    """A sync verb runs elsewhere, which the connection cannot; it says so instead of waiting forever."""
    async with mcp_tools(bare().command) as tools:
        with pytest.raises(InvalidInput, match="belongs to another event loop"):
            await anyio.to_thread.run_sync(anyio.run, tools[0].ainvoke, {"a": 1, "b": 2})
        assert await anyio.to_thread.run_sync(lambda: tools[0].args) == {
            "a": {"type": "integer"},
            "b": {"type": "integer"},
        }


async def test_hockets_own_server_over_stdio(caplog: pytest.LogCaptureFixture) -> None:
    """What modules and tools print does not disturb it, and its errors read as they do here."""
    here = Path(__file__).parent
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from hocket.cli import main; main()"
    command = [sys.executable, "-c", code, str(here), "mcp", "serve", "served_tools:tools"]
    with caplog.at_level(logging.ERROR):
        async with mcp_tools(command) as tools:
            assert await ask(tools, "add", a=1, b=2) == "3"
            assert await ask(tools, "refuse") == "refuse failed: not today"
            assert "took longer than 0.1 s" in await ask(tools, "wait", limit=0.1, seconds=20)
            while await ask(tools, "count_stopped") == "0":  # it may have been over before the tool began
                await ask(tools, "wait", limit=0.1, seconds=20)
            assert GONE in await ask(tools, "crash")
    assert caplog.records == []


def test_a_loop_that_ends_ends_its_servers(bare: MakeBare) -> None:
    """Also where nobody has closed anything."""
    server = bare()
    kept: list[MCPTools] = []

    async def forget() -> None:
        kept.append(mcp_tools(server.command))
        await kept[0].__aenter__()
        assert len(server.list_processes()) == 1

    for backend in ("asyncio", "trio"):
        anyio.run(forget, backend=backend)
        kept.clear()
        assert server.list_processes() == []
