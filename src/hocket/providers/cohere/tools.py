"""Tools and the choice among them, in the words of Cohere's API. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.errors import Unsupported
from hocket.language_models.tool_choice import ToolChoiceKind, get_tool_name, parse_tool_choice
from hocket.messages.content import Fields, FieldsView

__all__ = ["encode_tools"]

_WORDS = ("name", "description", "parameters")


def encode_tools(tools: Sequence[FieldsView], choice: object, strict: bool | None) -> Fields:
    """Return the fields ``tools``, ``tool_choice`` and ``strict_tools`` of a body, as far as anything need be said.

    The API can be told that some tool must be called, or none. Of tools that are named it is offered those alone.

    Args:
        tools: those that are offered.
        choice: see `parse_tool_choice`.
        strict: whether calls are held to the tools' schemas; None: if all tools want that.

    Raises:
        InvalidInput: a name that no tool has, or a call is required where there are no tools.
        Unsupported: a tool is no function.
    """
    parsed = parse_tool_choice(choice, tools)
    if not tools:
        return {}
    names = parsed.names if parsed is not None else ()
    functions = [_function_of(tool) for tool in tools if not names or get_tool_name(tool) in names]
    if strict is None:
        strict = all(function.get("strict") for function in functions) or None
    body: Fields = {"tools": [_encode_tool(function) for function in functions]}
    if strict is not None:
        body["strict_tools"] = strict
    if parsed is not None and parsed.must_call:
        body["tool_choice"] = "REQUIRED"
    elif parsed is not None and parsed.kind is ToolChoiceKind.NONE:
        body["tool_choice"] = "NONE"
    return body


def _function_of(tool: FieldsView) -> FieldsView:
    function = tool.get("function")
    if not isinstance(function, Mapping):
        raise Unsupported(
            f"a tool of type {tool.get('type')!r} has no place in Cohere's API, which takes functions only; remove it",
            provider="cohere",
        )
    return cast(FieldsView, function)


def _encode_tool(function: FieldsView) -> Fields:
    told = {name: function[name] for name in _WORDS if function.get(name) is not None}
    return {"type": "function", "function": {"parameters": {"type": "object", "properties": {}}, **told}}
