"""Errors of agents and tools name the value, the limit, and the way out."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, LimitReached, Resume, ToolSearch, create_agent
from hocket.errors import InvalidInput
from hocket.runnables import RunnableLambda
from hocket.tools import StructuredTool, arun_tool_calls, convert_to_json_schema, tool
from tests.agents.conftest import add, call

MODEL = ScriptedChatModel(script=[])
PAUSING = create_agent(MODEL, [add], interrupt_on=["add"])


def run_calls(**limits: Any) -> object:
    """Run no calls, with limits."""
    return asyncio.run(arun_tool_calls([], [add], **limits))


def say(text: str) -> str:
    return text


def use_mcp(**options: Any) -> object:
    """Make tools of a server, which is not started."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from hocket.agents.mcp import mcp_tools

    return mcp_tools("a-server", **options)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "k": (lambda: create_agent(MODEL, [add], defer=ToolSearch(k="5")), "k is '5'; it is a whole number"),  # type: ignore[arg-type]
    "timeout": (lambda: run_calls(timeout="5"), "timeout is '5'; it is seconds above 0, or None"),
    "result": (lambda: run_calls(max_result_chars=2.5), "max_result_chars is 2.5; it is a whole number above 0"),
    "mcp": (lambda: use_mcp(timeout="5"), "timeout is '5'; it is seconds above 0, or None"),
    "pausing tool": (
        lambda: PAUSING.as_tool("a", "b"),
        "make it without interrupt_on, and name the tool in interrupt_on of the agent",
    ),
    "nameless tool": (lambda: create_agent(MODEL).as_tool("a"), "name is 'a' and description ''; a tool needs both"),
    "hosted": (
        lambda: create_agent(MODEL).override(tools=[{"type": "web_search"}]),
        "a tool of type 'web_search' is run by the provider, and cannot be overridden: give a function",
    ),
    "question": (lambda: create_agent(MODEL).invoke(" "), "the question is empty; give a text, or messages"),
    "sync": (lambda: StructuredTool.from_function(lambda: 1, name="a"), "a has no description: give its function"),
    "docstring": (lambda: tool(infer_schema=False)(say), "needs a description where infer_schema=False: tool"),
    "schema": (
        lambda: convert_to_json_schema({"type": "web_search"}),
        "which a server runs, has no JSON schema; leave it",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_refused_at_the_door(what: str) -> None:
    """With the value that was given, what would do, and no bare `TypeError`."""
    act, text = WRONG[what]
    with pytest.raises(InvalidInput) as refused:
        act()
    assert text in str(refused.value)


async def test_a_decision_that_says_too_much() -> None:
    """The error says what one of its kind takes."""
    from hocket import InMemoryChatMessageHistory

    model = ScriptedChatModel(script=[Turn(tool_calls=[call("add", "1", a=1, b=2)])])
    history = InMemoryChatMessageHistory()
    agent = create_agent(model, [add], interrupt_on=["add"])
    await agent.ainvoke("go", history=history)
    decisions: list[tuple[dict[str, Any], str]] = [
        ({"type": "approve", "why": "fine"}, "has no 'why'; it takes nothing but its type"),
        ({"type": "edit", "args": {}, "why": ""}, "has no 'why'; it takes args, message"),
    ]
    for decision, text in decisions:
        with pytest.raises(InvalidInput, match=text):
            await agent.ainvoke(Resume({"1": decision}), history=history)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (AgentLimits(model_calls=1), r"its limit, AgentLimits\(model_calls=1\): raise it, or ask for less"),
        (AgentLimits(repeats=1), r"its limit, AgentLimits\(repeats=1\): raise it"),
    ],
)
async def test_a_limit_is_named_with_its_value(limits: AgentLimits, text: str) -> None:
    """Where the agent raises."""
    same = [Turn(tool_calls=[call("add", "1", a=1, b=2)])] * 9
    with pytest.raises(LimitReached, match=text):
        await create_agent(ScriptedChatModel(script=same), [add], limits=limits, at_limit="raise").ainvoke("go")


def test_a_model_without_tools() -> None:
    """The error names the way that such a model has."""
    with pytest.raises(NotImplementedError, match=r"has no bind_tools; with style='react' it is told of them in text"):
        create_agent(RunnableLambda(lambda messages: "a"), [add], style="native")


def test_a_tool_without_a_sync_function() -> None:
    """Of a subclass, say, that calls it."""

    class Wrapping(StructuredTool):
        def _run(self, *args: Any, **kwargs: Any) -> Any:
            return super()._run(*args, **kwargs)

    async def work() -> str:
        """Work."""
        return ""

    with pytest.raises(
        NotImplementedError, match="work has no sync function; give it func=, or call it by an async verb"
    ):
        Wrapping.from_function(coroutine=work).invoke({})
