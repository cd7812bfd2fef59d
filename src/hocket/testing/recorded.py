"""A run of an agent that took place once, for a test that plays it again: no model is asked, and no tool is called."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from hocket.errors import InvalidInput, UnrecordedCall
from hocket.errors.hints import excerpt
from hocket.message_toolkit.turns import match_calls
from hocket.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from hocket.messages.base import copy_message
from hocket.messages.roles import calls_of
from hocket.testing.outcomes import end_test
from hocket.tools import BaseTool, InjectedToolCallId, StructuredTool

__all__ = ["recorded"]

_SHOWN = 500  # characters of arguments in an error
_Results = Mapping[str, list[ToolMessage | None]]  # by the arguments


class recorded:
    """What a model said and what tools answered in a run, to run it again without them.

    A tool answers a call with the result of the recorded call that has the same name and the same arguments; of several
    ones with that of the same id, or else with the first that is left. What the agent itself adds to results (that they
    were cut, or that calls are repeated) is part of them: replay such a run with
    ``AgentLimits(result_chars=None, repeats=None)``. A result that a person gave, or that says why a call was not run, is
    answered like any other; so a run that paused is replayed without ``interrupt_on``.

    Args:
        messages: of the run, as in `hocket.agents.AgentResult.new_messages` or in a history.
        skip: names for which no tool is made: those of real tools, or of the type of the answer, which
            ``response_format`` brings along.

    Attributes:
        script: for a `ScriptedChatModel`.
        tools: of each name that was called.

    Raises:
        InvalidInput: there is no answer of a model in the messages.
        UnrecordedCall: when a tool is called: this call was not recorded, or not as often, or had no result. It is no
            ``Exception``, so that an agent does not tell it to its model, and the test ends.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> from hocket.agents import create_agent
        >>> from hocket.messages import AIMessage, HumanMessage, ToolMessage
        >>> from hocket.testing import recorded
        >>> call = {"type": "tool_call", "name": "get_weather", "args": {"city": "Bern"}, "id": "1"}
        >>> messages = [
        ...     HumanMessage("Do I need an umbrella in Bern?"),
        ...     AIMessage("", tool_calls=[call]),
        ...     ToolMessage("rain", tool_call_id="1", name="get_weather"),
        ...     AIMessage("Yes, you do."),
        ... ]
        >>> run = recorded(messages)
        >>> agent = create_agent(ScriptedChatModel(script=run.script), run.tools)
        >>> agent.invoke("Do I need an umbrella in Bern?").output
        'Yes, you do.'
    """

    def __init__(self, messages: Sequence[BaseMessage], *, skip: Collection[str] = ()) -> None:
        conversation = convert_to_messages(messages)
        self.script: list[AIMessage] = [one for one in conversation if isinstance(one, AIMessage)]
        if not self.script:
            raise InvalidInput("there is no answer of a model in the messages: they are no run of an agent")
        results: dict[str, dict[str, list[ToolMessage | None]]] = defaultdict(lambda: defaultdict(list))
        for placed in match_calls(conversation):
            call = calls_of(conversation[placed.index])[placed.place]
            result = None if placed.result is None else conversation[placed.result]
            if call["name"] and call["name"] not in skip:
                answer = result if isinstance(result, ToolMessage) else None
                results[call["name"]][_write_arguments(call["args"])].append(answer)
        self.tools: list[BaseTool] = [_make_tool(name, of_tool) for name, of_tool in results.items() if _may_name(name)]


def _may_name(name: str) -> bool:
    """Whether a tool may have this name. A model made up the others, and the agent answers their calls as it did."""
    return len(name) <= 64 and name.isascii() and name.replace("_", "").replace("-", "").isalnum()


def _make_tool(name: str, results: _Results) -> BaseTool:
    """Return a tool that answers calls as they were answered."""

    async def answer(recorded_id: Annotated[str, InjectedToolCallId], **arguments: Any) -> ToolMessage:
        shown = excerpt(arguments, _SHOWN)
        left = results.get(_write_arguments(arguments))
        if left is None:
            raise end_test(
                UnrecordedCall,
                f"no call of {name} with {shown} was recorded; those that were have {'; '.join(results)[:_SHOWN]}. Record "
                "the run again, or give the real tool",
            )
        if not left:
            raise end_test(
                UnrecordedCall, f"{name} was called more often with {shown} than was recorded; record the run again"
            )
        own = [place for place, one in enumerate(left) if one is not None and one.tool_call_id == recorded_id]
        result = left.pop(own[0] if own else 0)
        if result is None:
            raise end_test(
                UnrecordedCall, f"the call of {name} with {shown} was recorded without a result: its run had not ended"
            )
        return copy_message(result)

    return StructuredTool.from_function(
        coroutine=answer,
        name=name,
        description="Answers as it was recorded.",
        args_schema={"type": "object", "properties": {}},
    )


def _write_arguments(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=repr)
