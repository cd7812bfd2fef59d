"""The choice among tools, in the format's words. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import Any

from hocket.errors import InvalidInput

__all__ = ["CUSTOM_INPUT", "encode_choice"]

CUSTOM_INPUT = "__arg1"
"""The argument that holds a custom tool's input, which is text and not JSON. (LangChain's name for it.)"""


def encode_choice(choice: Any, tools: Sequence[Mapping[str, Any]]) -> str | dict[str, Any] | None:
    """Return a tool choice in the format's words.

    Args:
        choice: None or auto; none or False; required, any or True; a tool's name, for it must be called; several names,
            for one of them must be; or the format's own dict.
        tools: those that are offered.

    Returns:
        None: nothing need be said.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    if isinstance(choice, Mapping):
        return dict(choice)
    match choice:
        case None:
            return None
        case "auto":
            return "auto" if tools else None
        case "none" | False:
            return "none" if tools else None
        case "required" | "any" | True if tools:
            return "required"
        case _:
            pass
    named = {_name(tool): tool for tool in tools}
    names: list[Any] = [choice] if isinstance(choice, str) else list(choice) if isinstance(choice, list | tuple) else []
    if not names or any(name not in named for name in names):
        known = ", ".join(repr(name) for name in named) or "none"
        raise InvalidInput(
            f"tool_choice {choice!r} is none of auto, none, required, any, nor names a tool; tools: {known}"
        )
    chosen = [_reference(named[name]) for name in names]
    if isinstance(choice, str):
        return chosen[0]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": chosen}}


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
