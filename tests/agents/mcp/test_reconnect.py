"""Servers that go, and come back with the next call."""

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from hocket._runtime import clock
from hocket.agents.mcp import mcp_servers, mcp_tools
from hocket.errors import InvalidInput, ToolServerUnavailable
from hocket.tools import BaseTool, arun_tool_calls
from tests.agents.mcp.conftest import Bare, call

pytestmark = pytest.mark.both_loops

MakeBare = Callable[..., Bare]


async def ask(tools: list[BaseTool], name: str, **arguments: object) -> str:
    """Return the text of a call's result."""
    (result,) = await arun_tool_calls([call(name, **arguments)], tools)
    return result.text


class Later(clock.RealClock):
    """The machine's clock, put forward."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.fixture
def later() -> Iterator[Later]:
    """Put a clock in use that can be put forward."""
    made = Later()
    before = clock.use(made)
    yield made
    clock.use(before)


async def test_the_next_call_starts_the_server_again(bare: MakeBare) -> None:
    """With the same tools; the call under way ended as an error, and was not made again."""
    server = bare()
    async with mcp_tools(server.command) as tools:
        assert "has gone" in await ask(tools, "crash")
        assert await ask(tools, "add", a=1, b=2) == "3"
        assert len(server.list_processes()) == 1
    assert server.list_processes() == []
    assert "was closed" in await ask(tools, "add", a=1, b=2)


async def test_a_server_that_died_while_nobody_asked(bare: MakeBare, caplog: pytest.LogCaptureFixture) -> None:
    """The call after that is no call under way: it goes to the new one, whatever tool it is."""
    server = bare()
    async with mcp_tools(server.command) as tools:
        (process,) = server.list_processes()
        await anyio.run_process(["kill", "-9", str(process)])
        with anyio.fail_after(30):
            while "has gone" not in caplog.text:  # noqa: ASYNC110 - a pipe's other end has to close
                await anyio.sleep(0.01)
        assert await ask(tools, "add", a=1, b=2) == "3"


async def test_calls_at_once_start_it_once(bare: MakeBare) -> None:
    server = bare()
    async with mcp_tools(server.command) as tools:
        await ask(tools, "crash")
        results = await arun_tool_calls([call("add", a=1, b=number) for number in range(20)], tools)
        assert [result.text for result in results] == [str(1 + number) for number in range(20)]
        assert len(server.list_processes()) == 1


@pytest.mark.parametrize(("name", "times"), [("die", 1), ("die_again", 2)])
async def test_how_often_a_call_is_made(name: str, times: int, bare: MakeBare, tmp_path: Path) -> None:
    """Once; a tool that says that it is idempotent twice."""
    path = anyio.Path(tmp_path / "calls")
    async with mcp_tools(bare("mortal").command) as tools:
        assert "has gone" in await ask(tools, name, path=str(path))
        assert len((await path.read_text()).splitlines()) == times
        await ask(tools, name, path=str(path))
        assert await ask(tools, name, path=str(path)) == '"survived"'


async def test_an_idempotent_call_survives(bare: MakeBare, tmp_path: Path) -> None:
    """Its caller does not notice."""
    path = anyio.Path(tmp_path / "calls")
    await path.write_text("earlier\n")
    async with mcp_tools(bare("mortal").command) as tools:
        assert await ask(tools, "die_again", path=str(path)) == '"survived"'


async def test_three_times_a_minute(bare: MakeBare, later: Later) -> None:
    """Then every call is refused at once, with the time that is left, and a minute later it is started again."""
    server = bare()
    async with mcp_tools(server.command) as tools:
        for _ in range(4):
            assert "has gone" in await ask(tools, "crash")
        refused = await ask(tools, "add", a=1, b=2)
        assert "it was started 3 times again in a minute, and may be started once more in " in refused
        assert server.list_processes() == []
        with pytest.raises(ToolServerUnavailable):
            await tools[0].ainvoke({"a": 1, "b": 2})
        later.ahead = 60.0
        assert await ask(tools, "add", a=1, b=2) == "3"


async def test_a_server_that_cannot_be_started_again(tmp_path: Path, bare: MakeBare) -> None:
    """Is told as such, and tried again, three times a minute."""
    server, program = bare(), tmp_path / "program"
    program.symlink_to(server.command[0])
    async with mcp_tools([str(program), *server.command[1:]]) as tools:
        await ask(tools, "crash")
        program.unlink()
        for _ in range(3):
            assert "cannot be used: FileNotFoundError" in await ask(tools, "add", a=1, b=2)
        assert "started 3 times again" in await ask(tools, "add", a=1, b=2)


async def test_closed_while_it_starts_again(bare: MakeBare) -> None:
    """No process is left."""
    server = bare()
    for steps in (0, 1, 5, 20, 80):
        connection, said = mcp_tools(server.command), list[str]()

        async def add(tools: list[BaseTool], said: list[str]) -> None:
            said.append(await ask(tools, "add", a=1, b=2))

        tools = await connection.__aenter__()
        await ask(tools, "crash")
        async with anyio.create_task_group() as group:
            group.start_soon(add, tools, said)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            await connection.aclose()
        assert server.list_processes() == []
        assert "was closed" in said[0] or said[0] == "3" or "has gone" in said[0]


async def test_cancelled_while_it_starts_again(bare: MakeBare) -> None:
    """The next caller starts it."""
    server = bare()
    async with mcp_tools(server.command) as tools:
        for steps in (1, 10):
            await ask(tools, "crash")
            async with anyio.create_task_group() as group:
                group.start_soon(partial(ask, tools, "add", a=1, b=2))
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            if steps == 1:
                assert await ask(tools, "add", a=1, b=2) == "3"
    assert server.list_processes() == []


async def test_another_event_loop_is_refused_then_too(bare: MakeBare) -> None:
    async with mcp_tools(bare().command) as tools:
        await ask(tools, "crash")
        with pytest.raises(InvalidInput, match="belongs to another event loop"):
            await anyio.to_thread.run_sync(anyio.run, tools[0].ainvoke, {"a": 1, "b": 2})


async def test_what_else_a_server_is_asked(bare: MakeBare) -> None:
    """Resources and prompts are read again, also from a server that goes meanwhile."""
    server = bare()
    config = {"mcpServers": {"one": {"command": server.command[0], "args": server.command[1:]}}}
    async with mcp_servers(config) as servers:
        await ask(servers.tools, "one_crash")
        assert [one.name for one in await servers.list_prompts("one")] == ["greet"]
    async with mcp_servers(config, reconnect=False) as servers:
        await ask(servers.tools, "one_crash")
        with pytest.raises(ToolServerUnavailable, match="has gone"):
            await servers.list_prompts("one")


class Forgetful(BaseHTTPRequestHandler):
    """A server of HTTP whose sessions can be forgotten."""

    sessions: list[str] = []  # noqa: RUF012 - of the test
    known: list[str] = []  # noqa: RUF012
    calls: list[str] = []  # noqa: RUF012

    def do_POST(self) -> None:
        """Answer."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, session = request["method"], self.headers.get("mcp-session-id")
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}
        if method == "initialize":
            session = f"s{len(self.sessions)}"
            self.sessions.append(session)
            self.known.append(session)
            info = {"name": "forgetful", "version": "1"}
            answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "server/discover":
            answer["error"] = {"code": -32601, "message": "Method not found"}
        elif session not in self.known:
            self._send(404, b"")
            return
        elif method == "tools/list":
            answer["result"] = {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            self.calls.append(str(session))
            answer["result"] = {"content": [{"type": "text", "text": f"acted in {session}"}]}
        self._send(200 if "id" in request else 202, json.dumps(answer).encode(), session)

    def do_GET(self) -> None:
        """Offer no stream."""
        self._send(405, b"")

    def do_DELETE(self) -> None:
        """End a session."""
        self._send(200, b"")

    def _send(self, status: int, body: bytes, session: str | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if session:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


async def test_a_session_that_the_server_has_forgotten() -> None:
    """It has refused the call, so the call is made in a new session, and once."""
    for made in (Forgetful.sessions, Forgetful.known, Forgetful.calls):
        made.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            async with mcp_tools(f"http://127.0.0.1:{server.server_port}/mcp") as tools:
                assert await ask(tools, "act") == "acted in s0"
                Forgetful.known.clear()
                assert await ask(tools, "act") == "acted in s1"
                assert Forgetful.calls == ["s0", "s1"]
        finally:
            server.shutdown()
