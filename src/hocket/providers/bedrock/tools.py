"""Tools and the choice among them, in the words of the Converse API. Pure functions."""

from collections.abc import Iterable, Sequence

from hocket.errors import Unsupported
from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages.content import Fields, FieldsView
from hocket.providers.bedrock.content import MARK, make_point

__all__ = ["encode_tools"]

_GONE = "Part of the conversation so far, and not available any more: do not call it."


def encode_tools(tools: Sequence[FieldsView], choice: object, called: Iterable[str]) -> Fields:
    """Return the field ``toolConfig`` of a body, where there is something to say.

    A choice among several tools offers them alone: the API can name one tool at most. It wants the tools of all calls that
    the conversation has, so those that are not offered are told as gone.

    Args:
        tools: those that are offered.
        choice: see `parse_tool_choice`.
        called: the names of those that the conversation has calls of.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
        Unsupported: no call is to be made, which the API cannot be told; or a tool that a server runs itself.
    """
    parsed = parse_tool_choice(choice, tools)
    offered = tools
    said: Fields = {}
    if parsed is not None and parsed.kind is ToolChoiceKind.NONE:
        raise Unsupported("tool_choice='none' cannot be said in the Converse API; offer no tools instead")
    if parsed is not None and parsed.kind is ToolChoiceKind.ONE:
        said = {"tool": {"name": parsed.names[0]}}
    elif parsed is not None and tools:
        said = {"any": {}} if parsed.must_call else {"auto": {}}
        if parsed.kind is ToolChoiceKind.SUBSET:
            offered = [tool for tool in tools if get_tool_name(tool) in parsed.names]
    written = [block for tool in offered for block in _encode_tool(tool)]
    known = {get_tool_name(tool) for tool in offered}
    gone = [name for name in dict.fromkeys(called) if name not in known]
    written = [*(_describe({"name": name, "description": _GONE}) for name in gone), *written]
    return {"toolConfig": {"tools": written, **({"toolChoice": said} if said else {})}} if written else {}


def _encode_tool(tool: FieldsView) -> list[Fields]:
    if tool.get("type") != "function":
        raise Unsupported(f"a tool of type {tool.get('type')!r} has no place in the Converse API; it takes functions")
    extras: FieldsView = tool.get("extras") or {}
    points = [make_point(extras[MARK])] if extras.get(MARK) else []
    return [_describe(tool["function"]), *points]


def _describe(function: FieldsView) -> Fields:
    schema: FieldsView = function.get("parameters") or {"type": "object", "properties": {}}
    told = {name: value for name in ("name", "description", "strict") if (value := function.get(name))}
    return {"toolSpec": {**told, "inputSchema": {"json": schema}}}
