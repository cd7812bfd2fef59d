"""Chat completions, read as messages: the whole reply, and what a piece of a streamed one has in common with it.

What has a place of its own in a message goes there. Everything else is kept under its own name, that of no provider left
out: beside the message (``additional_kwargs``: reasoning, refusal, audio, annotations, images …) what the message says,
and in its ``response_metadata`` what is said about it (log probabilities, filter results, timings …).
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from hocket._secrets import redact
from hocket.errors import InvalidReply
from hocket.http.failures import REQUEST_IDS, classify_error, has_failed
from hocket.http.request import HTTPReply
from hocket.load.construct import construct
from hocket.messages import AIMessage
from hocket.messages.base import Content
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.pieces import copy_containers
from hocket.messages.tool_calls import ToolCallChunk, read_tool_calls
from hocket.outputs import ChatGeneration, ChatResult
from hocket.providers.openai.usage import decode_usage

__all__ = [
    "answer_facts",
    "beside",
    "decode_call",
    "decode_content",
    "decode_reply",
    "finish_facts",
    "header_facts",
    "read_reply",
    "reply_facts",
    "shown",
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
_OWN_PLACE = frozenset({"role", "content", "tool_calls"})
_CALL = frozenset({"id", "type", "index", "function", "custom"})
_SHOWN = 200  # characters of an unreadable reply that an error repeats


def decode_reply(reply: HTTPReply, provider: str, *, include_headers: bool = False) -> ChatResult:
    """Return what a reply says: a candidate for each choice, in the order of their indices.

    The usage is that of the whole, so only the first candidate reports it.

    Raises:
        InvalidReply: it is not what the format says, or has no choices.
        LLMError: it says that the request failed, although its status is that of a good one.
    """
    data = read_reply(reply, provider)
    try:
        choices: list[dict[str, Any]] = sorted(data["choices"], key=lambda choice: choice.get("index") or 0)
        facts = {"model_provider": provider, **reply_facts(data), **header_facts(reply.headers, include_headers)}
        answers = [_answer(choice, facts, at) for at, choice in enumerate(choices)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidReply(f"the reply is no chat completion: {shown(reply.content)}") from error
    if not answers:
        raise InvalidReply(f"the reply has no choices: {shown(reply.content)}")
    output = {name: facts[name] for name in ("token_usage", "model_name") if name in facts}
    return construct(ChatResult, generations=answers, llm_output=output)


def read_reply(reply: HTTPReply, provider: str) -> Any:
    """Return the data of a reply.

    Raises:
        InvalidReply: it is not JSON.
        LLMError: it says that the request failed, although its status is that of a good one.
    """
    try:
        data = from_json(reply.content)
    except ValueError as error:
        raise InvalidReply(f"the reply is not JSON: {shown(reply.content)}") from error
    if has_failed(data):
        raise classify_error(None, reply.headers, data, provider=provider)
    return data


def _answer(choice: Mapping[str, Any], facts: Mapping[str, Any], at: int) -> ChatGeneration:
    message: dict[str, Any] = choice["message"]
    told = facts if at == 0 else {name: copy_containers(fact) for name, fact in facts.items() if name != "token_usage"}
    calls, invalid = read_tool_calls(decode_call(raw) for raw in message.get("tool_calls") or ())
    kwargs = beside(message)
    finish = finish_facts(choice.get("finish_reason"), called=bool(calls or invalid), refused="refusal" in kwargs)
    made = AIMessage(
        content=decode_content(message.get("content")),
        additional_kwargs=kwargs,
        response_metadata={**told, **answer_facts(choice), **finish},
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=decode_usage(told.get("token_usage")),
        id=f"{id}-{at}" if (id := facts.get("id")) and at else id,  # candidates share a reply, but no message's id
    )
    info = {"finish_reason": finish["finish_reason"]} if finish else None
    return construct(ChatGeneration, text=made.text, generation_info=info, type="ChatGeneration", message=made)


def beside(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message, or a piece of one, says that has no place of its own in ours."""
    return {name: value for name, value in message.items() if name not in _OWN_PLACE and value}


def reply_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reply, or an event of one, says about itself."""
    return {_NAMES.get(name, name): value for name, value in data.items() if value and name not in _UNTOLD_OF_REPLY}


def answer_facts(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a choice, or a piece of one, says about itself, beside its finish reason."""
    return {name: value for name, value in choice.items() if value is not None and name not in _UNTOLD_OF_ANSWER}


def header_facts(headers: Mapping[str, str], include_headers: bool) -> dict[str, Any]:
    """Return what the headers of a reply say: the server's name for the request, and on request all of them."""
    id = next((headers[name] for name in REQUEST_IDS if name in headers), None)
    return ({} if id is None else {"request_id": id}) | ({"headers": dict(headers)} if include_headers else {})


def finish_facts(reason: str | None, *, called: bool, refused: bool) -> dict[str, str]:
    """Return why an answer ended: in the server's word, as it came, and in one that is the same for every provider.

    ``normalized_finish_reason`` is stop, length, tool_calls, content_filter, error or other. A call is one and a refusal
    is one, although OpenAI says "stop" where a call was forced and where the model refused.
    """
    if not reason:
        return {}
    if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # it came over the wire
        raise TypeError("the finish reason is no text")
    normalized = FINISHES.get(reason, "other")
    if normalized == "stop":
        normalized = "content_filter" if refused else "tool_calls" if called else "stop"
    return {"finish_reason": reason, "normalized_finish_reason": normalized}


def decode_call(raw: Mapping[str, Any]) -> ToolCallChunk:
    """Return a tool call, or a piece of one; what it says beyond the format goes into its ``extras``."""
    custom = raw.get("custom")
    function: Mapping[str, Any] = custom or raw.get("function") or {}
    name, id, index = function.get("name"), raw.get("id"), raw.get("index")
    if not isinstance(name, str | None) or not isinstance(index, int | str | None):
        raise TypeError("a tool call has a name that is no text, or an odd index")
    call: ToolCallChunk = {
        "name": name,
        "args": _arguments(function.get("arguments")),
        "id": id if id is None or isinstance(id, str) else str(id),
        "index": index,
        "type": "tool_call_chunk",
    }
    if custom:
        call["args"] = to_json({CUSTOM_INPUT: custom.get("input") or ""}).decode()
        call["extras"] = {"type": "custom"}
    elif not raw.keys() <= _CALL:
        call["extras"] = {name: value for name, value in raw.items() if name not in _CALL}
    return call


def decode_content(content: Any) -> Content:
    """Return the content of a message, or of a piece of one.

    Raises:
        TypeError: it is neither a text nor a list of texts and parts.
    """
    if content.__class__ is str or content is None:
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, str | dict) for part in content):
        raise TypeError("content is neither a text nor a list of parts")
    return content


def _arguments(arguments: Any) -> str | None:
    """Return arguments as the format has them, as text; some servers send the object itself."""
    return arguments if arguments is None or isinstance(arguments, str) else to_json(arguments).decode()


def shown(content: bytes) -> str:
    """Return the beginning of what cannot be read, for an error."""
    text = content[: _SHOWN * 4].decode("utf-8", "replace")
    return repr(redact(text)[:_SHOWN])
