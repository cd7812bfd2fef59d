"""A long run fits the window of its model; the history keeps everything."""

from typing import Any

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import ContextLengthExceeded
from hocket.messages import ToolMessage, validate_history
from hocket.tokens import count_tokens_approximately
from hocket.tools import tool
from tests.agents.conftest import call


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "word " * 1_000


def make(script: list[Any], **fields: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(script=script, **fields)
    return create_agent(model, [read], limits=AgentLimits(model_calls=100)), model


async def test_old_results_are_cut_when_the_window_is_full():
    """The last result is whole, and so is the history."""
    script = [*(Turn(tool_calls=[call("read", str(page), page=page)]) for page in range(12)), "Read."]
    agent, model = make(script, profile={"max_input_tokens": 6_000, "max_output_tokens": 1_000})
    history = InMemoryChatMessageHistory()
    result = await agent.ainvoke("Read all.", history=history)
    assert result.output == "Read." and result.excess_tokens == 0
    for request in model.requests:
        assert count_tokens_approximately(request.messages) <= 5_000
        assert validate_history(request.messages) == []
        assert request.messages[0].text == "Read all."
        results = [message for message in request.messages if isinstance(message, ToolMessage)]
        assert not results or len(results[-1].text) > 5_000
    assert all(len(one.text) > 5_000 for one in await history.aget_messages() if isinstance(one, ToolMessage))


async def test_what_cannot_be_saved_is_reported():
    """The question is sent, however long it is."""
    agent, model = make(["Long."], profile={"max_input_tokens": 1_000, "max_output_tokens": 200})
    result = await agent.ainvoke("word " * 2_000)
    assert 1_000 < result.excess_tokens < 3_000 and len(model.requests) == 1


async def test_a_model_that_finds_it_too_long_is_asked_with_less():
    """Where nobody says how large its window is."""
    too_long = ContextLengthExceeded("too long")
    script = [
        Turn(tool_calls=[call("read", "1", page=1)]),
        Turn(tool_calls=[call("read", "2", page=2)]),
        too_long,
        "Read.",
    ]
    agent, model = make(script)
    assert (await agent.ainvoke("Read.")).output == "Read."
    lengths = [count_tokens_approximately(request.messages) for request in model.requests]
    assert lengths[3] < lengths[2] * 0.7
