"""Tools and the choice among them, in the words of the Responses API: as chat completions have them, but flat."""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages.content import Fields, FieldsView
from hocket.providers.openai.responses.search import list_deferred
from hocket.tools.found_tools import DEFER, FIND_TOOLS, is_deferred

__all__ = ["encode_tool", "encode_tools"]

_NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}}


def encode_tools(tools: Sequence[FieldsView], choice: object) -> Fields:
    """Return the fields ``tools`` and ``tool_choice`` of a body, without one of which nothing need be said.

    Args:
        tools: those that are offered.
        choice: see `parse_tool_choice`. A dict for a tool that the server runs may say more than its type.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    parsed = parse_tool_choice(choice, tools)
    if not tools:
        return {}
    finder = FIND_TOOLS if list_deferred(tools) else None
    written = [_encode_search(tool) if get_tool_name(tool) == finder else encode_tool(tool) for tool in tools]
    offered: Fields = {"tools": written if _can_find(written) else [_show(tool) for tool in written]}
    if parsed is None:
        return offered
    if not parsed.names:
        return {**offered, "tool_choice": str(parsed.kind)}
    named = dict(zip(map(get_tool_name, tools), written, strict=True))
    chosen = [_refer(named[name]) for name in parsed.names]
    if parsed.kind is ToolChoiceKind.ONE:
        said = dict(cast(FieldsView, choice)) if isinstance(choice, Mapping) else chosen[0]
        return {**offered, "tool_choice": said if said.get("type") == parsed.names[0] else chosen[0]}
    mode = "required" if parsed.must_call else "auto"
    return {**offered, "tool_choice": {"type": "allowed_tools", "mode": mode, "tools": chosen}}


def encode_tool(tool: FieldsView) -> Fields:
    """Return a tool in the API's words; one that the server runs itself stays as it is.

    A function is strict by default here, which would make arguments obligatory that are not: so it is said.
    """
    kind = str(tool.get("type"))
    inner = tool.get(kind)
    if kind not in ("function", "custom") or not isinstance(inner, Mapping):
        return dict(tool)
    told = dict(cast(FieldsView, inner))
    others = {name: value for name, value in tool.items() if name not in (kind, "extras")}
    if is_deferred(tool):
        others[DEFER] = True
    if kind == "function":
        schema: object = told.pop("parameters", None) or _NO_PARAMETERS
        return {**others, "name": told.pop("name"), "parameters": schema, "strict": False, **told}
    form = told.get("format")
    grammar: object = cast(FieldsView, form).get("grammar") if isinstance(form, Mapping) else None
    if isinstance(grammar, Mapping):
        told["format"] = {"type": "grammar", **cast(FieldsView, grammar)}
    return {**others, **told}


def _can_find(tools: Sequence[FieldsView]) -> bool:
    """Whether one of the tools is a search, without which nothing may be deferred."""
    return any(tool["type"] == "tool_search" for tool in tools)


def _show(tool: FieldsView) -> Fields:
    return {name: value for name, value in tool.items() if name != DEFER}


def _encode_search(tool: FieldsView) -> Fields:
    """Return the tool that finds others as the API has it: its calls are searches."""
    function = cast(FieldsView, tool["function"])
    told = {name: function[name] for name in ("description", "parameters") if name in function}
    return {"type": "tool_search", "execution": "client", **told}


def _refer(tool: FieldsView) -> Fields:
    """Return what stands in a choice for a tool, as it is sent."""
    kind = tool["type"]
    return {"type": kind, "name": tool["name"]} if kind in ("function", "custom") else {"type": kind}
