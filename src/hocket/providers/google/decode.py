"""Replies of the Gemini API, read as messages: what a whole reply and a streamed one have in common.

The parts stay as they came, so that they can go back unharmed. Text that is nothing but text is told as a string. The API
may leave out the id of a call; the one that is made for it is never told to the API.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from hocket._runtime.clock import new_run_id
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.base import Content
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import read_block
from hocket.messages.pieces import copy_containers
from hocket.outputs import ChatGeneration, ChatResult
from hocket.providers.google.content import call_in
from hocket.providers.google.service import PROVIDER
from hocket.remote.handover import make_call_id
from hocket.remote.reply import normalize_finish, read_answer
from hocket.remote.usage import count_of, make_usage

__all__ = ["decode_reply", "decode_usage", "finish_facts", "id_of_call", "name_reply", "parts_of", "reply_facts"]

_FILTERED = (
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "JAILBREAK"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_FAILED = (
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"),
    *("MALFORMED_RESPONSE", "OTHER", "NO_IMAGE", "IMAGE_OTHER"),
)
FINISHES = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    **dict.fromkeys(_FILTERED, "content_filter"),
    **dict.fromkeys(_FAILED, "error"),
}

_OWN_PLACE = frozenset(
    {"candidates", "usageMetadata", "modelVersion", "responseId", "content", "index", "finishReason"}
)
_NAMES = {"logprobsResult": "logprobs"}


def decode_reply(reply: HTTPReply, provider: str = PROVIDER, *, include_headers: bool = False) -> ChatResult:
    """Return what a whole reply says. A prompt that was blocked has an empty answer, filtered. Raises as `read_answer`."""
    return read_answer(reply, provider, _read, "answer of the Gemini API's", include_headers=include_headers)


def _read(data: FieldsView, facts: Fields) -> ChatResult:
    facts |= reply_facts(data)
    if data.get("usageMetadata"):
        facts["token_usage"] = data["usageMetadata"]
    candidates: list[Fields] = sorted(data.get("candidates") or [{}], key=lambda each: each.get("index") or 0)
    if candidates == [{}] and not data["promptFeedback"].get("blockReason"):
        raise ValueError("neither an answer, nor a reason")
    name = name_reply(data, facts)
    return ChatResult(
        generations=[_decode_candidate(each, data, facts, name, at) for at, each in enumerate(candidates)],
        llm_output={key: facts[key] for key in ("token_usage", "model_name") if key in facts},
    )


def _decode_candidate(candidate: Fields, data: FieldsView, facts: Fields, reply: str, at: int) -> ChatGeneration:
    """Return one answer. The usage is that of the whole, so only the first one reports it."""
    told = facts if at == 0 else copy_containers({key: facts[key] for key in facts if key != "token_usage"})
    name = f"{reply}-{at}" if at else reply  # answers share a reply, but no message's or call's id
    parts = parts_of(candidate)
    calls: dict[str, list[Fields]] = {"tool_call": [], "invalid_tool_call": []}
    for part in parts:
        if (raw := call_in(part)) is None:
            continue
        [block] = (cast(Fields, block) for block in read_block(part))
        call = {key: value for key, value in block.items() if key != "extras"}
        calls[block["type"]].append({**call, "id": id_of_call(raw, name, sum(map(len, calls.values())))})
    finish = finish_facts(candidate, data, called=bool(calls["tool_call"]))
    message = AIMessage(
        _shorten(parts),
        id=name if data.get("responseId") else None,
        tool_calls=cast("list[object]", calls["tool_call"]),
        invalid_tool_calls=cast("list[object]", calls["invalid_tool_call"]),
        usage_metadata=decode_usage(told.get("token_usage")),
        response_metadata={**told, **reply_facts(candidate), **finish},
    )
    return ChatGeneration(message=message, generation_info=finish)


def parts_of(candidate: FieldsView) -> list[Fields]:
    """Return the parts of an answer: none, where it was stopped before it said anything."""
    content: FieldsView = candidate.get("content") or {}
    parts: list[Fields] = content.get("parts") or []
    return parts


def name_reply(data: FieldsView, facts: FieldsView) -> str:
    """Return a name that no other reply has: the API's own, or what its headers say; some gateways leave both out."""
    return str(data.get("responseId") or facts.get("request_id") or new_run_id().hex)


def id_of_call(call: FieldsView, reply: str, number: int) -> str:
    """Return the id of a call; where the API has given none, one that is the same each time the reply is read.

    Args:
        call: as the API has it.
        reply: the name of the reply, see `name_reply`.
        number: how many calls come before it.
    """
    return str(call.get("id") or f"lc_{make_call_id(f'{reply} {number}')}")


def _shorten(parts: list[Fields]) -> Content:
    """Return content as a text, where it is nothing else."""
    is_text = all(part.keys() == {"text"} for part in parts)
    return "".join([str(part["text"]) for part in parts]) if is_text else list(parts)


def reply_facts(data: FieldsView) -> Fields:
    """Return what a reply, or one of its answers, says about itself, for ``response_metadata``.

    Its names are those that the official SDK and LangChain give them (``grounding_metadata``); what is in them is as it
    came.
    """
    facts = {_name(key): value for key, value in data.items() if key not in _OWN_PLACE and value is not None}
    model, id = data.get("modelVersion"), data.get("responseId")
    return {**({"id": id} if id else {}), **({"model_name": model} if model else {}), **facts}


def _name(key: str) -> str:
    return _NAMES.get(key) or re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()


def finish_facts(candidate: FieldsView, data: FieldsView, *, called: bool) -> dict[str, str]:
    """Return why an answer ended, in the API's word and in hocket's; nothing, where it has not ended.

    Args:
        candidate: the answer.
        data: the reply, or the event, that it is in.
        called: whether it calls tools: the API says STOP there, too.
    """
    feedback: FieldsView = data.get("promptFeedback") or {}
    if not candidate and (reason := feedback.get("blockReason")):
        return normalize_finish(reason, {reason: "content_filter"})
    return normalize_finish(candidate.get("finishReason"), FINISHES, called=called)


def decode_usage(usage: object) -> UsageMetadata | None:
    """Return the usage that a reply reports; None where it reports none.

    The API counts reasoning beside the answer, and what its own tools have read beside the prompt; hocket counts both in.
    """
    if not isinstance(usage, Mapping) or not usage:
        return None
    raw = cast(FieldsView, usage)
    into, read, out, thought = (count_of(raw.get(key)) for key in _COUNTS)
    cached = count_of(raw.get("cachedContentTokenCount"))
    return make_usage(
        (into or 0) + (read or 0),
        (out or 0) + (thought or 0),
        count_of(raw.get("totalTokenCount")),
        input_details=_detail("cache_read", cached, raw.get("promptTokensDetails")),
        output_details=_detail("reasoning", thought, raw.get("candidatesTokensDetails")),
    )


_COUNTS = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")


def _detail(name: str, count: int | None, kinds: object) -> dict[str, int]:
    """Return a part of a count, and those of it which are sound and pictures, out of the counts of each kind of content."""
    details = {} if count is None else {name: count}
    listed = cast("Sequence[FieldsView]", kinds) if isinstance(kinds, list) else ()
    for item in listed:
        kind = _KINDS.get(str(item.get("modality")))
        if kind is not None:
            details[kind] = details.get(kind, 0) + (count_of(item.get("tokenCount")) or 0)
    return details


_KINDS: Mapping[str, str] = {"AUDIO": "audio", "IMAGE": "image"}
