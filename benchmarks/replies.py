"""What the server answers, in each provider's format: a short reply, and the events of a stream of text.

The shapes are those that the providers send, with the fields that come with most answers. An event is an HTTP chunk of its
own, as providers send them.
"""

import json
import struct
from binascii import crc32
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CHUNKS", "REPLIES", "Replies"]

CHUNKS = 200
"""Tokens in a stream that is sent at once."""

WORD = "word "

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Replies:
    """One format's bytes, heads and HTTP chunks included.

    Args:
        whole: the reply to a request for a whole answer.
        first: the head of a stream, and its events before the first token.
        token: the event of one token.
        last: the events after the last token, and the end of the body.
    """

    whole: bytes
    first: bytes
    token: bytes
    last: bytes

    @property
    def stream(self) -> bytes:
        """A whole stream."""
        return self.first + self.token * CHUNKS + self.last


def _as_json(data: Fields) -> str:
    return json.dumps(data, separators=(",", ":"))


def _data(data: Fields) -> str:
    """Return an event without a name."""
    return f"data: {_as_json(data)}\n\n"


def _named(data: Fields) -> str:
    """Return an event whose name is its type."""
    return f"event: {data['type']}\n{_data(data)}"


def _crlf(data: Fields) -> str:
    """Return an event as Google's servers frame it."""
    return f"data: {_as_json(data)}\r\n\r\n"


def _line(data: Fields) -> str:
    return _as_json(data) + "\n"


def _frame(kind: str, data: Fields) -> bytes:
    """Return an event as AWS frames it."""
    named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    payload = _as_json(data).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return message + struct.pack(">I", crc32(message))


def _chunks(*events: str | bytes) -> bytes:
    """Return each event as an HTTP chunk."""
    contents = [event if isinstance(event, bytes) else event.encode() for event in events]
    return b"".join(b"%x\r\n%b\r\n" % (len(content), content) for content in contents)


def _replies(
    whole: Fields,
    first: Sequence[str | bytes],
    token: str | bytes,
    last: Sequence[str | bytes],
    content_type: str = "text/event-stream",
) -> Replies:
    body = _as_json(whole).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    return Replies(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body),
        head + _chunks(*first),
        _chunks(token),
        _chunks(*last) + b"0\r\n\r\n",
    )


def _openai() -> Replies:
    head = {"id": "chatcmpl-123", "created": 1700000000, "model": "m", "system_fingerprint": None}

    def event(delta: Fields, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**head, "object": "chat.completion.chunk", "choices": [choice]})

    message = {"role": "assistant", "content": "hello", "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10}
    return _replies(
        {**head, "object": "chat.completion", "choices": [choice], "usage": usage},
        [event({"role": "assistant", "content": ""})],
        event({"content": WORD}),
        [event({}, "stop"), "data: [DONE]\n\n"],
    )


_SETTINGS: Fields = {
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": False,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
    "metadata": {},
}
"""What a reply of the Responses API repeats of its request."""


def _responses() -> Replies:
    def response(status: str, output: list[Fields], usage: Fields | None) -> Fields:
        head = {"id": "resp_1", "object": "response", "created_at": 1700000000, "status": status, "model": "m"}
        return {**head, "output": output, **_SETTINGS, "usage": usage}

    def text(said: str) -> Fields:
        return {"type": "output_text", "text": said, "annotations": [], "logprobs": []}

    def item(status: str, content: list[Fields]) -> Fields:
        return {"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": content}

    def event(kind: str, **fields: object) -> str:
        return _named({"type": f"response.{kind}", "sequence_number": 4, **fields})

    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 8, "output_tokens": 2, "total_tokens": 10, **details}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    said = WORD * CHUNKS
    done = item("completed", [text(said)])
    return _replies(
        response("completed", [item("completed", [text("hello")])], usage),
        [
            event("created", response=response("in_progress", [], None)),
            event("in_progress", response=response("in_progress", [], None)),
            event("output_item.added", output_index=0, item=item("in_progress", [])),
            event("content_part.added", **place, part=text("")),
        ],
        event("output_text.delta", **place, delta=WORD, logprobs=[], obfuscation="0123456789abcdef"),
        [
            event("output_text.done", **place, text=said, logprobs=[]),
            event("content_part.done", **place, part=text(said)),
            event("output_item.done", output_index=0, item=done),
            event("completed", response=response("completed", [done], usage)),
        ],
    )


