"""An example of an answer in tool calls, as the messages that show it to a model."""

import uuid
from collections.abc import Sequence

from pydantic import BaseModel

from hocket.errors import InvalidInput
from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.roles import HumanMessage, ToolMessage
from hocket.messages.tool_calls import tool_call

__all__ = ["tool_example_to_messages"]


def tool_example_to_messages(
    input: str,
    tool_calls: Sequence[BaseModel],
    tool_outputs: Sequence[str] | None = None,
    *,
    ai_response: str | None = None,
) -> list[BaseMessage]:
    """Return an example as messages: the question, an answer in tool calls, their results.

    Args:
        input: what the user says.
        tool_calls: the arguments of the calls, as instances of the tools' models. A tool's name is that of its model.
        tool_outputs: the result of each; default: that the call was right.
        ai_response: what the model says at the end; default: nothing.

    Raises:
        InvalidInput: there are fewer or more results than calls.
    """
    outputs = ["You have correctly called this tool."] * len(tool_calls) if tool_outputs is None else tool_outputs
    if len(outputs) != len(tool_calls):
        raise InvalidInput(f"there are {len(outputs)} tool_outputs for {len(tool_calls)} tool_calls: one for each")
    calls = [
        tool_call(name=type(one).__name__, args=one.model_dump(mode="json"), id=str(uuid.uuid4())) for one in tool_calls
    ]
    results = [ToolMessage(output, tool_call_id=call["id"] or "") for output, call in zip(outputs, calls, strict=True)]
    last = [AIMessage(ai_response)] if ai_response else []
    return [HumanMessage(input), AIMessage("", tool_calls=calls), *results, *last]
