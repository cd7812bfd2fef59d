"""Replies of the Converse API, read as messages: what a whole reply and a streamed one have in common.

The blocks stay as they came, so that they can go back unharmed. Text that is nothing but text is told as a string.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import read_block
from hocket.outputs import ChatGeneration, ChatResult
from hocket.remote.reply import normalize_finish, read_answer
from hocket.remote.usage import count_of, counts_at, make_usage

__all__ = ["FINISHES", "PROVIDER", "decode_reply", "decode_usage", "reply_facts"]

PROVIDER = "bedrock"

FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
"""Why an answer has ended, in the API's words and in hocket's."""

_FACTS = {
    "usage": "token_usage",
    "metrics": "metrics",
    "trace": "trace",
    "additionalModelResponseFields": "additional_model_response_fields",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}


def decode_reply(reply: HTTPReply, *, include_headers: bool = False) -> ChatResult:
    """Return what a whole reply says. Raises as `read_answer`."""
    return read_answer(reply, PROVIDER, _read, "reply of the Converse API", include_headers=include_headers)


def _read(data: FieldsView, facts: Fields) -> ChatResult:
    finish = normalize_finish(data.get("stopReason"), FINISHES)
    facts |= {**reply_facts(data), **finish}
    blocks: Sequence[Fields] = data["output"]["message"]["content"]
    calls: dict[str, list[Fields]] = {"tool_call": [], "invalid_tool_call": []}
    for block in blocks:
        for read in (cast(Fields, one) for one in read_block(block) if one["type"] in calls):
            calls[read["type"]].append({name: value for name, value in read.items() if name != "extras"})
    is_text = len(blocks) == 1 and blocks[0].keys() == {"text"}
    message = AIMessage(
        blocks[0]["text"] if is_text else list(blocks) or "",
        tool_calls=cast("list[object]", calls["tool_call"]),
        invalid_tool_calls=cast("list[object]", calls["invalid_tool_call"]),
        usage_metadata=decode_usage(data.get("usage")),
        response_metadata=facts,
    )
    generation = ChatGeneration(message=message, generation_info=finish)
    return ChatResult(generations=[generation], llm_output={"token_usage": data.get("usage") or {}})


def reply_facts(data: FieldsView) -> Fields:
    """Return what a reply, or an event of a stream, says about itself, for ``response_metadata``."""
    return {name: data[key] for key, name in _FACTS.items() if data.get(key) is not None}


_CACHE = {"cache_read": "cacheReadInputTokens", "cache_creation": "cacheWriteInputTokens"}


def decode_usage(usage: object) -> UsageMetadata | None:
    """Return the usage that a reply reports; None where it reports none.

    The API counts what was read from and written to the cache beside the input; hocket counts it in.
    """
    if not isinstance(usage, Mapping) or not usage:
        return None
    raw = cast(FieldsView, usage)
    cache = counts_at(raw, _CACHE)
    written: dict[str, int] = {}
    for one in cast("Sequence[FieldsView]", raw.get("cacheDetails") or ()):
        written[f"ephemeral_{one['ttl']}_input_tokens"] = count_of(one["inputTokens"]) or 0
    into = (count_of(raw.get("inputTokens")) or 0) + sum(cache.values())
    return make_usage(into, count_of(raw.get("outputTokens")), input_details={**cache, **written})
