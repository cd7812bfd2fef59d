"""What a history says of its last run.

The history is the only record of a run: there is no second store. The run is what follows the last message of a person.
The calls that it made are its AI messages, what it used is theirs, and what is open are the calls of the last one that
have no result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hocket.message_toolkit import repair_history
from hocket.messages import AIMessage, BaseMessage, HumanMessage, InvalidToolCall, ToolCall, ToolMessage
from hocket.messages.calls import calls_of

__all__ = ["RunState", "read_state"]


@dataclass
class RunState:
    """What a history says of its last run.

    Attributes:
        messages: the conversation as providers accept it, but for the open calls.
        open_calls: of the last answer, without a result.
        model_calls, tool_calls, tokens: that the run has used.
    """

    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    open_calls: list[ToolCall | InvalidToolCall] = field(default_factory=list[ToolCall | InvalidToolCall])
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0

    @property
    def is_over(self) -> bool:
        """Whether the run has its answer, or there is none."""
        return not self.messages or (isinstance(self.messages[-1], AIMessage) and not self.open_calls)


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
