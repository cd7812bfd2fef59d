"""Tools that a conversation has found, as its messages say so.

A find is a plain call of `FIND_TOOLS` and a plain result, whose metadata name the tools: so a history goes from one
provider to another. Those that have words of their own for it write them from this. A history that comes from elsewhere
may have the blocks of a provider's own search in its place; what such a search found is read, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.messages.tool_calls import FIND_TOOLS

__all__ = ["DEFER", "FIND_TOOLS", "FOUND_TOOLS", "is_deferred", "read_found_tools"]

FOUND_TOOLS = "found_tools"
"""Under this key of ``response_metadata`` a result has the names of the tools that its call found."""

DEFER = "defer_loading"
"""Under this key of its ``extras`` a tool says that a model need not be shown it before it is found."""


def is_deferred(tool: FieldsView) -> bool:
    """Whether a tool, as OpenAI writes it, or as its provider does, is shown to the model when it is found."""
    extras: object = tool.get("extras")
    return bool(tool.get(DEFER) or (isinstance(extras, Mapping) and cast(FieldsView, extras).get(DEFER)))


def read_found_tools(message: BaseMessage) -> list[str]:
    """Return the names of the tools that a message says were found, each once."""
    names: list[str] = [*(message.response_metadata.get(FOUND_TOOLS) or ())]
    if not isinstance(message.content, str):
        names += _find_names([part for part in message.content if not isinstance(part, str)], is_inside=False)
    return list(dict.fromkeys(names))


def _find_names(parts: Sequence[object], *, is_inside: bool) -> Iterator[str]:
    """Yield the names in blocks: Anthropic's references, and what OpenAI's search found, ``is_inside`` its list."""
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        block = cast(FieldsView, part)
        kind = block.get("type")
        if kind == "tool_reference":
            yield str(block.get("tool_name"))
        elif kind == "tool_search_tool_result":
            content: object = block.get("content")
            found: object = cast(FieldsView, content).get("tool_references") if isinstance(content, Mapping) else None
            yield from _find_names(_as_list(found), is_inside=is_inside)
        elif kind == "tool_search_output" or (is_inside and kind == "namespace"):
            yield from _find_names(_as_list(block.get("tools")), is_inside=True)
        elif is_inside and kind == "function":
            yield str(block.get("name"))


def _as_list(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()
