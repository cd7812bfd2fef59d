"""Content blocks, written as items and parts of the Responses API. Pure functions.

A reply's items pass as they are: the server knows them by their ids, and reasoning is encrypted. They go together, though:
an item without the reasoning that led to it is refused, as is reasoning that led to nothing.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import cast

from hocket.messages import AIMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.messages.formats.blocks import source_of
from hocket.providers.openai.responses.items import is_item
from hocket.remote.message_parts import read_parts, read_reply_parts

__all__ = ["encode_parts", "encode_reply", "is_native"]

_WORDS = ("detail", "filename", "prompt_cache_breakpoint")
_INPUTS = frozenset({"input_text", "input_image", "input_file"})
_SPOKEN = frozenset({"message", "function_call", "custom_tool_call"})
"""Items that need no id."""


def is_native(part: FieldsView) -> bool:
    """Whether a part is of the API's own format: an item, or a part of what users and tools say."""
    return part.get("type") in _INPUTS or is_item(part)


def encode_parts(content: Sequence[str | FieldsView]) -> list[Fields]:
    """Return the parts of what a user, a tool or a system message says, the items among them as well.

    Raises:
        Unsupported: a part that the API has no place for; the text names its type.
        InvalidInput: data without what the API needs to know about them.
    """
    return [_encode_part(part) for part in read_parts(content, is_native, _WORDS)]


def _encode_part(part: Fields) -> Fields:
    if is_native(part):
        return part
    [made] = native_content([part], "openai_responses_input")
    if "file_data" in made:  # a name is obligatory, and its ending may decide how the file is read
        made.setdefault("filename", f"file.{str(source_of(part).mime_type).rpartition('/')[2]}")
    return made


def encode_reply(message: AIMessage, *, is_stored: bool) -> list[Fields]:
    """Return what the model said and called as items.

    Args:
        message: the model's.
        is_stored: whether the server keeps what it is sent, so that it knows reasoning by its id.

    Raises:
        Unsupported: a block that a reply has no place for; the text names its type.
    """
    items = _read_items_beside(message)
    for is_own, group in groupby(read_reply_parts(message, is_native), is_native):
        parts = list(group)
        items += (
            map(_restore, parts) if is_own else map(_wrap, native_content(list(map(_mark, parts)), "openai_responses"))
        )
    refusal = message.additional_kwargs.get("refusal")
    if refusal and isinstance(message.content, str):
        items.append(_wrap({"type": "refusal", "refusal": refusal}))
    return _pair(items, is_stored and message.response_metadata.get("store") is not False)


def _restore(item: Fields) -> Fields:
    """Return an item as the server has sent it, without the places that its parts had in a stream."""
    if item["type"] not in ("message", "reasoning"):
        return item
    restored = {
        name: [_without_index(part) for part in value] if name in ("content", "summary") and value else value
        for name, value in item.items()
    }
    if item["type"] == "message":
        return restored
    return {
        name: value for name, value in restored.items() if value is not None
    }  # nulls, which SDKs write, are refused


def _without_index(part: Fields) -> Fields:
    return {name: value for name, value in part.items() if name != "index"}


def _read_items_beside(message: AIMessage) -> list[Fields]:
    """Return the items that LangChain's oldest form of a reply has beside the content: reasoning, and the server's tools."""
    beside: Fields = message.additional_kwargs
    items: list[object] = [beside.get("reasoning"), *(beside.get("tool_outputs") or ())]
    return [cast(Fields, item) for item in items if isinstance(item, dict) and is_item(cast(Fields, item))]


def _mark(block: Fields) -> Fields:
    """Return a block so that what other forms of a reply say about it stands where its writer looks for that.

    That is the phase of a message, with a text of it; and of a call by chat completions, that its tool takes any text.
    """
    extras: Fields = block.get("extras") or {}
    if extras.get("type") == "custom":
        return {**block, "extras": {"block_type": "custom_tool_call", **extras}}
    phase = block.get("phase") or extras.get("phase")
    if phase is None or block["type"] != "text":
        return block
    others = {name: value for name, value in extras.items() if name != "phase"}
    kept = {name: value for name, value in block.items() if name != "phase"}
    return {**kept, "extras": {**others, "message": {"phase": phase}}}


def _wrap(item: Fields) -> Fields:
    """Return an item; a refusal, which other forms of a reply have by itself, within a message."""
    if item["type"] != "refusal":
        return item
    return {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": item["refusal"]}]}


def _pair(items: Sequence[Fields], is_stored: bool) -> list[Fields]:
    """Return the items that the server will take together.

    Left out is reasoning that it can neither find nor decrypt, and reasoning without what it led to. What followed goes
    without its id, as said again; what cannot go without, a call of the server's own tools, is left out too.
    """
    last = max((at for at, item in enumerate(items) if item["type"] != "reasoning"), default=-1)
    kept: list[Fields] = []
    is_orphan = False
    for at, item in enumerate(items):
        if item["type"] == "reasoning":
            is_orphan = not (item.get("encrypted_content") or (is_stored and item.get("id")))
            if at < last and not is_orphan:
                kept.append(item)
        elif not is_orphan:
            kept.append(item)
        elif item["type"] in _SPOKEN:
            kept.append({name: value for name, value in item.items() if name != "id"})
    return kept
