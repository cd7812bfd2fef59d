"""What a history says of its last run.

The history is the only record of a run: there is no second store. The run is what follows the last message of a person.
The calls that it made are its AI messages, what it used is theirs, and what is open are the calls of the last one that
have no result. Which of these wait for a person is flagged in the message that makes them: an agent with other rules
reads it, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from hocket._pipeline.answer import PARTIAL
from hocket.message_toolkit.repair import repair_history
from hocket.messages import AIMessage, BaseMessage, HumanMessage, InvalidToolCall, ToolCall, ToolMessage
from hocket.messages.calls import calls_of

__all__ = ["AWAITS_APPROVAL", "RunState", "is_valid", "read_pending_calls", "read_state"]

AWAITS_APPROVAL = "awaits_approval"
"""Under this key of ``response_metadata`` an answer has the ids of its calls that were not run, but wait for a person."""


@dataclass
class RunState:
    """What a history says of its last run.

    Attributes:
        messages: the conversation as providers accept it, but for the open calls.
        open_calls: of the last answer, without a result.
        waiting: the ids of those that wait for a person, as the run has flagged them.
        model_calls, tool_calls, tokens: that the run has used.
    """

    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    open_calls: list[ToolCall | InvalidToolCall] = field(default_factory=list[ToolCall | InvalidToolCall])
    waiting: set[str] = field(default_factory=set[str])
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0

    @property
    def is_cut_off(self) -> bool:
        """Whether the run ends with a part of an answer."""
        return bool(self.messages) and PARTIAL in self.messages[-1].response_metadata

    @property
    def is_over(self) -> bool:
        """Whether the run has its answer, or there is none."""
        if not self.messages:
            return True
        return isinstance(self.messages[-1], AIMessage) and not self.open_calls and not self.is_cut_off


def is_valid(call: ToolCall | InvalidToolCall) -> TypeGuard[ToolCall]:
    """Whether the model has written a call so that it can be read."""
    return "error" not in call


def read_pending_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """Return the calls of a history that wait for a decision, as the agent that paused has left them.

    For the page of whoever decides, in any process: it takes no agent, and no model is asked. ``Resume`` takes the ids.

    Args:
        messages: of the history.

    Examples:
        >>> from hocket import AIMessage, HumanMessage
        >>> read_pending_calls([HumanMessage("Hello."), AIMessage("Hello!")])
        []
    """
    state = read_state(messages)
    return [call for call in state.open_calls if is_valid(call) and call["id"] in state.waiting]


def read_state(messages: Sequence[BaseMessage]) -> RunState:
    """Return what a history says of its last run."""
    at = _find_open_answer(messages)
    if at is None:
        state = RunState(repair_history(messages))
    else:
        answer = messages[at]
        results = {
            message.tool_call_id: message
            for message in reversed(messages[at + 1 :])
            if isinstance(message, ToolMessage)
        }
        calls = calls_of(answer)
        done = [
            results[call["id"] or ""] for call in calls if call["id"] in results
        ]  # each once, and none of other calls
        state = RunState([*repair_history(messages[:at]), answer, *done])
        state.open_calls = [call for call in calls if call["id"] not in results]
        state.waiting = {*answer.response_metadata.get(AWAITS_APPROVAL, ())}
    for message in reversed(state.messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, AIMessage):
            state.model_calls += 1
            if message.usage_metadata and not message.response_metadata.get("cache_hit"):
                state.tokens += message.usage_metadata["total_tokens"]
        elif isinstance(message, ToolMessage):
            state.tool_calls += 1
    return state


def _find_open_answer(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the last answer, if only results follow it, and not for each of its calls."""
    done: set[str] = set()
    for at in reversed(range(len(messages))):
        message = messages[at]
        if isinstance(message, ToolMessage):
            done.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return at if any(call["id"] not in done for call in calls_of(message)) else None
        else:
            return None
    return None
