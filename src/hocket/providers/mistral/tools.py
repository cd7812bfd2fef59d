"""Tools and the choice among them, in the words of Mistral's API. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages.content import Fields, FieldsView

__all__ = ["encode_tools"]

_WORDS = ("name", "description", "parameters", "strict")
_CHOICES = {ToolChoiceKind.AUTO: "auto", ToolChoiceKind.NONE: "none", ToolChoiceKind.REQUIRED: "any"}


def encode_tools(tools: Sequence[FieldsView], choice: object) -> Fields:
    """Return the fields ``tools`` and ``tool_choice`` of a body, without one of which nothing need be said.

    A choice among several tools offers them alone: the API can name one tool at most.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
    """
    parsed = parse_tool_choice(choice, tools)
    if not tools:
        return {}
    body: Fields = {"tools": [_encode_tool(tool) for tool in tools]}
    if parsed is None:
        return body
    if parsed.kind is ToolChoiceKind.ONE:
        return {**body, "tool_choice": {"type": "function", "function": {"name": parsed.names[0]}}}
    if parsed.kind is ToolChoiceKind.SUBSET:
        body["tools"] = [_encode_tool(tool) for tool in tools if get_tool_name(tool) in parsed.names]
        return {**body, "tool_choice": "any" if parsed.must_call else "auto"}
    return {**body, "tool_choice": _CHOICES[parsed.kind]}


def _encode_tool(tool: FieldsView) -> Fields:
    """Return a function with the fields that the API knows: it refuses others. Any other tool stays as it is."""
    if not isinstance(tool.get("function"), Mapping):
        return dict(tool)
    function = cast(FieldsView, tool["function"])
    told = {name: function[name] for name in _WORDS if function.get(name) is not None}
    return {"type": "function", "function": {"parameters": {"type": "object", "properties": {}}, **told}}
