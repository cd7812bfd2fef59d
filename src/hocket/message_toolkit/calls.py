"""Tool calls of a message changed, in every place where the message has them, and messages that say nothing."""

from collections.abc import Mapping
from typing import Any, cast

from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
)
from hocket.messages.base import copy_message
from hocket.messages.calls import calls_of
from hocket.messages.content import Fields
from hocket.messages.formats import content_blocks_of, stands_for
from hocket.messages.roles import role_of
from hocket.messages.tool_calls import tool_call_chunks_of

__all__ = ["is_empty", "is_plain", "with_calls"]

_BESIDE = ("refusal", "function_call", "audio")  # what a reply may consist of, beside its content
_CALLS = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})
_PARTS = ("functionCall", "function_call")  # of Gemini's, which hold the id inside


def with_calls(message: AIMessage, ids: Mapping[int, str | None]) -> AIMessage:
    """Return a copy of ``message`` with those of its calls that ``ids`` has, by their place among `calls_of`.

    The content's own blocks of these calls are changed likewise, whichever provider's. Calls as OpenAI wrote them, which
    some messages have in ``additional_kwargs`` too, are left out: the message's own are what it means.
    """
    calls = calls_of(message)
    renamed: list[Any] = [{**call, "id": ids[at]} for at, call in enumerate(calls) if at in ids]
    valid = [call for call in renamed if "error" not in call]
    invalid = [call for call in renamed if "error" in call]
    changes: Fields = {"tool_calls": valid, "invalid_tool_calls": invalid}
    if isinstance(message.content, list):
        places = [*range(len(calls))]
        changes["content"] = [
            new for block in message.content if (new := _block(block, calls, places, ids)) is not None
        ]
    if "tool_calls" in message.additional_kwargs:
        changes["additional_kwargs"] = {
            name: value for name, value in message.additional_kwargs.items() if name != "tool_calls"
        }
    if isinstance(message, AIMessageChunk):
        changes["tool_call_chunks"] = tool_call_chunks_of(valid, invalid)
    return copy_message(message, **changes)


def _block(
    block: str | Fields,
    calls: list[ToolCall | InvalidToolCall],
    places: list[int],
    ids: Mapping[int, str | None],
) -> str | Fields | None:
    """``block`` with the new id of its call, the first of ``places`` that it stands for; None: the call is left out."""
    if isinstance(block, str):
        return block
    read = content_blocks_of([block], additional_kwargs={}, response_metadata={})[0]
    if read["type"] not in _CALLS:
        return block
    place = next((place for place in places if stands_for(read, calls[place])), None)
    if place is None:
        return block
    places.remove(place)
    places.append(place)  # the next block of the same id stands for the next call of that id, if there is one
    if place not in ids:
        return None
    return block if ids[place] == calls[place]["id"] else _with_id(block, ids[place])


def _with_id(block: Fields, id: str | None) -> Fields:
    for key in _PARTS:
        if isinstance(part := block.get(key), Mapping):
            return {**block, key: {**part, "id": id}}
    return {**block, "call_id" if "call_id" in block else "id": id}


def is_plain(message: BaseMessage) -> bool:
    """Whether ``message`` is a text, and no call or result of a tool: most are, and nothing in them needs mending."""
    content, kind = message.content, message.__class__
    if type(content) is not str or not content.strip():
        return False
    if kind is AIMessage:
        reply = cast(AIMessage, message)
        return not (reply.tool_calls or reply.invalid_tool_calls)
    return kind is HumanMessage or kind is SystemMessage


def is_empty(message: BaseMessage) -> bool:
    """Whether ``message`` says nothing at all: no provider has a form for it. A tool may well return nothing."""
    content = message.content
    if content.strip() if isinstance(content, str) else any(not _is_blank(block) for block in content):
        return False
    if role_of(message) in ("tool", "function") or calls_of(message):
        return False
    return not any(message.additional_kwargs.get(name) for name in _BESIDE)


def _is_blank(block: str | Fields) -> bool:
    if isinstance(block, str):
        return not block.strip()
    # A provider's signature may come on a text of no length, and has to go back.
    return block.get("type") == "text" and not str(block.get("text", "")).strip() and not block.get("extras")
