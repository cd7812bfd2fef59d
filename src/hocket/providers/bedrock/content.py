"""Content blocks, written as those of the Converse API. Pure functions.

A block of the API's own passes as it is: reasoning has a signature, which breaks if a letter of it changes.
"""

from collections.abc import Mapping
from typing import cast

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.remote.message_parts import arguments_of, read_parts, read_reply_parts

__all__ = ["CACHE_POINT", "MARK", "encode_content", "is_native", "make_point"]

MARK = "cache_control"
CACHE_POINT = "cachePoint"

_WORDS = (MARK, "name", "title", "filename", "context", "citations")
_IN_RESULTS = frozenset({"json", "text", "image", "document", "video", "searchResult"})
_OWN = _IN_RESULTS | {
    "audio",
    "toolResult",
    "guardContent",
    CACHE_POINT,
    "citationsContent",
    "toolAddition",
    "toolRemoval",
}


def is_native(part: FieldsView) -> bool:
    """Whether a block is of the API's own format: it has no ``type`` but one key, beside the index in a stream."""
    match [name for name in part if name != "index"]:
        case ["toolUse"]:
            return isinstance(part["toolUse"].get("input"), Mapping)
        case ["reasoningContent"]:
            said = part["reasoningContent"]
            return "redactedContent" in said or "signature" in (said.get("reasoningText") or {})
        case [str(kind)]:
            return kind in _OWN
        case _:
            return False


def make_point(mark: FieldsView) -> Fields:
    """Return the block that has all before it cached, for a mark as Anthropic's API has it."""
    return {CACHE_POINT: {"type": "default", **({"ttl": mark["ttl"]} if mark.get("ttl") else {})}}


def encode_content(message: BaseMessage) -> list[Fields]:
    """Return the blocks of one message. Texts that are blank are left out: the API refuses them.

    Raises:
        Unsupported: a block that the API has no place for; the text names its type.
        InvalidInput: a tool's result that names no call; or data without what the API needs to know about them.
    """
    if isinstance(message, AIMessage):
        parts = [part for part in read_reply_parts(message, is_native) if not _is_unsigned(part)]
    else:
        content = message.content
        parts = read_parts([content] if isinstance(content, str) else content, is_native, _WORDS)
    blocks: list[Fields] = []
    for part in parts:
        block = _encode(part)
        if not _is_blank(block):
            blocks.append(block)
        extras: FieldsView = part.get("extras") or {}
        if mark := part.get(MARK) or extras.get(MARK):
            blocks.append(make_point(mark))
    return _encode_result(message, blocks) if isinstance(message, ToolMessage) else blocks


def _encode_result(message: ToolMessage, blocks: list[Fields]) -> list[Fields]:
    """Return a tool's result, and the points of the cache behind it: inside there is no place for any."""
    if not message.tool_call_id:
        raise InvalidInput("a tool message names no tool call; give it the tool_call_id that it answers")
    said = [block for block in blocks if CACHE_POINT not in block]
    if misfits := [kind for block in said for kind in block if kind not in _IN_RESULTS]:
        raise Unsupported(f"a tool's result cannot hold {misfits[0]} in the Converse API; remove it")
    status = "error" if message.status == "error" else "success"
    result = {"toolUseId": message.tool_call_id, "content": said, "status": status}
    mark = message.additional_kwargs.get(MARK)
    points = [make_point(mark)] if mark else [block for block in blocks if CACHE_POINT in block][-1:]
    return [{"toolResult": result}, *points]


def _is_unsigned(part: Fields) -> bool:
    """Whether a part is reasoning that no signature proves to be the model's own: the API refuses it."""
    return part.get("type") == "reasoning" and "signature" not in (part.get("extras") or {})


def _is_blank(block: Fields) -> bool:
    said: object = block.get("citationsContent")
    if isinstance(said, Mapping):
        return not cast(FieldsView, said).get("content")
    text = block.get("text", "-")
    return not (isinstance(text, str) and text.strip())


def _encode(part: Fields) -> Fields:
    if part.get("type") == "invalid_tool_call":
        part = {**part, "type": "tool_call", "args": arguments_of(part)}
    if "type" not in part:
        return {name: value for name, value in part.items() if name != "index"}
    [block] = native_content([part], "converse")
    return block
