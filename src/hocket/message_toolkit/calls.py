"""Tool calls of a message changed, in every place where the message has them, and messages that say nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from hocket.message_toolkit.turns import calls_of
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage
from hocket.messages.base import isolated
from hocket.messages.roles import role_of
from hocket.messages.tool_calls import tool_call_chunks_of

__all__ = ["is_empty", "with_call_ids"]

_CALL_BLOCKS = frozenset({"tool_use", "function_call", "tool_call", "invalid_tool_call", "tool_call_chunk"})
_BESIDE = ("refusal", "function_call", "audio")  # what a reply may consist of, beside its content


def with_call_ids(message: AIMessage, ids: Sequence[str | None]) -> AIMessage:
    """Return a copy of ``message`` whose calls have ``ids``, one for each of `calls_of`; None leaves the call out.

    The content's own blocks of these calls are changed likewise. Calls as OpenAI wrote them, which some messages have in
    ``additional_kwargs`` too, are left out: the message's own are what it means.
    """
    made: dict[str | None, list[str | None]] = {}
    for call, id in zip(calls_of(message), ids, strict=True):
        made.setdefault(call["id"], []).append(id)
    valid = [{**call, "id": id} for call, id in zip(message.tool_calls, ids, strict=False) if id]
    rest = ids[len(message.tool_calls) :]
    invalid = [{**call, "id": id} for call, id in zip(message.invalid_tool_calls, rest, strict=True) if id]
    changes: dict[str, Any] = {"tool_calls": valid, "invalid_tool_calls": invalid}
    if isinstance(message.content, list):
        changes["content"] = [new for block in message.content if (new := _block(block, made)) is not None]
    if "tool_calls" in message.additional_kwargs:
        changes["additional_kwargs"] = {
            name: value for name, value in message.additional_kwargs.items() if name != "tool_calls"
        }
    if isinstance(message, AIMessageChunk):
        changes["tool_call_chunks"] = tool_call_chunks_of(valid, invalid)  # type: ignore[arg-type]  # pyright: ignore
    return isolated(message, **changes)


def _block(block: str | dict[str, Any], made: Mapping[str | None, list[str | None]]) -> str | dict[str, Any] | None:
    """``block`` with the next new id of its call; None: the call is left out."""
    if isinstance(block, str) or block.get("type") not in _CALL_BLOCKS:
        return block
    key = "call_id" if "call_id" in block else "id"
    ids = made.get(block.get(key))
    if not ids:
        return block
    id = ids.pop(0) if len(ids) > 1 else ids[0]
    return None if id is None else {**block, key: id}


def is_empty(message: BaseMessage) -> bool:
    """Whether ``message`` says nothing at all: no provider has a form for it. A tool may well return nothing."""
    content = message.content
    if content.strip() if isinstance(content, str) else any(not _is_blank(block) for block in content):
        return False
    if role_of(message) in ("tool", "function") or calls_of(message):
        return False
    return not any(message.additional_kwargs.get(name) for name in _BESIDE)


def _is_blank(block: str | dict[str, Any]) -> bool:
    if isinstance(block, str):
        return not block.strip()
    # A provider's signature may come on a text of no length, and has to go back.
    return block.get("type") == "text" and not str(block.get("text", "")).strip() and not block.get("extras")
