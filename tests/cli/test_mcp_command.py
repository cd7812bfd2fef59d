"""`hocket mcp serve`: what it refuses, and that it serves; more in `tests/agents/mcp`."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from tests.kit import warm
from tests.kit.amount import leave_for_night

Run = Callable[..., subprocess.CompletedProcess[str]]

MODULE = """
print("said while it is imported")

def add(a: int, b: int) -> int:
    '''Add.'''
    return a + b

class Kit:
    tools = [add]

number = 7
broken = [add, 7]
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a module of tools."""
    (tmp_path / "toolbox.py").write_text(MODULE)
    (tmp_path / "unloadable.py").write_text("import no_such_module")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["toolbox"], 2, "'toolbox' names no tools; it looks like module:name"),
        (["toolbox:"], 2, "it looks like module:name"),
        (["no.such:tools"], 2, "there is no module 'no.such'"),
        (["unloadable:tools"], 1, "ModuleNotFoundError: No module named 'no_such_module'"),
        (["toolbox:ad"], 2, "toolbox has no 'ad'; did you mean 'add'?"),
        (["toolbox:Kit.tool"], 2, "toolbox has no 'Kit.tool'; did you mean 'tools'?"),
        (["toolbox:number"], 2, "7 cannot be run: a tool is a BaseTool, or a function"),
        (["toolbox:broken"], 2, "7 cannot be run"),
        (["toolbox:add", "--http", "nowhere"], 2, "'nowhere' is no host and port"),
        (["toolbox:add", "--http", "host:99999"], 2, "is no host and port"),
        (["toolbox:add", "--http", "a:1/path"], 2, "is no host and port"),
        (["toolbox:add", "--http", "256.0.0.1:1"], 1, "OSError"),
        ([], 2, "MODULE:NAME"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    code: int,
    says: str,
    folder: Path,
    inside: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, after what the module says itself."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, "toolbox", None)  # so that it is gone afterwards
    del sys.modules["toolbox"]
    try:
        exit_code, stdout, stderr = inside("mcp", "serve", *arguments)
    except SystemExit as exit:  # argparse's own
        exit_code, (stdout, stderr) = exit.code, capsys.readouterr()
    assert (exit_code, stdout) == (code, "")
    assert says in stderr.splitlines()[-1]


def start(folder: Path, environ: dict[str, str], *arguments: str, may_be_warm: bool = True) -> "subprocess.Popen[str]":
    pipe: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = ("-m", "hocket", "mcp", "serve", *arguments)
    where: dict[str, Any] = {"cwd": folder, "env": environ, "text": True, "may_be_warm": may_be_warm}
    return warm.Program(*command, imports="hocket.agents.mcp", **where, **pipe)


def test_it_serves_until_the_client_leaves(folder: Path, environ: dict[str, str]) -> None:
    """Standard output has the protocol, and nothing else."""
    with start(folder, environ, "toolbox:Kit.tools", may_be_warm=False) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["result"]["serverInfo"]["name"] == "hocket"
        process.stdin.close()
        assert process.wait() == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "said while it is imported\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arguments", [[], *leave_for_night(["--http", "127.0.0.1:0"])])
def test_a_signal_ends_it(arguments: list[str], number: int, folder: Path, environ: dict[str, str]) -> None:
    """Also while it waits for its client's next line."""
    with start(folder, environ, "toolbox:add", *arguments) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        if arguments:
            assert process.stderr.readline() == "said while it is imported\n"
            assert process.stderr.readline().startswith("hocket: 1 tools at http://127.0.0.1:")
        else:
            process.stdin.write(json.dumps(INITIALIZE) + "\n")
            process.stdin.flush()
            process.stdout.readline()
        process.send_signal(number)
        assert process.wait() in (128 + number, -number)
