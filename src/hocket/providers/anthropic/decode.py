"""Replies of Anthropic's messages API, read as messages: what a whole reply and a streamed one have in common.

The blocks stay as they came, so that they can go back unharmed. Text that is nothing but text is told as a string.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.base import Content
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import read_block
from hocket.outputs import ChatGeneration, ChatResult
from hocket.remote.reply import normalize_finish, read_answer
from hocket.remote.usage import count_of, counts_at, make_usage

__all__ = ["FINISHES", "PROVIDER", "decode_reply", "decode_usage", "finish_facts", "reply_facts"]

PROVIDER = "anthropic"

FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "pause_turn": "paused",
}
"""Why an answer has ended, in the API's words and in hocket's; the first of several is the usual one."""

_OWN_PLACE = frozenset({"id", "type", "role", "model", "content", "usage"})


def decode_reply(reply: HTTPReply, *, include_headers: bool = False) -> ChatResult:
    """Return what a whole reply says. Raises as `read_answer`."""
    return read_answer(reply, PROVIDER, _read, "message", include_headers=include_headers)


def _read(data: FieldsView, facts: Fields) -> ChatResult:
    finish = finish_facts(data)
    facts |= {**reply_facts(data), **finish}
    if data.get("usage"):
        facts["token_usage"] = data["usage"]
    message = _decode_message(data, facts)
    return ChatResult(
        generations=[ChatGeneration(message=message, generation_info=finish)],
        llm_output={"token_usage": data.get("usage") or {}, "model_name": data.get("model")},
    )


def _decode_message(data: FieldsView, facts: Fields) -> AIMessage:
    blocks: Sequence[Fields] = data["content"]
    read = [block for native in blocks if native["type"] == "tool_use" for block in read_block(native)]
    return AIMessage(
        _shorten(blocks),
        id=data.get("id"),
        tool_calls=[_as_call(block) for block in read if block["type"] == "tool_call"],
        invalid_tool_calls=[_as_call(block) for block in read if block["type"] == "invalid_tool_call"],
        usage_metadata=decode_usage(data.get("usage")),
        response_metadata=facts,
    )


def _as_call(block: Any) -> Any:
    return {name: value for name, value in block.items() if name != "extras"}


def _shorten(blocks: Sequence[Fields]) -> Content:
    """Return content as a text, where it is nothing else."""
    if not blocks:
        return ""
    first = blocks[0]
    if len(blocks) == 1 and first["type"] == "text" and not first.get("citations"):
        return str(first["text"])
    return [{name: value for name, value in block.items() if value is not None} for block in blocks]


def reply_facts(data: FieldsView) -> Fields:
    """Return what a reply says about itself, for ``response_metadata``; LangChain calls the model ``model_name``."""
    facts = {name: value for name, value in data.items() if name not in _OWN_PLACE and value is not None}
    named = {"id": data["id"]} if data.get("id") else {}
    return {**named, **({"model_name": data["model"]} if data.get("model") else {}), **facts}


def finish_facts(data: FieldsView) -> dict[str, str]:
    """Return why an answer ended, in the API's word and in hocket's; nothing, where it has not ended."""
    return normalize_finish(data.get("stop_reason"), FINISHES)


_CACHE = {"cache_read": "cache_read_input_tokens", "cache_creation": "cache_creation_input_tokens"}
_KEPT = {name: name for name in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")}


def decode_usage(usage: object) -> UsageMetadata | None:
    """Return the usage that a reply reports; None where it reports none.

    The API counts what was read from and written to the cache beside the input; hocket counts it in.
    """
    if not isinstance(usage, Mapping) or not usage:
        return None
    raw: FieldsView = usage  # pyright: ignore[reportUnknownVariableType]  # `isinstance` forgets what is in it
    cache = counts_at(raw, _CACHE)
    details = {**cache, **{name: count for name, count in counts_at(raw.get("cache_creation"), _KEPT).items() if count}}
    return make_usage(
        (count_of(raw.get("input_tokens")) or 0) + sum(cache.values()),
        count_of(raw.get("output_tokens")),
        input_details=details,
        output_details=counts_at(raw.get("output_tokens_details"), {"reasoning": "thinking_tokens"}),
    )
