"""A chunk of a streamed reply, built without validation: for the decoders of providers, which make one for each event.

A stream of a thousand events makes a thousand chunks, and validation is half of what a chunk costs. So a decoder, whose
values are valid by construction, sets all fields at once. A property test compares the outcome to that of validation. A
chunk with pieces of tool calls leaves ``tool_calls`` out: `AIMessageChunk` parses them when they are first read.
"""

from collections.abc import Iterable
from typing import cast

from hocket.load.serializable import allocate, set_state
from hocket.messages.ai import AIMessageChunk
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import ToolCallChunk
from hocket.messages.usage import UsageMetadata

__all__ = ["fast_chunk"]

_FIELDS = set(AIMessageChunk.__pydantic_fields__)
_PARTS = (dict, str)  # a tuple: a union is made again, and takes longer to ask for
_TEXTS = (str, type(None))


def fast_chunk(
    content: str | list[str | Fields],
    id: str | None,
    *,
    additional_kwargs: Fields | None = None,
    response_metadata: Fields | None = None,
    tool_call_chunks: list[ToolCallChunk] | None = None,
    usage_metadata: UsageMetadata | None = None,
    is_last: bool = False,
) -> AIMessageChunk:
    """Return a chunk out of valid fields, whose containers are its own from now on.

    Raises:
        TypeError: what a server sent is of another type than the field: its decoder makes an `InvalidReply` of that.
    """
    if not isinstance(content, str):
        _check_parts(content)
    if id is not None and id.__class__ is not str:
        raise TypeError("an id is no text")
    if tool_call_chunks:
        _check_calls(tool_call_chunks)
    fields: Fields = {
        "content": content,
        "additional_kwargs": {} if additional_kwargs is None else additional_kwargs,
        "response_metadata": {} if response_metadata is None else response_metadata,
        "type": "AIMessageChunk",
        "name": None,
        "id": id,
    }
    if tool_call_chunks:
        fields["usage_metadata"] = usage_metadata
        fields["tool_call_chunks"] = tool_call_chunks
    else:
        fields["tool_calls"] = []
        fields["invalid_tool_calls"] = []
        fields["usage_metadata"] = usage_metadata
        fields["tool_call_chunks"] = []
    fields["chunk_position"] = "last" if is_last else None
    made: AIMessageChunk = allocate(AIMessageChunk)
    set_state(made, fields, _FIELDS.copy(), {})
    return made


def _check_parts(content: object) -> None:
    """Refuse content that folding could not go on with."""
    if not isinstance(content, list):
        raise TypeError("content is neither a text nor a list of texts and parts")
    for part in cast("list[object]", content):
        if not isinstance(part, _PARTS):
            raise TypeError("content is neither a text nor a list of texts and parts")


def _check_calls(calls: Iterable[FieldsView]) -> None:
    """Refuse pieces of calls that folding could not go on with."""
    for call in calls:
        if not all(isinstance(call.get(name), _TEXTS) for name in ("id", "name", "args")):
            raise TypeError("the id, the name or the arguments of a call are no text")
