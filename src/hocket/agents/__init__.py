"""Agents: a model that works with tools until it is done.

`mcp_servers` needs a package that need not be installed, so it is no part of ``__all__``.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.agents.agent import Agent, RunOptions
    from hocket.agents.approval import Resume
    from hocket.agents.benchmark import PromptBenchmark, PromptMetrics, abenchmark_prompts, benchmark_prompts
    from hocket.agents.builtin.calculator import calculate, calculator_tool
    from hocket.agents.builtin.search import search_tool
    from hocket.agents.builtin.sql import sql_tool
    from hocket.agents.create import create_agent
    from hocket.agents.deferral import ToolSearch
    from hocket.agents.events import (
        AgentEvent,
        AgentStream,
        ChunkEvent,
        EndEvent,
        MessageEvent,
        PausedEvent,
        ToolEndEvent,
        ToolStartEvent,
        UnreadableEvent,
    )
    from hocket.agents.influence import InfluencePolicy
    from hocket.agents.limits import AgentLimits
    from hocket.agents.mcp.servers import mcp_servers as mcp_servers
    from hocket.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest
    from hocket.agents.pii import PIIMiddleware
    from hocket.agents.react import ReActFormat
    from hocket.agents.result import AgentAction, AgentFinish, AgentResult, AgentStep
    from hocket.agents.safety import SafetyManager
    from hocket.agents.serve import react_app
    from hocket.agents.state import read_pending_calls
    from hocket.agents.todo import TodoListMiddleware, read_todos
    from hocket.agents.tool_retry import ToolRetryMiddleware
    from hocket.errors import LimitReached
    from hocket.message_toolkit.prefix import PrefixBreak
    from hocket.tools.runtime import Runtime

_LATER = {
    ".errors": "LimitReached",
    ".message_toolkit.prefix": "PrefixBreak",
    ".tools.runtime": "Runtime",
    "agent": "Agent RunOptions",
    "approval": "Resume",
    "benchmark": "PromptBenchmark PromptMetrics abenchmark_prompts benchmark_prompts",
    "builtin.calculator": "calculate calculator_tool",
    "builtin.search": "search_tool",
    "builtin.sql": "sql_tool",
    "create": "create_agent",
    "deferral": "ToolSearch",
    "events": "AgentEvent AgentStream ChunkEvent EndEvent MessageEvent PausedEvent ToolEndEvent ToolStartEvent "
    "UnreadableEvent",
    "influence": "InfluencePolicy",
    "limits": "AgentLimits",
    "mcp.servers": "mcp_servers",
    "middleware": "AgentMiddleware ModelRequest ToolCallRequest",
    "pii": "PIIMiddleware",
    "react": "ReActFormat",
    "result": "AgentAction AgentFinish AgentResult AgentStep",
    "safety": "SafetyManager",
    "serve": "react_app",
    "state": "read_pending_calls",
    "todo": "TodoListMiddleware read_todos",
    "tool_retry": "ToolRetryMiddleware",
}

__all__ = [
    "Agent",
    "AgentAction",
    "AgentEvent",
    "AgentFinish",
    "AgentLimits",
    "AgentMiddleware",
    "AgentResult",
    "AgentStep",
    "AgentStream",
    "ChunkEvent",
    "EndEvent",
    "InfluencePolicy",
    "LimitReached",
    "MessageEvent",
    "ModelRequest",
    "PIIMiddleware",
    "PausedEvent",
    "PrefixBreak",
    "PromptBenchmark",
    "PromptMetrics",
    "ReActFormat",
    "Resume",
    "RunOptions",
    "Runtime",
    "SafetyManager",
    "TodoListMiddleware",
    "ToolCallRequest",
    "ToolEndEvent",
    "ToolRetryMiddleware",
    "ToolSearch",
    "ToolStartEvent",
    "UnreadableEvent",
    "abenchmark_prompts",
    "benchmark_prompts",
    "calculate",
    "calculator_tool",
    "create_agent",
    "react_app",
    "read_pending_calls",
    "read_todos",
    "search_tool",
    "sql_tool",
]

__getattr__: Loader = loader(__name__, _LATER)
