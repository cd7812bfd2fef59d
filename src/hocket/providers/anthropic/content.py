"""Content blocks, written as those of Anthropic's messages. Pure functions.

A block of the API's own passes as it is, byte for byte: reasoning has a signature, which breaks if a letter of it changes.
"""

from collections.abc import Mapping
from typing import cast

from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.remote.message_parts import arguments_of, read_parts, read_reply_parts
from hocket.tools.found_tools import FOUND_TOOLS

__all__ = ["MARK", "encode_content", "is_native"]


MARK = "cache_control"

_WORDS = (MARK, "citations", "title", "context")
_OWN = frozenset(
    {
        *("redacted_thinking", "server_tool_use", "mcp_tool_use", "search_result", "container_upload"),
        *("input_json_delta", "tool_result", "tool_reference"),
    }
)
_TEXT = frozenset({"type", "text", "citations", MARK})


def is_native(part: FieldsView) -> bool:
    """Whether a block is of the API's own format."""
    kind = str(part.get("type"))
    match kind:
        case "text":
            return part.keys() <= _TEXT
        case "image" | "document":
            return "source" in part
        case "compaction":
            return "content" in part
        case "thinking":
            return "signature" in part
        case "tool_use":
            return isinstance(part.get("input"), Mapping) and "partial_json" not in part
        case _:
            return kind in _OWN or kind.endswith("_tool_result")


def encode_content(message: BaseMessage, deferred: frozenset[str] = frozenset()) -> list[Fields]:
    """Return the blocks of one message. Texts that are blank are left out: the API refuses them.

    Args:
        message: of the conversation.
        deferred: the names of the tools that it may refer to.

    Raises:
        Unsupported: a block that the API has no place for; the text names its type.
        InvalidInput: a tool's result that names no call; or data without what the API needs to know about them.
    """
    if isinstance(message, AIMessage):
        parts = [part for part in read_reply_parts(message, is_native) if not _is_unsigned(part)]
        return [_keep_known(block, deferred) for block in map(_encode, parts) if not _is_blank(block)]
    content = message.content
    said = [content] if isinstance(content, str) else content
    blocks = [block for block in map(_encode, read_parts(said, is_native, _WORDS)) if not _is_blank(block)]
    return [_encode_result(message, blocks, deferred)] if isinstance(message, ToolMessage) else blocks


def _encode_result(message: ToolMessage, blocks: list[Fields], deferred: frozenset[str]) -> Fields:
    if not message.tool_call_id:
        raise InvalidInput("a tool message names no tool call; give it the tool_call_id that it answers")
    content: str | list[Fields] = [block if _is_known(block, deferred) else _name_tool(block) for block in blocks]
    found = [name for name in message.response_metadata.get(FOUND_TOOLS) or () if name in deferred]
    if found and message.status != "error":
        content = [{"type": "tool_reference", "tool_name": name} for name in found]
    elif isinstance(message.content, str):
        content = message.content
    result: Fields = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}
    if message.status == "error":
        result["is_error"] = True
    if mark := message.additional_kwargs.get(MARK):
        result[MARK] = mark
    return result


def _is_known(block: FieldsView, deferred: frozenset[str]) -> bool:
    """Whether a block is no reference to a tool, or to one that the request has: others are refused."""
    return block.get("type") != "tool_reference" or block.get("tool_name") in deferred


def _name_tool(block: FieldsView) -> Fields:
    return {"type": "text", "text": str(block.get("tool_name"))}


def _keep_known(block: Fields, deferred: frozenset[str]) -> Fields:
    """Return what the API's own search found without references to tools that the request lacks."""
    found: object = block.get("content")
    if block["type"] != "tool_search_tool_result" or not isinstance(found, Mapping) or "tool_references" not in found:
        return block
    known = [one for one in cast(FieldsView, found)["tool_references"] if _is_known(one, deferred)]
    return {**block, "content": {**cast(FieldsView, found), "tool_references": known}}


def _is_unsigned(part: Fields) -> bool:
    """Whether a part is reasoning that no signature proves to be the model's own: the API refuses it."""
    return part.get("type") == "reasoning" and "signature" not in (part.get("extras") or {})


def _is_blank(block: Fields) -> bool:
    text = block.get("text")
    return block.get("type") == "text" and not (isinstance(text, str) and text.strip())


def _encode(part: Fields) -> Fields:
    if part.get("type") == "invalid_tool_call":
        part = {**part, "type": "tool_call", "args": arguments_of(part)}
    if is_native(part):
        return {name: value for name, value in part.items() if value is not None} if part["type"] == "text" else part
    [block] = native_content([part], "anthropic")
    return block
