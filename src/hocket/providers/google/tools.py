"""Tools and the choice among them, in the words of the Gemini API. Pure functions."""

import re
from collections.abc import Sequence
from typing import cast

from hocket.errors import InvalidInput
from hocket.language_models.tool_choice import ToolChoice, ToolChoiceKind, parse_tool_choice
from hocket.messages.content import Fields, FieldsView

__all__ = ["encode_tools"]

_CALLING = frozenset({"functionCallingConfig", "function_calling_config"})
_MODES = {ToolChoiceKind.AUTO: "AUTO", ToolChoiceKind.NONE: "NONE", ToolChoiceKind.REQUIRED: "ANY"}


def encode_tools(tools: Sequence[FieldsView], choice: object, config: FieldsView | None = None) -> Fields:
    """Return the fields ``tools`` and ``toolConfig`` of a body, without one of which nothing need be said.

    A function that is strict has the mode VALIDATED instead of AUTO: then the API holds the model to all schemas.

    Args:
        tools: those that are offered: functions, and tools that the server runs itself.
        choice: see `parse_tool_choice`.
        config: what else the API is to know of the tools.

    Raises:
        InvalidInput: a name that no tool has; a choice that names a tool of the server's own, which cannot be forced; or a
            call is required where there are no tools; or ``config`` says what ``choice`` is to say.
    """
    if config and not _CALLING.isdisjoint(config):
        raise InvalidInput("tool_config says how to call functions, which is what tool_choice is for; say it there")
    parsed = parse_tool_choice(choice, tools)
    functions = [cast(FieldsView, tool["function"]) for tool in tools if tool.get("type") == "function"]
    offered = [{"functionDeclarations": [_describe(function) for function in functions]}] if functions else []
    offered += [_write_hosted(tool) for tool in tools if tool.get("type") != "function"]
    calling = _write_choice(parsed, functions)
    said = {**(config or {}), **({"functionCallingConfig": calling} if calling and functions else {})}
    return {**({"tools": offered} if offered else {}), **({"toolConfig": said} if said else {})}


def _describe(function: FieldsView) -> Fields:
    told = {name: value for name, value in function.items() if name in ("name", "description") and value}
    schema = function.get("parameters")
    return {**told, **({"parametersJsonSchema": schema} if schema else {})}


def _write_hosted(tool: FieldsView) -> Fields:
    """Return a tool that the server runs itself, which says in either case what it is: ``{"googleSearch": {}}``."""
    kind = _camelize(str(tool["type"]))
    said = {_camelize(name): value for name, value in tool.items() if name != "type"}
    return {kind: said.get(kind, said)}


def _camelize(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def _write_choice(choice: ToolChoice | None, functions: Sequence[FieldsView]) -> Fields:
    """Return how the model is to choose; nothing, where that need not be said."""
    is_strict = any(function.get("strict") for function in functions)
    if choice is None:
        return {"mode": "VALIDATED"} if is_strict else {}
    if choice.kind in _MODES:
        return {"mode": "VALIDATED" if is_strict and choice.kind is ToolChoiceKind.AUTO else _MODES[choice.kind]}
    own = {str(function["name"]) for function in functions}
    if hosted := [name for name in choice.names if name not in own]:
        raise InvalidInput(
            f"tool_choice names {hosted[0]!r}, which the server runs itself and cannot be told to; name functions only"
        )
    return {"mode": "ANY" if choice.must_call else "VALIDATED", "allowedFunctionNames": list(choice.names)}
