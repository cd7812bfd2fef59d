"""LangChain's older interface of agents, over the loop of `hocket.agents`."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.classic.agents.executor import (
        AgentExecutor,
        ToolAgentAction,
        create_react_agent,
        create_tool_calling_agent,
    )
    from hocket.classic.agents.final_answer_stream import FinalAnswerStream
    from hocket.classic.agents.planner import ErrorHandling, Plan, PlanningAgent

_LATER = {
    "executor": "AgentExecutor ToolAgentAction create_react_agent create_tool_calling_agent",
    "final_answer_stream": "FinalAnswerStream",
    "planner": "ErrorHandling Plan PlanningAgent",
}

__all__ = [
    "AgentExecutor",
    "ErrorHandling",
    "FinalAnswerStream",
    "Plan",
    "PlanningAgent",
    "ToolAgentAction",
    "create_react_agent",
    "create_tool_calling_agent",
]

__getattr__: Loader = loader(__name__, _LATER)
