"""The scripted server refuses what Mistral's API would refuse."""

from typing import Any

import pytest

from hocket.errors import ProviderUnavailable
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.providers.openai import ChatOpenAI
from hocket.testing import MistralFormat, Reply, serve

CALL: Any = {"name": "f", "args": {}, "id": "call_1"}


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ([HumanMessage("hi", name="Ann")], "name"),
        ([HumanMessage([{"type": "text", "text": "a", "cache_control": {}}])], "cache_control"),
        ([HumanMessage("hi"), AIMessage("", tool_calls=[CALL]), ToolMessage("1", tool_call_id="call_1")], "call_1"),
    ],
)
async def test_a_foreign_key_or_id_is_a_problem(messages: Any, named: str) -> None:
    """It is told to the test, and the model that sent it gets an error."""
    async with serve(MistralFormat(), [Reply("fine")]) as server:
        with pytest.raises(ProviderUnavailable):
            await ChatOpenAI(model="m", base_url=server.url, api_key="k", retry=None).ainvoke(messages)
        assert named in str(server.problems[0])
