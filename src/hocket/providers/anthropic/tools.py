"""Tools and the choice among them, in the words of Anthropic's API. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.content import MARK
from hocket.tools.found_tools import DEFER, is_deferred

__all__ = ["encode_tools", "list_references"]

_NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}}
_CHOICES = {ToolChoiceKind.AUTO: "auto", ToolChoiceKind.NONE: "none", ToolChoiceKind.REQUIRED: "any"}


def encode_tools(tools: Sequence[FieldsView], choice: object, parallel: bool | None) -> Fields:
    """Return the fields ``tools`` and ``tool_choice`` of a body, without one of which nothing need be said.

    A choice among several tools offers them alone: the API can name one tool at most.

    Args:
        tools: those that are offered.
        choice: see `parse_tool_choice`.
        parallel: whether several may be called at once; None: the API decides.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    parsed = parse_tool_choice(choice, tools)
    if not tools:
        return {}
    offered = tools
    said: Fields = {}
    if parsed is not None and parsed.kind is ToolChoiceKind.ONE:
        said = {"type": "tool", "name": parsed.names[0]}
    elif parsed is not None and parsed.kind is ToolChoiceKind.SUBSET:
        offered = [tool for tool in tools if get_tool_name(tool) in parsed.names]
        said = {"type": "any" if parsed.must_call else "auto"}
    elif parsed is not None:
        said = {"type": _CHOICES[parsed.kind]}
    if parallel is not None and said.get("type") != "none":
        said = {"type": "auto", **said, "disable_parallel_tool_use": not parallel}
    written = [_encode_tool(tool) for tool in offered]
    is_shown = all(map(is_deferred, written))  # which is refused: nothing could be found
    written = [_drop(tool, DEFER if is_shown else MARK) if is_deferred(tool) else tool for tool in written]
    return {"tools": written, **({"tool_choice": said} if said else {})}


def _drop(tool: Fields, key: str) -> Fields:
    """Return a deferred tool without a key: as a shown one, or without its mark for the cache, which is refused."""
    return {name: value for name, value in tool.items() if name != key}


def list_references(body: FieldsView) -> frozenset[str]:
    """Return the names of the tools of a body that results may refer to: a choice may have left others out."""
    return frozenset(str(tool.get("name")) for tool in body.get("tools", ()) if is_deferred(tool))


def _encode_tool(tool: FieldsView) -> Fields:
    """Return a tool in the API's words; one that the server runs itself stays as it is."""
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, Mapping):
        return dict(tool)
    told = dict(cast(FieldsView, function))
    schema: object = told.pop("parameters", None) or _NO_PARAMETERS
    return {"name": told.pop("name"), **told, "input_schema": schema, **(tool.get("extras") or {})}
