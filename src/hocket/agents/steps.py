"""What an agent did, in LangChain's words: the payloads of ``on_agent_action`` and ``on_agent_finish``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["AgentAction", "AgentFinish", "AgentStep"]


@dataclass(frozen=True, slots=True)
class AgentAction:
    """A call of a tool that an agent asks for.

    Args:
        tool: the name of the tool.
        tool_input: its arguments, or a text if there is only one.
        log: what the model said along with it.
        tool_call_id: of the call; empty where the model has no ids.
    """

    tool: str
    tool_input: str | Mapping[str, Any]
    log: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentFinish:
    """The end of an agent's work.

    Args:
        return_values: what it returns; LangChain's executors have one key, "output".
        log: what the model said.
    """

    return_values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    log: str = ""


class AgentStep(NamedTuple):
    """A call of a tool, and its result: LangChain's pair of the two, with names.

    Args:
        action: the call.
        observation: the result, as the model was told it.
    """

    action: AgentAction
    observation: str
