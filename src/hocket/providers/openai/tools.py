"""Tools and the choice among them, in the format's words. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import Any

from hocket.language_models.tool_choice import ToolChoiceKind, drop_extras, get_tool_name, parse_tool_choice
from hocket.providers.openai.dialects import Dialect

__all__ = ["encode_tools"]


def encode_tools(tools: Sequence[Mapping[str, Any]], choice: object, dialect: Dialect) -> dict[str, Any]:
    """Return the fields ``tools`` and ``tool_choice`` of a body, without one of which nothing need be said.

    A server that cannot be told names of tools is offered those that are named alone, one of which it has to call.

    Args:
        tools: those that are offered.
        choice: see `parse_tool_choice`.
        dialect: what the server can be told.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    parsed = parse_tool_choice(choice, tools)
    tools = drop_extras(tools)
    offered = {"tools": tools} if tools else {}
    if parsed is None or not tools:
        return offered
    if not parsed.names:
        return {**offered, "tool_choice": str(parsed.kind)}
    named = {get_tool_name(tool): tool for tool in tools}
    mode = "required" if parsed.must_call else "auto"
    if parsed.kind not in dialect.tool_choices:
        return {"tools": [named[name] for name in parsed.names], "tool_choice": mode}
    chosen = [_refer(named[name]) for name in parsed.names]
    if parsed.kind is ToolChoiceKind.ONE:
        return {**offered, "tool_choice": chosen[0]}
    return {**offered, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": chosen}}}


def _refer(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands for a tool in a choice."""
    kind, name = tool["type"], get_tool_name(tool)
    return {"type": kind} if name == kind else {"type": kind, kind: {"name": name}}
