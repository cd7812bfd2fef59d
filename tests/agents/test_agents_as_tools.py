"""An agent as a tool of another one: what the two share, and what the one inside has of its own."""

import math
from typing import Any

import anyio
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import Agent, AgentLimits, create_agent
from hocket.messages import AIMessage, ToolMessage, UsageMetadata
from hocket.tools import BaseTool
from tests.agents.conftest import add, call, wait

ASK = Turn(tool_calls=[call("helper", question="?")])


def bill(tokens: int) -> UsageMetadata:
    return {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}


def make_helper(model: ScriptedChatModel, *tools: BaseTool, **options: Any) -> BaseTool:
    return create_agent(model, tools).as_tool("helper", "Helps.", **options)


def make_outer(*replies: Turn | str, tools: list[BaseTool], **limits: Any) -> Agent[Any]:
    return create_agent(ScriptedChatModel(script=[*replies]), tools, limits=AgentLimits(**limits))


def adding(tokens: int) -> AIMessage:
    return AIMessage("", tool_calls=[call("add", f"add_{tokens}", a=1, b=tokens)], usage_metadata=bill(tokens))


async def test_the_limit_on_tokens_of_the_run_outside_holds_inside():
    """The agent inside is stopped before the call that would go beyond it, and the one outside is told."""
    inner = ScriptedChatModel(script=[adding(400), adding(590), "Never said."])
    agent = make_outer(ASK, tools=[make_helper(inner, add)], tokens=1_000)
    result = await agent.ainvoke("go")
    assert (result.stop, len(inner.requests)) == ("tokens", 2)
    told = result.new_messages[-1]
    assert isinstance(told, ToolMessage)
    assert told.text == "helper failed: it ended without an answer (tokens); ask for less, or go on without it"


async def test_what_the_run_outside_has_used_counts_inside():
    """Whether by its own model or by another agent inside it."""
    first, second = (ScriptedChatModel(script=[adding(tokens), "Done."]) for tokens in (300, 400))
    innermost = make_helper(second, add)
    middle = create_agent(ScriptedChatModel(script=[ASK, "Done."]), [innermost]).as_tool("middle", "Helps.")
    script = [ASK, Turn(tool_calls=[call("middle", question="?")]), "Done."]
    agent = make_outer(*script, tools=[make_helper(first, add), middle], tokens=1_000)
    assert (await agent.ainvoke("go")).usage["total_tokens"] == 700
    assert (len(first.requests), len(second.requests)) == (2, 1)


async def test_without_a_limit_outside_none_holds_inside():
    """The agent inside goes by its own."""
    inner = ScriptedChatModel(script=[adding(400), adding(4_000), "Said."])
    agent = make_outer(ASK, "Done.", tools=[make_helper(inner, add)])
    assert (await agent.ainvoke("go")).output == "Done."


async def test_the_limit_on_the_seconds_of_a_tool_is_for_other_tools():
    """An agent takes as long as its own tools and models; the ``seconds`` of the run hold for it."""
    inner = ScriptedChatModel(script=[Turn(tool_calls=[call("wait", seconds=0.2)]), "Slept."])
    helper = make_helper(inner, wait)
    assert helper.timeout == math.inf
    agent = make_outer(ASK, "Done.", tools=[helper], tool_seconds=0.05)
    result = await agent.ainvoke("go")
    assert [step.observation for step in result.steps] == ["Slept."]


@pytest.mark.parametrize(("options", "limits"), [({"timeout": 0.05}, {}), ({}, {"per_tool_seconds": {"helper": 0.05}})])
async def test_an_agent_as_a_tool_may_be_given_a_timeout(options: dict[str, Any], limits: dict[str, Any]):
    """By itself, or by the agent that calls it."""
    inner = ScriptedChatModel(script=[Turn(tool_calls=[call("wait")])])
    agent = make_outer(ASK, "Done.", tools=[make_helper(inner, wait, **options)], **limits)
    with anyio.fail_after(20):
        result = await agent.ainvoke("go")
    assert "took longer than 0.05 s" in result.steps[0].observation
