"""Replies of Ollama's chat API, read as messages: what a whole reply and the lines of a streamed one have in common."""

from collections.abc import Sequence
from typing import cast

from pydantic_core import to_json

from hocket.errors import InvalidReply
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import read_tool_calls
from hocket.outputs import ChatGeneration, ChatResult
from hocket.providers.ollama.service import PROVIDER
from hocket.remote.function_calls import fields_beside, read_call
from hocket.remote.handover import make_call_id
from hocket.remote.reply import normalize_finish, read_answer
from hocket.remote.usage import counts_at, make_usage

__all__ = ["decode_reply", "decode_usage", "finish_facts", "reply_facts", "with_id"]

FINISHES = {"stop": "stop", "length": "length", "load": "error", "unload": "error"}
"""The server's words. The last two are of requests that only load or unload a model: nothing was said."""

_COUNTS = {"input_tokens": "prompt_eval_count", "output_tokens": "eval_count"}
_OWN_PLACE = frozenset({"message", "model", "done", "done_reason"})


def decode_reply(reply: HTTPReply, *, include_headers: bool = False) -> ChatResult:
    """Return what a whole reply says. Raises as `read_answer`."""
    return read_answer(reply, PROVIDER, _read, "chat reply", include_headers=include_headers)


def _read(data: FieldsView, facts: Fields) -> ChatResult:
    message = _decode_message(data, facts)
    return ChatResult(
        generations=[ChatGeneration(message=message, generation_info=finish_facts(data, bool(message.tool_calls)))],
        llm_output={"token_usage": message.response_metadata.get("token_usage") or {}, "model_name": data.get("model")},
    )


def _decode_message(data: FieldsView, facts: Fields) -> AIMessage:
    if data.get("done") is False:
        raise InvalidReply("the reply is the beginning of a stream, which was not asked for")
    said: Fields = data["message"]
    raw: Sequence[Fields] = said.get("tool_calls") or ()
    calls, invalid = read_tool_calls([read_call(with_id(call, number, data)) for number, call in enumerate(raw)])
    named = {"model_name": data["model"]} if data.get("model") else {}
    return AIMessage(
        said.get("content") or "",
        additional_kwargs=fields_beside(said),
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=decode_usage(data),
        response_metadata={**facts, **named, **reply_facts(data), **finish_facts(data, bool(raw))},
    )


def with_id(call: FieldsView, number: int, data: FieldsView) -> FieldsView:
    """Return a call with an id. Older servers give it none; then it is made, the same each time the reply is read.

    Args:
        call: as it came.
        number: of calls of the reply before it.
        data: the reply, or the line of a stream, that it came in: its time tells it from like calls of other turns.
    """
    if call.get("id"):
        return call
    said = to_json(call.get("function")).decode()
    return {**call, "id": make_call_id(f"{data.get('created_at')} {number} {said}")}


def reply_facts(data: FieldsView) -> Fields:
    """Return what a reply says about itself, for ``response_metadata``: times in ns, counts, log probabilities."""
    facts = {name: value for name, value in data.items() if value is not None and name not in _OWN_PLACE}
    if usage := {name: data[name] for name in _COUNTS.values() if data.get(name) is not None}:
        facts["token_usage"] = usage
    return facts


def finish_facts(data: FieldsView, called: bool) -> dict[str, str]:
    """Return why an answer ended, in the server's word and in hocket's; nothing, where it does not say."""
    return normalize_finish(data.get("done_reason"), FINISHES, called=called)


def decode_usage(data: object) -> UsageMetadata | None:
    """Return the usage that a reply reports; None where it reports none. A prompt that was in the cache counts 0."""
    counts = counts_at(cast(FieldsView, data), _COUNTS)
    return make_usage(counts.get("input_tokens"), counts.get("output_tokens")) if counts else None
