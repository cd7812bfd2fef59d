"""Tools and the choice among them, in the format's words. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import Any

from hocket.errors import InvalidInput
from hocket.language_models.tool_binding import ToolChoice
from hocket.providers.openai.dialects import Dialect

__all__ = ["encode_tools"]


def encode_tools(tools: Sequence[Mapping[str, Any]], choice: Any, dialect: Dialect) -> dict[str, Any]:
    """Return the fields ``tools`` and ``tool_choice`` of a body, without one of which nothing need be said.

    A server that cannot be told names of tools is offered those that are named alone, one of which it has to call.

    Args:
        tools: those that are offered.
        choice: None or auto; none or False; required, any or True; a tool's name, for it must be called; several names,
            for one of them must be; or the format's own dict.
        dialect: what the server can be told.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    offered = {"tools": tools} if tools else {}
    if isinstance(choice, Mapping):
        return {**offered, "tool_choice": dict(choice)}
    match choice:
        case None:
            return offered
        case "auto" | "none" | False:
            return {**offered, "tool_choice": choice or "none"} if tools else {}
        case "required" | "any" | True if tools:
            return {**offered, "tool_choice": "required"}
        case _:
            pass
    named = {_name(tool): tool for tool in tools}
    names: list[Any] = [choice] if isinstance(choice, str) else list(choice) if isinstance(choice, list | tuple) else []
    if not names or any(name not in named for name in names):
        known = ", ".join(repr(name) for name in named) or "none"
        raise InvalidInput(
            f"tool_choice {choice!r} is none of auto, none, required, any, nor names a tool; tools: {known}"
        )
    if (ToolChoice.ONE if isinstance(choice, str) else ToolChoice.SUBSET) not in dialect.tool_choices:
        return {"tools": [named[name] for name in names], "tool_choice": "required"}
    chosen = [_reference(named[name]) for name in names]
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": chosen}}
    return {**offered, "tool_choice": chosen[0] if isinstance(choice, str) else allowed}


def _name(tool: Mapping[str, Any]) -> Any:
    """The name of a function or of a custom tool; the type of a tool that the server has itself."""
    kind = tool.get("type")
    inner = tool.get(kind) if isinstance(kind, str) else None
    if isinstance(inner, Mapping) and "name" in inner:
        return inner["name"]
    return None if kind in ("function", "custom") else kind


def _reference(tool: Mapping[str, Any]) -> dict[str, Any]:
    kind = tool["type"]
    name = _name(tool)
    return {"type": kind} if name == kind else {"type": kind, kind: {"name": name}}
