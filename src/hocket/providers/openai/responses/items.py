"""Items of the Responses API, as opposed to parts of messages: told by their form."""

from hocket.messages.content import KNOWN_BLOCK_TYPES, FieldsView

__all__ = ["is_item"]

_NEEDED = {"message": "content", "reasoning": "summary", "function_call": "call_id", "custom_tool_call": "call_id"}
_ITEMS = frozenset(
    [
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "compaction",
        "item_reference",
        "program",
        "tool_search_output",
    ]
)


def is_item(part: FieldsView) -> bool:
    """Whether a part is an item, which stands beside messages and not in them."""
    kind = str(part.get("type"))
    if kind in _NEEDED:
        return _NEEDED[kind] in part
    return kind in _ITEMS or (kind.endswith(("_call", "_call_output")) and kind not in KNOWN_BLOCK_TYPES)
