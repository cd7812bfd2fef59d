"""Chat completions, read as messages: the whole reply, and what a piece of a streamed one has in common with it.

The format is OpenAI's, and with differences of their own Mistral's and that of many servers.

What has a place of its own in a message goes there. Everything else is kept under its own name, that of no provider left
out: beside the message (``additional_kwargs``: reasoning, refusal, audio, annotations, images …) what the message says,
and in its ``response_metadata`` what is said about it (log probabilities, filter results, timings …).
"""

from typing import cast

from pydantic_core import to_json

from hocket.errors import InvalidReply
from hocket.http.request import HTTPReply
from hocket.load.serializable import construct
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.base import Content
from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import copy_containers
from hocket.messages.tool_calls import read_tool_calls
from hocket.outputs import ChatGeneration, ChatResult
from hocket.remote.function_calls import fields_beside, read_call
from hocket.remote.reply import excerpt_reply, normalize_finish, read_headers, read_reply
from hocket.remote.usage import count_of, counts_at, make_usage

__all__ = [
    "FINISHES",
    "answer_facts",
    "completion_facts",
    "decode_completion",
    "decode_content",
    "decode_token_usage",
    "read_completion",
]

FINISHES = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "error": "error",
    "abort": "error",
    "insufficient_system_resource": "error",
}
"""The servers' words for why an answer ended, and hocket's; "other" is that for the rest."""

_NAMES = {"model": "model_name", "usage": "token_usage"}  # LangChain's
_UNTOLD_OF_REPLY = frozenset({"object", "created", "choices", "obfuscation", "error"})
_UNTOLD_OF_ANSWER = frozenset({"index", "message", "delta", "finish_reason"})


def decode_completion(reply: HTTPReply, provider: str, *, include_headers: bool = False) -> ChatResult:
    """Return what a reply says: see `read_completion`.

    Raises:
        InvalidReply: it is not what the format says, or has no choices.
        LLMError: it says that the request failed, although its status is that of a good one.
    """
    headers = read_headers(reply.headers, include_headers)
    return read_reply(reply, provider, lambda data: read_completion(data, provider, headers), "chat completion")


def read_completion(data: FieldsView, provider: str, headers: FieldsView) -> ChatResult:
    """Return what the data of a reply say: a candidate for each choice, in the order of their indices.

    The usage is that of the whole, so only the first candidate reports it.

    Args:
        data: of the reply.
        provider: its name.
        headers: what those of the reply say, for ``response_metadata``.

    Raises:
        InvalidReply: it has no choices. (Odd shapes raise whatever they do; see `read_reply`.)
    """
    choices: list[Fields] = sorted(data["choices"], key=lambda choice: choice.get("index") or 0)
    facts = {"model_provider": provider, **completion_facts(data), **headers}
    answers = [_answer(choice, facts, at) for at, choice in enumerate(choices)]
    if not answers:
        raise InvalidReply(f"the reply has no choices: {excerpt_reply(to_json(data))}")
    output = {name: facts[name] for name in ("token_usage", "model_name") if name in facts}
    return construct(ChatResult, generations=answers, llm_output=output)


def _answer(choice: FieldsView, facts: FieldsView, at: int) -> ChatGeneration:
    message: Fields = choice["message"]
    told = facts if at == 0 else {name: copy_containers(fact) for name, fact in facts.items() if name != "token_usage"}
    raw: list[Fields] = message.get("tool_calls") or []
    calls, invalid = read_tool_calls(map(read_call, raw)) if raw else ([], [])
    kwargs = fields_beside(message)
    finish = normalize_finish(
        choice.get("finish_reason"), FINISHES, called=bool(calls or invalid), refused="refusal" in kwargs
    )
    made = AIMessage(
        content=decode_content(message.get("content")),
        additional_kwargs=kwargs,
        response_metadata={**told, **answer_facts(choice), **finish},
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=decode_token_usage(told.get("token_usage")),
        id=f"{id}-{at}" if (id := facts.get("id")) and at else id,  # candidates share a reply, but no message's id
    )
    return construct(
        ChatGeneration, text=made.text, generation_info=finish or None, type="ChatGeneration", message=made
    )


def completion_facts(data: FieldsView) -> Fields:
    """Return what a reply, or an event of one, says about itself."""
    return {_NAMES.get(name, name): value for name, value in data.items() if value and name not in _UNTOLD_OF_REPLY}


def answer_facts(choice: FieldsView) -> Fields:
    """Return what a choice, or a piece of one, says about itself, beside its finish reason."""
    return {name: value for name, value in choice.items() if value is not None and name not in _UNTOLD_OF_ANSWER}


def decode_content(content: object) -> Content:
    """Return the content of a message, or of a piece of one.

    Raises:
        TypeError: it is neither a text nor a list of texts and parts.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise TypeError("content is neither a text nor a list of parts")
    parts = cast("list[str | Fields]", content)
    if not all(isinstance(part, str | dict) for part in parts):  # pyright: ignore[reportUnnecessaryIsInstance]  # from the wire
        raise TypeError("content is neither a text nor a list of parts")
    return parts


_MEDIA = {"audio": "audio_tokens", "image": "image_tokens"}
INPUT_DETAILS = {"cache_read": "cached_tokens", "cache_creation": "cache_write_tokens", **_MEDIA}
OUTPUT_DETAILS = {"reasoning": "reasoning_tokens", **_MEDIA}
CACHE_READ = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
"""Where DeepSeek, Moonshot and Together, and Mistral say how much of a prompt was cached."""


def decode_token_usage(usage: object) -> UsageMetadata | None:
    """Return the usage that a server reports; None where it reports none. What it does not mention is left out."""
    if not isinstance(usage, dict) or not usage:
        return None
    raw = cast("dict[str, object]", usage)
    details = counts_at(raw.get("prompt_tokens_details"), INPUT_DETAILS)
    if "cache_read" not in details:
        cached = (count_of(raw.get(name)) for name in CACHE_READ if name in raw)
        for count in cached:
            if count is not None:
                details["cache_read"] = count
                break
    return make_usage(
        count_of(raw.get("prompt_tokens")),
        count_of(raw.get("completion_tokens")),
        count_of(raw.get("total_tokens")),
        input_details=details,
        output_details=counts_at(raw.get("completion_tokens_details"), OUTPUT_DETAILS),
    )
