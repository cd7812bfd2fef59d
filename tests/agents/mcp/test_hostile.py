"""A hostile server: whatever it does, there is a clear error in time, in bounded memory, and the agent goes on.

Memory is that of this process, as the system counts it, while the server is used; the server is a process of its own.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from hocket import ScriptedChatModel
from hocket.agents import create_agent
from hocket.agents.mcp import mcp_tools
from hocket.chat_history import SQLiteChatMessageHistory
from hocket.errors import ToolServerUnavailable
from hocket.messages import ToolMessage
from hocket.testing import Turn
from hocket.tools import BaseTool, tool
from tests.agents.mcp.conftest import HERE, Bare
from tests.agents.mcp.hostile_server import CALL, KEY, LIST, START
from tests.kit.amount import leave_for_night

MakeBare = Callable[..., Bare]

MIB = 2**20
MOST_MEMORY = 600 * MIB
LATE = "took longer than 2 s"
UNREAD = r"took longer than 2 s; 1 of its messages could not be read"
LARGE = "sent a message of more than 64 MiB, or 1,000,000 values, and was left"
SHAPE = "its answer cannot be used: ValidationError"
LEFT_OUT = r"\(a block of type \w+, which is damaged, or of another type, was left out\)"

STARTS = {
    "silent at the start": "did not answer within 2 s",
    "dies at the start": "ended before it answered; its standard error may say why",
    "endless line at the start": LARGE,
    "noise, then silence": r"did not answer within 2 s; \d+ of its messages could not be read",
    "unknown version": "cannot be used",
    "wrong shape at the start": "cannot be used: ValidationError",
    "error with a secret at the start": r"cannot be used: \*+",
    "silent in the list": "did not answer within 2 s",
    "dies in the list": "ended before it answered",
    "list of the wrong shape": "cannot be used: ValidationError",
    "endless pages": "it lists more than 10000 tools, 1000 pages of them, or 64 MiB",
    "endless large pages": "it lists more than 10000 tools, 1000 pages of them, or 64 MiB",
    "pages in a circle": "its list of tools has no end: the page after 'again' was sent before",
    "huge list": LARGE,
    "deep schema": "did not answer within 2 s; 1 of its messages could not be read",
}

ANSWERS = {
    **dict.fromkeys(("tools without names", "schema that is none", "schema of wrong types"), "no tool named 'act'"),
    "schema in a circle": "the schema refers to itself in a circle",
    "slow pattern of an argument": r"must match \^\(a\+\)\+\$",
    "slow pattern of the result": r"its answer cannot be used: a is .* must match",
    "schema of the result in a circle": "its answer cannot be checked: the schema refers to itself in a circle",
    "silent in a call": LATE,
    "dies in a call": "has gone",
    "dies in half a line": "has gone",
    "half a line, then silence": LATE,
    "endless line": LARGE,
    "huge text": LARGE,
    "large text": r"x, \{\[x",
    "a million blocks": LARGE,
    "a hundred thousand blocks": "",
    "ten million values": LARGE,
    "text without an end": UNREAD,
    "deep JSON": UNREAD,
    "not quite as deep": r'\{"a": \{"a"',
    "half a surrogate": UNREAD,
    "NUL and escapes": "ignore all instructions",
    "NaN": "NaN",
    "large number": "9999",
    "too large a number": UNREAD,
    "no UTF-8": "\ufffd",
    "unknown block": SHAPE,
    "block without a kind": SHAPE,
    "result of the wrong shape": SHAPE,
    "result and error": "no",
    "neither result nor error": UNREAD,
    "picture that is no base64": LEFT_OUT,
    "picture that is a page": LEFT_OUT,
    "sound that is a picture": LEFT_OUT,
    "giant picture": r"which is larger than 20,971,520 characters, was left out\)",
    "wrong ids": "mine",
    "wrong ids alone": LATE,
    "two answers": "first",
    "error with a secret": r"key \*+",
    "error result with a secret": r"key \*+",
    "large error": "no no no",
    "error with the SDK's own code": "act failed: busy",
    "wants more input": "asks for more input|cannot be used",
    "large error result": "no no no",
    "notifications without end": LATE,
    "progress without end": LATE,
    "asks for an answer of the model": "Method not found",
    "asks the person": "Method not found",
    "asks for folders": "Method not found",
    "asks whether we live": "{}",
    "asks without end": LATE,
    "pings without end": LATE,
    "cancels our request": "cancelled",
}

# At each change one like them runs: of what has no end, is too large, or is never said "huge text", "silent …" and "deep …";
# of pairs that differ in a word the other one.
AT_NIGHT = {
    "asks for folders",
    "asks the person",
    "block without a kind",
    "dies in half a line",
    "error result with a secret",
    "large error result",
    "large number",
    "names that clash",
    "not quite as deep",
    "picture that is a page",
    "schema of the result is none",
    "silent at the start",
    "sound that is a picture",
    "two answers",
    "wrong ids",
    "a hundred thousand blocks",
    "a million blocks",
    "asks without end",
    "endless large pages",
    "endless line at the start",
    "endless line",
    "endless pages",
    "half a line, then silence",
    "huge list",
    "noise, then silence",
    "notifications without end",
    "pings without end",
    "progress without end",
    "silent in the list",
    "ten million values",
    "text without an end",
    "wide schema",
}


def list_modes(modes: dict[str, dict[str, Callable[[], object]]]) -> list[object]:
    """Return the modes; some run at night."""
    return [*sorted(modes.keys() - AT_NIGHT), *leave_for_night(*sorted(modes.keys() & AT_NIGHT))]


def read_memory() -> int:
    """Return the bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@contextmanager
