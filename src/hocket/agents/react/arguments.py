"""Calls in text as calls of the tools that there are: the tool by its name, what was written as its arguments."""

import re
from collections.abc import Sequence
from typing import Final, cast

from hocket._json import JSON
from hocket._runtime.clock import new_run_id
from hocket.agents.react.json_text import Fault, read_json
from hocket.agents.react.text_calls import TextCall, read_literal
from hocket.messages import ToolCall
from hocket.messages.content import Fields
from hocket.tools import BaseTool
from hocket.tools.names import is_tool_name

__all__ = ["WRITTEN_NAMES", "find_cut_json", "find_tool", "find_written_names", "make_tool_call"]

WRITTEN_NAMES: Final = "written_names"
"""Under this key of ``response_metadata`` an answer has the names of tools that are none, as the model wrote them."""

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_BEGUN_OBJECT: Final = re.compile(r"\{\s{0,64}\"([^\"\n]{1,100})\"\s{0,64}:")


def make_tool_call(call: TextCall, tools: Sequence[BaseTool]) -> ToolCall:
    """Return a call as a message holds it, with a new id.

    The name is that of the tool, whatever the case of the letters. A name that no provider takes, and so no tool has,
    is made into one that they do: the message may go on to a model that calls tools natively.
    """
    tool = find_tool(call.tool, tools)
    if tool:
        name, args = tool.name, _fit_arguments(call, tool)
    else:
        name = call.tool if is_tool_name(call.tool) else _NO_NAME.sub("_", call.tool).strip("_")[:64] or "unknown"
        args = cast(Fields, call.input) if isinstance(call.input, dict) else call.args or {"input": call.input}
    return {"name": name, "args": args, "id": f"call_{new_run_id().hex}", "type": "tool_call"}


def find_written_names(calls: Sequence[ToolCall], written: Sequence[TextCall]) -> dict[str, str]:
    """Return the names that the model wrote and no provider takes, by the ids of the calls."""
    pairs = zip(calls, written, strict=True)
    return {one["id"] or "": other.tool for one, other in pairs if not is_tool_name(other.tool)}


def find_tool(name: str, tools: Sequence[BaseTool]) -> BaseTool | None:
    """Return the tool of this name; if there is none, the only one whose name differs in the case of its letters."""
    for tool in tools:
        if tool.name == name:
            return tool
    like = [tool for tool in tools if tool.name.lower() == name.lower()]
    return like[0] if len(like) == 1 else None


def find_cut_json(call: TextCall, tools: Sequence[BaseTool]) -> str | None:
    """Return what is wrong with an input that was to be an object of the tool's arguments, and is no JSON.

    Such an input would be taken for a text, and the tool would run on half a call.
    """
    tool = find_tool(call.tool, tools)
    begun = _BEGUN_OBJECT.match(call.input) if isinstance(call.input, str) else None
    if tool is None or begun is None or begun[1] not in tool.args:
        return None
    read = read_json(cast(str, call.input))
    return read.text if isinstance(read, Fault) else "there is text behind it"


def _fit_arguments(call: TextCall, tool: BaseTool) -> Fields:
    if isinstance(call.input, dict):
        return cast(Fields, call.input)
    schemas = cast("dict[str, dict[str, JSON]]", tool.args)
    names = list(schemas)
    if call.args is not None and (call.args.keys() <= schemas.keys() or len(names) > 1):
        return cast(Fields, call.args)
    if not names:
        return {}
    if call.parts is not None and len(names) > 1 and len(call.parts) <= len(names):
        pairs = zip(names, call.parts, strict=False)
        return {name: _type_text(part, schemas[name], is_quoted=True) for name, part in pairs}
    if not call.input and (len(names) > 1 or not _takes_text(schemas[names[0]])):
        return {}
    return {names[0]: _type_text(call.input, schemas[names[0]], is_quoted=False)}


def _type_text(text: str, schema: dict[str, JSON], *, is_quoted: bool) -> JSON:
    """Return a text as the type that the schema wants: as it is, if that is a text."""
    value = read_literal(text)
    if not _takes_text(schema):
        return value
    return value if is_quoted and isinstance(value, str) else text


def _takes_text(schema: dict[str, JSON]) -> bool:
    """Whether a text fits the schema, as far as its types say."""
    kind = schema.get("type")
    if kind is not None:
        return "string" in kind if isinstance(kind, list) else kind == "string"
    if isinstance(values := schema.get("enum"), list):
        return any(isinstance(value, str) for value in values)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        return any(_takes_text(branch) for branch in branches if isinstance(branch, dict))
    return True
