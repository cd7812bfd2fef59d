"""What every writer of a stream reads of a message, and JSON as all of them write it. Pure functions."""

import json
from collections.abc import Iterable, Sequence

from pydantic_core import PydanticSerializationError, to_json

from hocket.load.serializable import get_fields
from hocket.messages import AIMessage, BaseMessage, ContentBlock
from hocket.messages.base import is_bare

__all__ = ["encode_json", "find_plain_text", "join_reasoning", "list_blocks"]

_BESIDE_TEXT = (
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "tool_call_chunks",
    "tool_calls",
    "invalid_tool_calls",
)


def encode_json(value: object) -> bytes:
    """Return JSON text; a lone surrogate, which a model may make of half an escape, as the escape."""
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(value, default=str).encode()


def find_plain_text(message: AIMessage) -> str | None:
    """Return the text of a message that says nothing else, as most pieces are; None: it is no such."""
    fields = get_fields(message)
    if is_bare(fields):
        return fields.get("content")
    text: object = fields.get("content")  # a sum that has not been read has none
    return text if isinstance(text, str) and not any(map(fields.get, _BESIDE_TEXT)) else None


def list_blocks(message: BaseMessage) -> Sequence[ContentBlock]:
    """Return the blocks of a message, or of a piece of one; nothing, if its content is a text."""
    return () if isinstance(message.content, str) and not message.additional_kwargs else message.content_blocks


def join_reasoning(blocks: Iterable[ContentBlock]) -> str:
    """Return what a model says that it thinks."""
    return "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")
