"""Engines of others: an agent in a Temporal activity and in a Restate handler, as docs/durable.md has them.

Restate's server is a program of npm's, installed at first use into a cache folder of the user's; where that cannot be done,
its test is skipped. Temporal's own environment for tests of activities needs no server.
"""

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from hocket import AIMessage, ScriptedChatModel, create_agent, tool
from tests.live.mocks import install

if os.environ.get("HOCKET_INTEROP") != "all":
    pytest.skip("scripts/interop runs them", allow_module_level=True)

PAGE = Path(__file__).parents[3] / "docs" / "durable.md"
SERVER = "@restatedev/restate-server@1.7.12"
READY = 60.0  # seconds that a server may take to listen on a busy machine
CALL = {"name": "mail", "args": {"to": "Ada"}, "id": "call_1"}


class Clerk:
    """An agent whose first answer after its tool fails, and the programs of the page around it."""

    def __init__(self, folder: Path) -> None:
        self.mails: list[str] = []

        @tool
        def mail(to: str) -> str:
            """Send a mail."""
            self.mails.append(to)
            return "sent"

        script = [AIMessage("", tool_calls=[CALL]), ConnectionError("gone"), AIMessage("It is sent.")]
        section = PAGE.read_text().partition("## Temporal, Restate")[2].partition("\n## ")[0]
        agent = create_agent(ScriptedChatModel(script=script), [mail])
        self._names: dict[str, Any] = {"clerk": agent, "__name__": "page"}
        self._fences: list[str] = [
            fence.replace("postgresql://host/database", f"sqlite:///{folder}/talks.db")
            for fence in re.findall(r"```python notest\n(.*?)```", section, re.DOTALL)
        ]

    def run(self, word: str) -> dict[str, Any]:
        """Run the page's common code and the part that holds a word, and return its names."""
        common, *parts = self._fences
        [part] = [fence for fence in parts if word in fence]
        for code in (common, part):
            exec(compile(code, str(PAGE), "exec"), self._names)
        return self._names


@pytest.fixture
def clerk(tmp_path: Path) -> Clerk:
    return Clerk(tmp_path)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_temporal_activity_is_safe_to_repeat(clerk: Clerk, anyio_backend: str):
    from temporalio.testing import ActivityEnvironment

    activity = clerk.run("temporalio")["clerk_activity"]
    with pytest.raises(ConnectionError, match="gone"):
        await ActivityEnvironment().run(activity, "Mail Ada.")
    assert await ActivityEnvironment().run(activity, "Mail Ada.") == "It is sent."
    assert clerk.mails == ["Ada"]


def test_a_restate_handler_is_safe_to_repeat(clerk: Clerk, tmp_path: Path):
    app = clerk.run("import restate")["app"]
    with ExitStack() as stack:
        service = stack.enter_context(serve(app))
        ingress, admin = stack.enter_context(run_restate(tmp_path / "restate"))
        wait_until_registered(admin, service)
        answer = httpx.post(f"{ingress}/clerks/ask", json="Mail Ada.", timeout=READY)
    assert (answer.status_code, answer.json()) == (200, "It is sent.")
    assert clerk.mails == ["Ada"]


@contextmanager
def serve(app: Any) -> Iterator[str]:
    """Serve an application in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@contextmanager
def run_restate(folder: Path) -> Iterator[tuple[str, str]]:
    """Run Restate's server, and give the addresses for calls and for its administration."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("Restate's server is a package of npm's, and there is no npm here")
    quiet = ["--no-audit", "--no-fund", "--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    home = install("restate-1.7.12", lambda home: [[npm, "install", "--prefix", str(home), *quiet, SERVER]])
    folder.mkdir()
    places = dict(zip(("INGRESS__", "ADMIN__", ""), find_places(3), strict=True))
    environment = {
        **os.environ,
        **{f"RESTATE_{name}BIND_ADDRESS": place for name, place in places.items()},
        "RESTATE_ADVERTISED_ADDRESS": f"http://{places['']}",
        "RESTATE_BASE_DIR": str(folder),
        "RESTATE_DISABLE_TELEMETRY": "true",
    }
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [home / "node_modules" / ".bin" / "restate-server"], env=environment, stdout=log, stderr=log
        )
        try:
            yield f"http://{places['INGRESS__']}", f"http://{places['ADMIN__']}"
        finally:
            server.terminate()
            server.wait()


def find_places(count: int) -> list[str]:
    """Return addresses of this machine on which nobody listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]


def wait_until_registered(admin: str, service: str) -> None:
    """Tell Restate of a service, as soon as it listens."""
    deadline = time.monotonic() + READY
    while True:
        try:
            reply = httpx.post(f"{admin}/deployments", json={"uri": service, "use_http_11": True}, timeout=READY)
            reply.raise_for_status()
            return
        except httpx.HTTPError:
            assert time.monotonic() < deadline, "Restate's server does not listen, or does not take the service"
            time.sleep(0.2)