def limit_memory() -> Iterator[None]:
    """Fail if this process takes more than is allowed, at any time."""
    before, most, end = read_memory(), 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not end.wait(0.005):
            most = max(most, read_memory() - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        end.set()
        watcher.join()
    assert most < MOST_MEMORY, f"{most / MIB:.0f} MiB"


@pytest.fixture
def hostile(bare: MakeBare) -> Callable[[str], list[str]]:
    """Make the command of a hostile server; at the end none of its processes may be left."""

    def make(mode: str) -> list[str]:
        made = bare(mode)
        return [made.command[0], str(HERE / "hostile_server.py"), *made.command[2:]]

    return make


@tool
def note() -> str:
    """Note."""
    return "noted"


async def run_agent(tools: list[BaseTool], path: Path) -> list[ToolMessage]:
    """Have an agent call `act`, and then a tool of ours, and return the results, as they come back from a history."""
    act, ours = ({"name": name, "args": {"a": "x"} if name == "act" else {}, "id": name} for name in ("act", "note"))
    model = ScriptedChatModel(script=[Turn(tool_calls=[act]), Turn(tool_calls=[ours]), Turn(text="It went on.")])  # type: ignore[list-item]
    history = SQLiteChatMessageHistory("1", path)
    result = await create_agent(model, [*tools, note]).ainvoke("Go.", history=history)
    assert result.output == "It went on."
    return [one for one in await history.aget_messages() if isinstance(one, ToolMessage)]


@pytest.mark.parametrize("mode", list_modes(START | {mode: LIST[mode] for mode in STARTS if mode in LIST}))
async def test_a_server_that_cannot_be_used(mode: str, hostile: Callable[[str], list[str]]) -> None:
    """Is refused, with the reason."""
    with anyio.fail_after(120), limit_memory(), pytest.raises(ToolServerUnavailable, match=STARTS[mode]) as caught:
        async with mcp_tools(hostile(mode), timeout=2 if "2 s" in STARTS[mode] else 60):
            raise AssertionError
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("mode", list_modes({mode: LIST[mode] for mode in LIST if mode not in STARTS} | CALL))
async def test_an_agent_goes_on(
    mode: str, hostile: Callable[[str], list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The call ends with a result or an error, and the next one of another tool is made."""
    caplog.set_level(logging.CRITICAL, "mcp")
    with anyio.fail_after(120), limit_memory():
        async with mcp_tools(hostile(mode), timeout=2 if "2 s" in ANSWERS.get(mode, "") else 60) as tools:
            results = await run_agent(tools, tmp_path / "history.sqlite")
    assert [one.text for one in results][1:] == ["noted"]
    assert re.search(ANSWERS.get(mode, "done|after all|x"), results[0].text)
    assert all(re.fullmatch(r"[\w-]{1,64}", one.name) for one in tools) and len({one.name for one in tools}) == len(
        tools
    )
    assert KEY not in results[0].text


@pytest.mark.parametrize(
    ("mode", "names", "told"),
    [
        ("schema of a list", ["act"], r"left out is \{'name': 'odd', .*: tools\.1\.inputSchema\.type is not MCP's"),
        ("tools without names", [], r"left out is 3 tools, as \{'inputSchema': \{\}\}: tools\.0\.name is not MCP's"),
    ],
)
async def test_a_tool_that_is_none_is_left_out_alone(
    mode: str, names: list[str], told: str, hostile: Callable[[str], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    """The log names it, and the others can be used."""
    with caplog.at_level(logging.WARNING, "hocket.agents.mcp"):
        async with mcp_tools(hostile(mode)) as tools:
            assert [one.name for one in tools] == names
    (record,) = [one for one in caplog.records if one.name == "hocket.agents.mcp"]
    assert re.search(told, record.getMessage())


async def test_arguments_that_are_no_json(bare: MakeBare) -> None:
    """Half a surrogate, which a model may write, ends no connection."""
    server = bare()
    async with mcp_tools(server.command) as tools:
        environ = next(one for one in tools if one.name == "environ")
        with pytest.raises(Exception, match="the arguments cannot be written as JSON"):
            await environ.ainvoke({"a": "\ud800"})
        assert await environ.ainvoke({})
        assert len(server.list_processes()) == 1
