"""What `create_agent` decided: the same for all runs of an agent, and changed by none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hocket.agents.approval import ApprovalRules
from hocket.agents.limits import LimitPolicy
from hocket.agents.middleware import AgentMiddleware, OfferedTool
from hocket.agents.structured import AnswerFormat
from hocket.agents.text_format import TextFormat
from hocket.messages import AIMessage, SystemMessage
from hocket.runnables import Runnable
from hocket.tools import BaseTool

__all__ = ["AgentPlan"]

Output = TypeVar("Output")


@dataclass(frozen=True, kw_only=True)
class AgentPlan(Generic[Output]):
    """What all runs of an agent share.

    Attributes:
        model: is asked; nothing is bound to it for the agent.
        tools: that are run here, by name.
        offered: the tools that the model is shown: those, that of the answer, and those that the provider runs.
        system: comes first.
        answer: the type of the answer; None: a text.
        middleware: around the calls, the outermost first.
        approvals: which calls wait for a person.
        format: how tools are called in text; None: natively.
        at_limit: what happens at a limit.
    """

    model: Runnable[Any, AIMessage]
    tools: Mapping[str, BaseTool]
    offered: Sequence[OfferedTool]
    system: SystemMessage | None
    answer: AnswerFormat[Output] | None
    middleware: Sequence[AgentMiddleware]
    approvals: ApprovalRules
    format: TextFormat | None
    at_limit: LimitPolicy
