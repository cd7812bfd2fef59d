"""Agents: a model that works with tools until it is done."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest
    from hocket.agents.steps import AgentAction, AgentFinish, AgentStep

_LATER = {
    "AgentAction": "steps",
    "AgentFinish": "steps",
    "AgentMiddleware": "middleware",
    "AgentStep": "steps",
    "ModelRequest": "middleware",
    "ToolCallRequest": "middleware",
}

__all__ = ["AgentAction", "AgentFinish", "AgentMiddleware", "AgentStep", "ModelRequest", "ToolCallRequest"]

__getattr__: Loader = loader(__name__, _LATER)
