"""`SafetyManager` lets through what is allowed, in time; what it cannot check is not run."""

import re
import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, strategies as st

from hocket.agents import SafetyManager, ToolCallRequest
from hocket.agents.middleware import compose_tool_calls
from hocket.errors import InvalidInput, ToolException
from hocket.messages import ToolMessage
from hocket.testing import virtual_clock
from hocket.tools import BaseTool, arun_tool_calls, tool


@tool
def rm(path: str = "") -> str:
    """Remove a file."""
    return f"removed {path}"


def make_request(args: Any, name: Any = "rm", tool: BaseTool | None = rm) -> ToolCallRequest:
    return ToolCallRequest(tool_call={"name": name, "args": args, "id": "call_1", "type": "tool_call"}, tool=tool)


async def call(safety: SafetyManager, request: ToolCallRequest, *tools: BaseTool) -> tuple[ToolMessage, list[Any]]:
    """Return the answer to a call within ``safety``, and the calls that were made."""
    made: list[Any] = []

    async def make(request: ToolCallRequest) -> ToolMessage:
        made.append(request.tool_call)
        (message,) = await arun_tool_calls([request.tool_call], tools or [rm])
        return message

    return await compose_tool_calls([safety], make, {})(request), made


async def test_a_tool_that_is_not_allowed_is_not_run() -> None:
    """The model is told which, in English or Chinese."""
    message, made = await call(SafetyManager(["search"]), make_request({}))
    assert (message.status, message.tool_call_id, message.name, made) == ("error", "call_1", "rm", [])
    assert message.content == "This tool is not allowed: rm. The call is not made."
    assert message.response_metadata == {"tool_error": "blocked"}
    message, made = await call(SafetyManager(["search"], language="zh"), make_request({}))
    assert (message.content, made) == ("未授权的工具: rm", [])


async def test_a_tool_that_is_allowed_is_run() -> None:
    """By default each; none by an empty list."""
    for safety in (SafetyManager(), SafetyManager({"rm"}), SafetyManager(iter(["rm"]), ["secret"], 60)):
        message, made = await call(safety, make_request({"path": "a"}))
        assert (message.content, message.status, len(made)) == ("removed a", "success", 1)
    assert (await call(SafetyManager([]), make_request({})))[1] == []


@pytest.mark.parametrize("name", [None, 5, ["rm"], "", "x" * 10_000])
async def test_a_name_that_is_none_is_not_allowed(name: object) -> None:
    message, made = await call(SafetyManager(["rm"]), make_request({}, name))
    assert (message.status, made) == ("error", [])
    assert len(message.text) < 200


async def test_the_tool_that_is_run_has_to_be_allowed_too() -> None:
    """A middleware may have put another in the place of the one that the model named."""
    assert (await call(SafetyManager(["search"]), make_request({}, "search", rm)))[1] == []


BLOCKED: list[Any] = [
    {"path": "/etc/passwd"},
    {"path": "x", "more": {"deep": [1, {"er": ("a", "the passwd file")}]}},
    {"passwd": 1},
    {"a": {"passwd": None}},
    "cat passwd",
    ["passwd"],
]

UNCHECKED: list[Any] = [
    {"a": b"x"},
    {"a": {"set"}},
    {"a": object()},
    {1: "a"},
    {"a": {None: "a"}},
    {"a": "x" * 20_001},
    {"a" * 20_001: 1},
    {"a": ["x" * 200] * 200},
    {"a": [1] * 10_001},
    {"a": 10**5000},
]


