"""Servers over streamable HTTP: the same promises as for processes, and who may ask."""

import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx
import pytest

from hocket.agents.mcp import mcp_tools
from hocket.errors import ToolServerUnavailable
from hocket.tools import BaseTool, arun_tool_calls
from tests.agents.mcp.conftest import Serving, call, start_serving, stop_serving


async def ask(tools: list[BaseTool], name: str, limit: float | None = None, **arguments: object) -> str:
    """Return the text of a call's result; ``limit`` is in seconds."""
    (result,) = await arun_tool_calls([call(name, **arguments)], tools, timeout=limit)
    return result.text


async def test_the_tools_of_a_url(serving: Serving) -> None:
    async with mcp_tools(serving.url, prefix="far_") as tools:
        names = ["add", "wait", "count_begun", "count_stopped", "refuse", "crash"]
        assert [tool.name for tool in tools] == [f"far_{name}" for name in names]
        assert await ask(tools, "far_add", a=1, b=2) == "3"
        assert await ask(tools, "far_refuse") == "far_refuse failed: not today"


async def test_a_call_that_ends_early_leaves_the_server_usable(serving: Serving) -> None:
    """By a deadline, by a cancellation: the tool is cancelled over there, too."""
    async with mcp_tools(serving.url) as tools:
        assert "took longer than 0.3 s" in await ask(tools, "wait", limit=0.3, seconds=20)
        before = await ask(tools, "count_begun")
        async with anyio.create_task_group() as group:
            group.start_soon(partial(ask, tools, "wait", seconds=20))
            while await ask(tools, "count_begun") == before:  # noqa: ASYNC110 - of another process
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        while await ask(tools, "count_stopped") != await ask(tools, "count_begun"):  # noqa: ASYNC110 - as above
            await anyio.sleep(0.01)


async def test_what_is_no_server_of_streamable_http_is_told_from_one_of_sse() -> None:
    """The error says how to reach a server that speaks the older transport alone; not of one that is not there."""

    class OnlyGet(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), OnlyGet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(ToolServerUnavailable, match=r"give mcp\.client\.sse\.sse_client\(url\)"):
            await mcp_tools(f"http://127.0.0.1:{server.server_port}/sse").__aenter__()
    finally:
        await anyio.to_thread.run_sync(server.shutdown)
        thread.join()
        server.server_close()
    with pytest.raises(ToolServerUnavailable) as refused:
        await mcp_tools(f"http://127.0.0.1:{server.server_port}/sse").__aenter__()
    assert "sse_client" not in str(refused.value)


async def test_fifty_calls_at_once(serving: Serving) -> None:
    async with mcp_tools(serving.url) as tools:
        results = await arun_tool_calls([call("add", a=1, b=number) for number in range(50)], tools)
    assert [result.text for result in results] == [str(1 + number) for number in range(50)]


async def test_closed_from_another_task_while_a_call_runs(serving: Serving) -> None:
    connection = mcp_tools(serving.url)
    tools = await connection.__aenter__()
    said: list[str] = []

    async def wait() -> None:
        said.append(await ask(tools, "wait", seconds=600))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(connection.aclose)
    assert "was closed" in said[0]


async def test_an_error_inside_comes_out_as_itself(serving: Serving) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with mcp_tools(serving.url):
            raise KeyError("mine")


class Talkative(BaseHTTPRequestHandler):
    """A server of 2025, by hand, that sends a result of three megabytes as one event."""

    def do_POST(self) -> None:
        """Answer a message."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "talkative", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "talk", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "a" * 3_000_000}]},
        }
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}
        if request["method"] in results:
            answer["result"] = results[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        body = f"event: message\ndata: {json.dumps(answer)}\n\n".encode() if "id" in request else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


# The SDK leaves the generators of an event stream to the garbage collector, and trio says so when it closes them.
@pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")
async def test_a_large_result_as_an_event() -> None:
    """A picture is easily larger than the megabyte that the SDK allows."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Talkative) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            async with mcp_tools(f"http://127.0.0.1:{server.server_port}/mcp") as tools:
                assert await ask(tools, "talk") == "a" * 3_000_000
        finally:
            server.shutdown()


async def test_a_server_that_is_killed() -> None:
    """Calls that run, and later ones, end with an error, and the close raises nothing of the SDK's."""
    serving = await anyio.to_thread.run_sync(start_serving)
    said: list[str] = []
    try:
        async with mcp_tools(serving.url, reconnect=False) as tools, mcp_tools(serving.url) as others:

            async def wait() -> None:
                said.append(await ask(tools, "wait", seconds=600))

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                group.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                said.append(await ask(tools, "crash"))
            said.append(await ask(tools, "add", a=1, b=2))
            said.append(await ask(others, "add", a=1, b=2))
    finally:
        await anyio.to_thread.run_sync(stop_serving, serving)
    assert ["has gone" in text for text in said] == [True] * 5


def test_a_web_page_cannot_reach_a_server_of_this_machine(serving: Serving) -> None:
    """A name that somebody points to this machine, or a page of another origin, is refused."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    for header in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        refused = httpx.post(serving.url, json=body, headers={**accept, **header})
        assert refused.status_code in (403, 421)
