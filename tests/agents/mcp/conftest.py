"""MCP servers of all kinds: in this process, as processes of their own, over HTTP."""

import contextlib
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hocket.messages import ToolCall
from tests.kit import warm
from tests.measures.source import HAS_MCP

# The lowest pydantic that hocket takes is too old for the package.
collect_ignore_glob = [] if HAS_MCP else ["test_*.py"]

HERE = Path(__file__).parent
PROC = Path("/proc")


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a call as a model makes it."""
    return ToolCall(type="tool_call", name=name, args=arguments, id="1")


def list_processes(mark: str) -> list[int]:
    """Return the processes that have ``mark`` in their command line, dead ones that nobody has fetched included."""
    found: list[int] = []
    for path in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


class Bare(NamedTuple):
    """The command of a bare server, and the mark of its processes."""

    command: list[str]
    mark: str

    def list_processes(self) -> list[int]:
        """Return its processes."""
        return list_processes(self.mark)


@pytest.fixture
def bare() -> Iterator[Callable[..., Bare]]:
    """Make the command of a server with a habit; at the end none of its processes may be left."""
    if not PROC.exists():
        pytest.skip("these tests tell from /proc whether a process is left")
    made: list[Bare] = []

    def make(habit: str = "") -> Bare:
        mark = uuid.uuid4().hex
        made.append(Bare([sys.executable, str(HERE / "bare_server.py"), mark, habit], mark))
        return made[-1]

    yield make
    assert [one.list_processes() for one in made if one.list_processes()] == []


class Serving(NamedTuple):
    """A server of HTTP, as a process."""

    url: str
    process: "subprocess.Popen[str]"


def start_serving() -> Serving:
    """Start ``hocket mcp serve`` over HTTP with the tools of `served_tools`."""
    process = warm.Program(
        *("-m", "hocket", "mcp", "serve", "served_tools:tools", "--http", "127.0.0.1:0"),
        imports="hocket.agents.mcp",
        cwd=HERE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if " tools at http://" in line:
            return Serving(line.rsplit(" ", 1)[1].strip(), process)
    raise AssertionError(f"the server has not started: {said}")


def stop_serving(serving: Serving) -> None:
    """End the process, whatever it does."""
    serving.process.kill()
    serving.process.wait()
    assert serving.process.stderr is not None
    serving.process.stderr.close()


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    """Serve over HTTP as long as a file's tests run."""
    started = start_serving()
    yield started
    stop_serving(started)
