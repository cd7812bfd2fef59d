"""Ends of runs: what has ended is not gone on with, and a limit on time is one on waiting, too."""

import itertools
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from hocket.agents import AgentLimits, Resume, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import InvalidInput, RateLimitError, StopRun
from hocket.messages import AIMessage
from hocket.tools import tool
from tests.agents.conftest import MakeAgent, Script, add, call
from tests.kit import tool_model


class Hour(BaseModel):
    """An hour."""

    hour: int


@tool(return_direct=True)
def direct() -> str:
    """Answer."""
    return "the answer"


@tool
def stop() -> str:
    """Stop."""
    raise StopRun("enough")


@pytest.mark.parametrize(
    ("script", "options", "end"),
    [
        (["Hello."], {}, "done"),
        ([[call("Hour", hour=3)]], {"response_format": Hour}, "done"),
        ([[call("direct"), call("add", a=1, b=1)]], {}, "direct"),
        ([[call("add", a=1, b=1), call("stop")]], {}, "stopped"),
    ],
)
async def test_what_has_ended_is_not_resumed(make_agent: MakeAgent, script: Script, options: dict[str, Any], end: str):
    """The model is not asked again for what was answered."""
    history = InMemoryChatMessageHistory()
    agent, model = make_agent([*script, "Again."], [direct, stop, add], **options)
    assert (await agent.ainvoke("go", history=history)).stop == end
    with pytest.raises(InvalidInput, match="has ended"):
        await agent.ainvoke(Resume(), history=history)
    assert len(model.requests) == 1


async def test_a_direct_tool_that_failed_has_not_ended_the_run(make_agent: MakeAgent):
    """The model was told, and failed then: there is something to resume."""

    @tool(return_direct=True)
    def fail() -> str:
        """Fail."""
        raise ValueError("out of paper")

    history = InMemoryChatMessageHistory()
    agent, _ = make_agent([[call("fail")], RateLimitError("busy"), "Sorry."], [fail])
    with pytest.raises(RateLimitError):
        await agent.ainvoke("go", history=history)
    assert (await agent.ainvoke(Resume(), history=history)).output == "Sorry."


async def test_seconds_are_those_of_waiting_too(make_agent: MakeAgent):
    """Another run has the conversation: this one ends in its time, and nothing was asked."""
    history, holds = InMemoryChatMessageHistory(), anyio.Event()
    agent, model = make_agent(["Hello."], limits=AgentLimits(seconds=0.05))

    async def hold() -> None:
        async with history.exclusive():
            holds.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await holds.wait()
        result = await agent.ainvoke("go", history=history)
        group.cancel_scope.cancel()
    assert (result.stop, result.output, model.requests) == ("seconds", None, [])


async def test_the_limit_on_seconds_holds_where_nothing_waits():
    """Neither the model nor its tools give the loop a chance by themselves."""
    count = itertools.count(1)

    def ask_for_more(messages: object) -> AIMessage:
        number = next(count)
        assert number < 100_000, "no limit on seconds holds"
        return AIMessage("", tool_calls=[call("add", a=number, b=number)])

    limits = AgentLimits(seconds=0.1, model_calls=None, tool_calls=None)
    result = await create_agent(tool_model(ask_for_more), [add], limits=limits).ainvoke("go")
    assert result.stop == "seconds" and result.model_calls > 1
