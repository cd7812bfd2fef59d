"""A hostile server over HTTP, where that differs from a process: bodies, types, codings, streams, redirects."""

import gzip
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import pytest

from hocket.agents.mcp import mcp_tools
from tests.agents.mcp.test_hostile import limit_memory, run_agent
from tests.kit.amount import leave_for_night

# The SDK leaves the generators of an event stream to the garbage collector, and trio says so when it closes them.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

MIB = 2**20
JSON, EVENTS = "application/json", "text/event-stream"
RESULTS: dict[str, object] = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "h", "version": "1"}},
    "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
}
LARGE = "it sent a message of more than 64 MiB, or 1,000,000 values"
KEY = "sk-canary1234567890"


def repeat(chunk: bytes, times: int, first: bytes = b"", last: bytes = b"") -> Iterator[bytes]:
    """Yield a body piece by piece: this process is the client, too."""
    yield first
    for _ in range(times):
        yield chunk
    yield last


def hang() -> Iterator[bytes]:
    """Yield nothing for long, and a byte now and then."""
    for _ in range(100):
        yield b":"
        time.sleep(0.05)


Answer = tuple[int, dict[str, str], Callable[[], Iterator[bytes]]]

MODES: dict[str, tuple[Answer, str]] = {
    "body without an end": ((200, {"content-type": JSON}, lambda: repeat(b"x" * MIB, 1000)), LARGE),
    "body with many values": ((200, {"content-type": JSON}, lambda: repeat(b"{}," * 10**5, 20)), LARGE),
    "event without an end": ((200, {"content-type": EVENTS}, lambda: repeat(b"x" * MIB, 1000)), LARGE),
    "event of many lines": (
        (200, {"content-type": EVENTS}, lambda: repeat(b"data: " + b"{}," * 10**4 + b"\n", 200)),
        LARGE,
    ),
    "compressed body": (
        (200, {"content-type": JSON, "content-encoding": "gzip"}, lambda: repeat(gzip.compress(b"x" * MIB), 100)),
        "it sent a compressed answer, which was not asked for|has gone",
    ),
    "page in place of JSON": (
        (200, {"content-type": "text/html"}, lambda: iter([b"<html>"])),
        "Unexpected content type",
    ),
    "no JSON": ((200, {"content-type": JSON}, lambda: iter([b"<html>"])), "Failed to parse JSON response"),
    "no type": ((200, {}, lambda: iter([b"{}"])), "Unexpected content type"),
    "events without an answer": ((200, {"content-type": EVENTS}, lambda: iter([b": hello\n\n"])), "has gone"),
    "events that are no JSON": ((200, {"content-type": EVENTS}, lambda: iter([b"data: {\n\n"])), "Failed to parse SSE"),
    "notifications without an end": (
        (
            200,
            {"content-type": EVENTS},
            lambda: repeat(b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n', 10**6),
        ),
        "took longer than 2 s",
    ),
    "drop by drop": ((200, {"content-type": EVENTS}, hang), "took longer than 2 s"),
    "accepted": ((202, {}, lambda: iter([b""])), "202 Accepted"),
    "redirect to others": ((307, {"location": "http://127.0.0.1:9/mcp"}, lambda: iter([b""])), "not followed"),
    "redirect in a circle": ((307, {"location": "/mcp"}, lambda: iter([b""])), "Redirect to .* not followed"),
    "error with a secret": (
        (500, {"content-type": JSON}, lambda: iter([json.dumps({"error": KEY}).encode()])),
        "Server returned an error response",
    ),
    "large header": ((200, {"x": "y" * MIB}, lambda: iter([b""])), "has gone"),
}


# "Body without an end" is one of them, and "body with many values".
AT_NIGHT = ("event without an end", "event of many lines", "notifications without an end", "redirect in a circle")


class Hostile(BaseHTTPRequestHandler):
    """Answers every call of a tool as its mode has it."""

    mode = ""

    def do_POST(self) -> None:
        """Answer."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = request["method"]
        if method == "tools/call":
            status, headers, body = MODES[self.mode][0]
            self._send(status, headers, body())
        elif "id" not in request:
            self._send(202, {}, iter([b""]))
        elif method in RESULTS:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": RESULTS[method]}
            self._send(200, {"content-type": JSON}, iter([json.dumps(answer).encode()]))
        else:
            error = {"code": -32601, "message": "Method not found"}
            answer = {"jsonrpc": "2.0", "id": request["id"], "error": error}
            self._send(200, {"content-type": JSON}, iter([json.dumps(answer).encode()]))

    def _send(self, status: int, headers: dict[str, str], body: Iterator[bytes]) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for chunk in body:
                self.wfile.write(chunk)
        except OSError:  # the client has enough
            pass

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("mode", [*sorted(MODES.keys() - {*AT_NIGHT}), *leave_for_night(*AT_NIGHT)])
async def test_an_agent_goes_on(mode: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The call ends with an error, and the next one of another tool is made."""
    caplog.set_level("CRITICAL", "mcp")
    handler = type("Handler", (Hostile,), {"mode": mode})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with anyio.fail_after(120), limit_memory():
                url = f"http://127.0.0.1:{server.server_port}/mcp"
                async with mcp_tools(url, timeout=2 if "2 s" in MODES[mode][1] else 60) as tools:
                    results = await run_agent(tools, tmp_path / "history.sqlite")
        finally:
            server.shutdown()
    assert results[0].status == "error" and [one.text for one in results][1:] == ["noted"]
    assert re.search(MODES[mode][1], results[0].text), results[0].text
    assert KEY not in results[0].text