def _anthropic() -> Replies:
    usage = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2}

    def message(content: list[Fields], reason: str | None) -> Fields:
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
        counts = {**usage, "service_tier": "standard"}
        return {**head, "stop_reason": reason, "stop_sequence": None, "usage": counts}

    return _replies(
        message([{"type": "text", "text": "hello", "citations": None}], "end_turn"),
        [
            _named({"type": "message_start", "message": message([], None)}),
            _named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            _named({"type": "ping"}),
        ],
        _named({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}}),
        [
            _named({"type": "content_block_stop", "index": 0}),
            _named(
                {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}
            ),
            _named({"type": "message_stop"}),
        ],
    )


def _google() -> Replies:
    def response(text: str, finish: Fields, usage: Fields) -> Fields:
        content = {"parts": [{"text": text}], "role": "model"}
        counts = {"promptTokenCount": 8, **usage, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 8}]}
        candidate = {"content": content, **finish, "index": 0}
        return {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "m", "responseId": "r1"}

    counts = {"candidatesTokenCount": 2, "totalTokenCount": 10}
    return _replies(
        response("hello", {"finishReason": "STOP"}, counts),
        [],
        _crlf(response(WORD, {}, counts)),
        [_crlf(response("", {"finishReason": "STOP"}, counts))],
    )


def _mistral() -> Replies:
    head = {"id": "cmpl-1", "created": 1700000000, "model": "m"}

    def event(delta: Fields, finish: str | None = None, **fields: object) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**head, "object": "chat.completion.chunk", "choices": [choice], **fields})

    message = {"role": "assistant", "content": "hello", "tool_calls": None, "prefix": False}
    usage = {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return _replies(
        {**head, "object": "chat.completion", "choices": [choice], "usage": usage},
        [event({"role": "assistant", "content": ""})],
        event({"content": WORD}),
        [event({"content": ""}, "stop", usage=usage), "data: [DONE]\n\n"],
    )


def _cohere() -> Replies:
    def event(kind: str, **fields: object) -> str:
        return _named({"type": kind, **fields})

    def content(said: Fields) -> Fields:
        return {"message": {"content": said}}

    counts = {"input_tokens": 8, "output_tokens": 2}
    end = {"finish_reason": "COMPLETE", "usage": {"billed_units": counts, "tokens": counts, "cached_tokens": 0}}
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return _replies(
        {"id": "1", "message": {"role": "assistant", "content": [{"type": "text", "text": "hello"}]}, **end},
        [
            event("message-start", id="1", delta={"message": message}),
            event("content-start", index=0, delta=content({"type": "text", "text": ""})),
        ],
        event("content-delta", index=0, delta=content({"text": WORD})),
        [event("content-end", index=0), event("message-end", id="1", delta=end)],
    )


def _ollama() -> Replies:
    def line(text: str, **fields: object) -> Fields:
        message = {"role": "assistant", "content": text}
        return {"model": "m", "created_at": "2026-11-21T00:00:00.000000Z", "message": message, **fields}

    counts = {"prompt_eval_count": 8, "prompt_eval_duration": 2000000, "eval_count": 2, "eval_duration": 2000000}
    end = {"done": True, "done_reason": "stop", "total_duration": 5000000, "load_duration": 1000000, **counts}
    return _replies(
        line("hello", **end),
        [],
        _line(line(WORD, done=False)),
        [_line(line("", **end))],
        "application/x-ndjson",
    )


def _bedrock() -> Replies:
    message = {"role": "assistant", "content": [{"text": "hello"}]}
    usage = {"inputTokens": 8, "outputTokens": 2, "totalTokens": 10}
    facts = {"usage": usage, "metrics": {"latencyMs": 7}}
    return _replies(
        {"output": {"message": message}, "stopReason": "end_turn", **facts},
        [_frame("messageStart", {"role": "assistant"})],
        _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": WORD}}),
        [
            _frame("contentBlockStop", {"contentBlockIndex": 0}),
            _frame("messageStop", {"stopReason": "end_turn"}),
            _frame("metadata", facts),
        ],
        "application/vnd.amazon.eventstream",
    )


REPLIES: dict[str, Replies] = {
    "openai": _openai(),
    "responses": _responses(),
    "anthropic": _anthropic(),
    "google": _google(),
    "mistral": _mistral(),
    "cohere": _cohere(),
    "ollama": _ollama(),
    "bedrock": _bedrock(),
}
"""By the name that stands in the path."""
