"""Replies of Cohere's chat API, read as messages: what a whole reply and a streamed one have in common.

Citations, and the plan that goes before calls, come beside the content, and stay there: ``additional_kwargs`` has them as
they came. Text that is nothing but text is told as a string.
"""

from collections.abc import Sequence
from functools import partial

from hocket.errors import LLMError
from hocket.http.failures import classify_error
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.base import Content
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import read_tool_calls
from hocket.outputs import ChatGeneration, ChatResult
from hocket.providers.cohere.service import PROVIDER
from hocket.remote.function_calls import fields_beside, read_call
from hocket.remote.reply import normalize_finish, read_answer
from hocket.remote.usage import count_of, make_usage

__all__ = ["FINISHES", "decode_reply", "decode_usage", "describe_failure"]

FINISHES = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "content_filter",
    "ERROR": "error",
    "TIMEOUT": "error",
}
"""Why an answer ended, by Cohere's word, in the words that all providers share."""

_TOLD = frozenset({"message", "finish_reason", "usage"})


def decode_reply(reply: HTTPReply, *, include_headers: bool = False) -> ChatResult:
    """Return what a whole reply says. Raises as `read_answer`."""
    return read_answer(reply, PROVIDER, partial(_read, reply), "answer", include_headers=include_headers)


def _read(reply: HTTPReply, data: FieldsView, facts: Fields) -> ChatResult:
    if data.get("finish_reason") == "ERROR":
        raise _make_failure(reply, data.get("error"))
    message: Fields = data["message"]
    calls, invalid = read_tool_calls(map(read_call, message.get("tool_calls") or ()))
    finish = normalize_finish(data.get("finish_reason"), FINISHES, called=bool(calls or invalid))
    facts |= {name: value for name, value in data.items() if value is not None and name not in _TOLD}
    used = {"token_usage": data["usage"]} if data.get("usage") else {}
    made = AIMessage(
        _shorten(message.get("content") or []),
        id=data.get("id"),
        additional_kwargs=fields_beside(message),
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=decode_usage(data.get("usage")),
        response_metadata={**facts, **finish, **used},
    )
    return ChatResult(generations=[ChatGeneration(message=made, generation_info=finish)], llm_output=used)


def describe_failure(error: object) -> Fields:
    """Return the body of an error that stands for an answer which ended with ``ERROR``, in the API's own explanation."""
    return {"message": f"the generation failed due to an internal error{f': {error}' if error else ''}"}


def _make_failure(reply: HTTPReply, error: object) -> LLMError:
    return classify_error(None, reply.headers, describe_failure(error), provider=PROVIDER)


def _shorten(parts: Sequence[Fields] | str) -> Content:
    """Return content as a text, where it is nothing else."""
    match parts:
        case str():
            return parts
        case []:
            return ""
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return list(parts)


def decode_usage(usage: FieldsView | None) -> UsageMetadata | None:
    """Return the usage that a reply reports; None where it reports none.

    What counts are the tokens that the model has read and written, which may be more than are billed.
    """
    counted: FieldsView | None = (usage or {}).get("tokens") or (usage or {}).get("billed_units")
    if not usage or not counted:
        return None
    cached = count_of(usage.get("cached_tokens"))
    return make_usage(
        count_of(counted.get("input_tokens")),
        count_of(counted.get("output_tokens")),
        input_details={} if cached is None else {"cache_read": cached},
    )
