"""What the tests of agents share: calls, tools, and an agent over a script."""

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import Agent, create_agent
from hocket.messages import AIMessage, ToolCall
from hocket.tools import BaseTool, tool


def call(name: str, id: str | None = None, **arguments: Any) -> ToolCall:
    """Return a tool call; its id is its name, unless another is given."""
    return ToolCall(type="tool_call", name=name, args=arguments, id=id or name)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def wait(seconds: float = 60) -> str:
    """Wait."""
    await anyio.sleep(seconds)
    return "waited"


@tool
async def pay(amount: int) -> str:
    """Pay somebody."""
    await anyio.lowlevel.checkpoint()
    return f"paid {amount}"


Script = list[Turn | str | AIMessage | BaseException | list[ToolCall]]
MakeAgent = Callable[..., tuple[Agent[Any], ScriptedChatModel]]


@pytest.fixture
def make_agent() -> MakeAgent:
    """Return what makes an agent over a script, in which a list of calls stands for an answer that makes them."""

    def make(
        script: Script, tools: list[BaseTool] | None = None, **options: Any
    ) -> tuple[Agent[Any], ScriptedChatModel]:
        turns = [Turn(tool_calls=one) if isinstance(one, list) else one for one in script]
        model = ScriptedChatModel(script=turns)
        return create_agent(model, [add, wait, pay] if tools is None else tools, **options), model

    return make
