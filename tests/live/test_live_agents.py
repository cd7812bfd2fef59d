"""Agents over a real server. The model is too small to be wise, so what is asserted is the form of its runs."""

from typing import Any

import pytest
from pydantic import BaseModel

from hocket import ChatOpenAI
from hocket.agents import AgentLimits, calculator_tool, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.messages import validate_history


class Sum(BaseModel):
    """The sum of two numbers."""

    total: int


@pytest.mark.parametrize(
    ("style", "verb"), [("native", "ainvoke"), pytest.param("react", "astream", marks=pytest.mark.nightly)]
)
async def test_a_run_ends_and_leaves_a_valid_history(live_server: Any, style: Any, verb: str) -> None:
    """Whatever the model says, in either style."""
    model = ChatOpenAI(**live_server.options, max_tokens=24, temperature=0)
    limits = AgentLimits(model_calls=2, seconds=120)
    agent = create_agent(model, [calculator_tool], style=style, limits=limits)
    history = InMemoryChatMessageHistory()
    if verb == "ainvoke":
        result = await agent.ainvoke("What is 17 + 25? Use the calculator.", history=history)
    else:
        stream = agent.astream("What is 17 + 25? Use the calculator.", history=history)
        events = [event async for event in stream]
        assert stream.result is not None and events[-1].kind == "end"
        result = stream.result
    assert result.stop in ("done", "model_calls", "loop") and 1 <= result.model_calls <= 3
    assert result.usage["total_tokens"] > 0
    messages = await history.aget_messages()
    assert validate_history(messages) == [] and len(messages) == len(result.new_messages)


async def test_a_typed_answer_is_demanded_at_the_limit(live_server: Any) -> None:
    """The server's grammar holds the model to the schema."""
    model = ChatOpenAI(**live_server.options, max_tokens=100, temperature=0)
    agent = create_agent(model, [calculator_tool], response_format=Sum, limits=AgentLimits(model_calls=1))
    result = await agent.ainvoke("What is 17 + 25?")
    assert isinstance(result.output, Sum) and validate_history(result.messages) == []
