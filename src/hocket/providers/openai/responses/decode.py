"""Replies of the Responses API, read as messages: what a whole reply and a streamed one have in common.

The content is the reply's items as they came, so that they can go back unharmed and in order. The calls among them, and a
refusal, are told beside it as well, where all models tell them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from pydantic_core import to_json

from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.tool_calls import ToolCallChunk, read_tool_calls, tool_call_chunk
from hocket.outputs import ChatGeneration, ChatResult
from hocket.providers.openai.responses.search import read_search
from hocket.remote.reply import normalize_finish, read_answer
from hocket.remote.usage import count_of, counts_at, make_usage

__all__ = [
    "CALLS",
    "decode_call",
    "decode_reply",
    "decode_usage",
    "finish_facts",
    "refusals_in",
    "reply_facts",
    "write_custom_input",
]

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that call a tool of ours, and the field that says with what."""

_FINISHES = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "failed": "error",
    "cancelled": "error",
    "queued": "paused",
    "in_progress": "paused",
}
_NAMES = {"model": "model_name", "usage": "token_usage"}  # LangChain's
_UNTOLD = frozenset(
    {
        *("object", "output", "error", "background", "instructions", "input", "include", "max_output_tokens"),
        *(
            "max_tool_calls",
            "parallel_tool_calls",
            "prompt",
            "reasoning",
            "temperature",
            "text",
            "tool_choice",
            "tools",
        ),
        *("top_logprobs", "top_p", "truncation", "user", "safety_identifier", "presence_penalty", "frequency_penalty"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "context_management"),
    }
)
"""What is told elsewhere, and what only repeats the request."""


def decode_reply(reply: HTTPReply, provider: str, *, include_headers: bool = False) -> ChatResult:
    """Return what a whole reply says. Raises as `read_answer`."""
    return read_answer(reply, provider, _read, "response", include_headers=include_headers)


def _read(data: FieldsView, facts: Fields) -> ChatResult:
    items: list[Fields] = [read_search(item) for item in data["output"]]
    raw = [item for item in items if item["type"] in CALLS]
    calls, invalid = read_tool_calls(map(decode_call, raw))
    refusal = "".join(text for item in items for text in refusals_in(item))
    finish = finish_facts(data, called=bool(raw), refused=bool(refusal))
    facts |= {**reply_facts(data), **finish}
    message = AIMessage(
        cast("list[str | Fields]", items),
        id=data.get("id"),
        additional_kwargs={"refusal": refusal} if refusal else {},
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=decode_usage(data.get("usage")),
        response_metadata=facts,
    )
    output: Fields = {name: facts[name] for name in ("token_usage", "model_name") if name in facts}
    return ChatResult(generations=[ChatGeneration(message=message, generation_info=finish)], llm_output=output)


def decode_call(item: FieldsView, index: int | None = None) -> ToolCallChunk:
    """Return a call, whole. The text that a tool is called with which takes any is its one argument."""
    text = item.get(CALLS[item["type"]]) or ""
    is_custom = item["type"] == "custom_tool_call"
    args = f'{{"{CUSTOM_INPUT}":"{write_custom_input(text)}"}}' if is_custom else _as_text(text)
    call = tool_call_chunk(name=item["name"], args=args, id=item["call_id"], index=index)
    if is_custom:
        call["extras"] = {"type": "custom"}
    return call


def write_custom_input(text: str) -> str:
    """Return a text, or a piece of one, as it stands within a JSON string."""
    return to_json(text)[1:-1].decode()


def _as_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else to_json(arguments).decode()


def refusals_in(item: FieldsView) -> Iterable[str]:
    """Yield the refusals that an item holds."""
    parts: Sequence[FieldsView] = (item.get("content") or ()) if item["type"] == "message" else ()
    return [part["refusal"] for part in parts if part["type"] == "refusal"]


def reply_facts(data: FieldsView) -> Fields:
    """Return what a reply says about itself, for ``response_metadata``."""
    told = {name: value for name, value in data.items() if name not in _UNTOLD and value not in (None, {}, [])}
    return {_NAMES.get(name, name): value for name, value in told.items()}


def finish_facts(data: FieldsView, *, called: bool, refused: bool) -> dict[str, str]:
    """Return why an answer ended: what made it incomplete, else its status."""
    details: object = data.get("incomplete_details")
    reason: object = cast(FieldsView, details).get("reason") if isinstance(details, Mapping) else None
    return normalize_finish(reason or data.get("status"), _FINISHES, called=called, refused=refused)


_INPUT = {"cache_read": "cached_tokens", "cache_creation": "cache_write_tokens"}


def decode_usage(usage: object) -> UsageMetadata | None:
    """Return the usage that a reply reports; None where it reports none."""
    if not isinstance(usage, Mapping) or not usage:
        return None
    raw = cast("Mapping[str, object]", usage)
    return make_usage(
        count_of(raw.get("input_tokens")),
        count_of(raw.get("output_tokens")),
        count_of(raw.get("total_tokens")),
        input_details=counts_at(raw.get("input_tokens_details"), _INPUT),
        output_details=counts_at(raw.get("output_tokens_details"), {"reasoning": "reasoning_tokens"}),
    )