def nest(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def make_cycle() -> Any:
    value: list[Any] = []
    value.extend([value] * 100)
    return value


@pytest.mark.parametrize("args", BLOCKED, ids=lambda args: str(args)[:30])
async def test_a_pattern_is_found_in_every_text_of_the_arguments(args: Any) -> None:
    """At any depth, in names as in values, and in the bare text of a single input."""
    safety = SafetyManager(blocked_patterns=[r"no.such", r"passwd"])
    message, made = await call(safety, make_request(args))
    assert (message.status, made) == ("error", [])
    assert message.content == "The arguments hold what is not allowed. The call is not made; go on without it."
    with pytest.raises(ToolException, match="参数包含禁止内容"):
        SafetyManager(blocked_patterns=["passwd"], language="zh").validate_action("rm", args)


@pytest.mark.parametrize("args", [*UNCHECKED, nest(60), nest(100_000), make_cycle()], ids=range(13))
async def test_what_cannot_be_checked_is_not_run(args: Any) -> None:
    """Bytes, objects, keys that are no texts, too much, too deep, and what holds itself."""
    message, made = await call(SafetyManager(blocked_patterns=["passwd"]), make_request(args))
    assert (message.status, made) == ("error", [])
    assert message.text.startswith("The arguments cannot be checked")


def test_numbers_are_searched_as_they_are_written() -> None:
    """A card number is one with or without quotes."""
    safety = SafetyManager(blocked_patterns=[r"^4\d{15}$"])
    with pytest.raises(ToolException):
        safety.validate_action("pay", {"card": 4111111111111111})
    safety.validate_action("pay", {"card": 411, "ok": True, "none": None, "half": 0.5})


def test_a_compiled_pattern_keeps_its_flags() -> None:
    safety = SafetyManager(blocked_patterns=[re.compile("DROP", re.IGNORECASE)])
    with pytest.raises(ToolException):
        safety.validate_action("sql", {"query": "drop table t"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def list_values(place: Any) -> list[Any]:
    return [*(place.values() if isinstance(place, dict) else place)]


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.data())
def test_no_place_is_overlooked(args: Any, data: st.DataObject) -> None:
    """Wherever a text is put, it is found; without it, the arguments pass."""
    safety = SafetyManager(blocked_patterns=["forbidden"])
    safety.validate_action("rm", args)
    place: Any = args
    while inner := [
        value for value in (place.values() if isinstance(place, dict) else place) if isinstance(value, dict | list)
    ]:
        place = data.draw(st.sampled_from(inner))
        if data.draw(st.booleans()):
            break
    text = "a forbidden text"
    if isinstance(place, list):
        place.append(text)
    elif data.draw(st.booleans()):
        place[text] = 1
    else:
        place["key"] = text
    with pytest.raises(ToolException):
        safety.validate_action("rm", args)


async def test_a_call_that_takes_too_long_is_ended() -> None:
    """The model is told, and other calls of the same object go on."""
    safety = SafetyManager(max_execution_time=5)
    ended: list[str] = []

    @tool
    async def wait(forever: bool) -> str:
        """Wait."""
        try:
            await (anyio.sleep_forever() if forever else anyio.lowlevel.checkpoint())
        finally:
            ended.append("wait")
        return "done"

    with virtual_clock():
        message, _ = await call(safety, make_request({"forever": True}, "wait", wait), wait)
        assert (message.status, message.response_metadata, ended) == ("error", {"tool_error": "timeout"}, ["wait"])
        assert message.text.startswith("wait took longer than 5 s")
        message, _ = await call(safety, make_request({"forever": False}, "wait", wait), wait)
        assert (message.content, message.status) == ("done", "success")


async def test_a_sync_tool_that_takes_too_long_is_left_behind() -> None:
    """Its thread cannot be stopped; the run goes on without it."""
    go_on = threading.Event()

    @tool
    def hang() -> str:
        """Hang."""
        go_on.wait(30)
        return "late"

    try:
        message, _ = await call(
            SafetyManager(max_execution_time=0.05, language="zh"), make_request({}, "hang", hang), hang
        )
        assert message.content == "工具执行超时: hang (0.05 秒)"
    finally:
        go_on.set()


async def test_a_caller_that_is_cancelled_is_not_told_of_a_timeout() -> None:
    """The cancellation goes on."""

    async def handle(request: ToolCallRequest) -> ToolMessage:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.move_on_after(0.01) as scope:
        await SafetyManager(max_execution_time=60).wrap_tool_call(make_request({}), handle)
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    "options",
    [
        {"allowed_tools": "search"},
        {"allowed_tools": [rm]},
        {"allowed_tools": [None]},
        {"blocked_patterns": "rm"},
        {"blocked_patterns": re.compile("rm")},
        {"blocked_patterns": ["ok", "("]},
        {"blocked_patterns": [b"x"]},
        {"blocked_patterns": [re.compile(b"x")]},
        {"blocked_patterns": [None]},
        {"blocked_patterns": ["a{99999999999}"]},
        {"blocked_patterns": ["(?:" * 5000]},
        {"max_execution_time": 0},
        {"max_execution_time": -1},
        {"max_execution_time": float("nan")},
        {"max_execution_time": float("inf")},
        {"max_execution_time": "5"},
        {"max_execution_time": True},
        {"max_length": 0},
        {"language": "fr"},
    ],
    ids=range(19),
)
def test_bad_options_are_refused_when_it_is_made(options: Any) -> None:
    """Not at the first call, when a pattern that was not read would let everything through."""
    with pytest.raises(InvalidInput):
        SafetyManager(**options)
