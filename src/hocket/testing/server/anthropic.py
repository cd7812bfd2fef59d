"""Anthropic's format: messages, token counts and the list of models, as its API reference has them."""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, cast

from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.error_types import get_error_type
from hocket.testing.server.batch_formats import AnthropicBatchFormat, BatchFormat
from hocket.testing.server.behaviours import Body
from hocket.testing.server.format import Format, ReplyEvents, WholeReply, cut_text, measure_text, read_body, write_event
from hocket.testing.server.reply_content import ReplyContent, write_arguments
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["AnthropicFormat"]

ARGUMENTS_PIECE = 8
"""Characters of a call's arguments in one event, unless the number of pieces is given."""

SIGNATURE = "c2lnbmF0dXJl"


class AnthropicFormat(Format):
    """The format of Anthropic's server.

    Args:
        models: what ``GET /v1/models`` lists, beside the script; None: such a request is part of the script too.
    """

    ping: ClassVar[bytes] = write_event({"type": "ping"}, "ping")
    batches: ClassVar[BatchFormat | None] = AnthropicBatchFormat()

    def __init__(self, models: Sequence[str] | None = ("test-model",)) -> None:
        self._models = models

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the list of models, or the count of a prompt's tokens."""
        if request.path.endswith("/messages/count_tokens"):
            return Body({"input_tokens": _count_prompt(read_body(request))}).answer(request, self)
        if self._models is None or request.method != "GET" or not request.path.endswith("/models"):
            return None
        models = [{"type": "model", "id": name, "display_name": name} for name in self._models]
        return Body({"data": models, "has_more": False}).answer(request, self)

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return a message."""
        body = read_body(request)
        blocks = list(_write_blocks(reply))
        usage = _compute_usage(body, reply)
        message = {**_write_message(request, reply), "content": blocks, "stop_reason": _end_of(reply), "usage": usage}
        return WholeReply({**message, **reply.extra}, usage["input_tokens"] + usage["output_tokens"])

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the events of a message."""
        body = read_body(request)
        usage = _compute_usage(body, reply)
        begin: Fields = {**_write_message(request, reply), "content": [], "usage": {**usage, "output_tokens": 1}}
        rounds = [_write_named("message_start", message=begin)]
        for index, block in enumerate(_write_blocks(reply)):
            rounds.extend(_cut_block(index, block, reply.pieces))
        delta = {"stop_reason": _end_of(reply), "stop_sequence": None}
        finish = _write_named("message_delta", delta=delta, usage=usage) + _write_named("message_stop")
        return ReplyEvents(rounds, finish, usage["input_tokens"], usage["output_tokens"])

    def error(self, status: int, message: str, more: FieldsView) -> Fields:
        """Return ``{"type": "error", "error": {...}}``."""
        text = message or f"The server was told to answer {status}."
        error = {"type": get_error_type(status), "message": text, **more}
        return {"type": "error", "error": error, "request_id": "req_test"}

    def error_event(self, message: str, more: FieldsView) -> bytes:
        """Return an event called ``error``."""
        return write_event(self.error(500, message or "The server had an error.", more), "error")


def _write_named(kind: str, **fields: object) -> bytes:
    return write_event({"type": kind, **fields}, kind)


def _write_message(request: ReceivedRequest, reply: ReplyContent) -> Fields:
    id, model = reply.id or f"msg_test_{request.serial}", read_body(request).get("model")
    named = {"id": id, "type": "message", "role": "assistant", "model": model}
    return {**named, "stop_reason": None, "stop_sequence": None}


def _end_of(reply: ReplyContent) -> str:
    return reply.finish_reason or ("tool_use" if reply.tool_calls else "end_turn")


def _write_blocks(reply: ReplyContent) -> Iterator[Fields]:
    """Yield the blocks of a reply: its reasoning, its text, its calls."""
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning, "signature": SIGNATURE}
    for text in reply.texts(1):
        if text or not (reply.tool_calls or reply.reasoning):
            yield {"type": "text", "text": text}
    for number, call in enumerate(reply.tool_calls, start=1):
        yield {
            "type": "tool_use",
            "id": call.get("id") or f"toolu_{number}",
            "name": call["name"],
            "input": call["args"],
        }


def _cut_block(index: int, block: Fields, pieces: int | None) -> Iterator[bytes]:
    """Yield the events of one block."""
    kind, deltas = block["type"], list[Fields]()
    match kind:
        case "tool_use":
            empty: Fields = {"input": {}}
            text = write_arguments(block["input"])
            parts = cut_text(text, pieces or math.ceil(len(text) / ARGUMENTS_PIECE))
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        case "thinking":
            empty = {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": part} for part in cut_text(block["thinking"], pieces)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case _:
            empty = {"text": ""}
            deltas = [{"type": "text_delta", "text": part} for part in cut_text(block["text"], pieces)]
    begin = _write_named("content_block_start", index=index, content_block={**block, **empty})
    end = _write_named("content_block_stop", index=index)
    events = [_write_named("content_block_delta", index=index, delta=delta) for delta in deltas]
    if not events:
        yield begin + end
        return
    events[0] = begin + events[0]
    events[-1] += end
    yield from events


def _compute_usage(body: FieldsView, reply: ReplyContent) -> dict[str, int]:
    calls = [f"{call['name']} {write_arguments(call['args'])}" for call in reply.tool_calls]
    said = measure_text(" ".join([reply.reasoning, *reply.texts(1), *calls]))
    return {"input_tokens": _count_prompt(body), "output_tokens": said, **reply.usage}


def _count_prompt(body: FieldsView) -> int:
    """Return the tokens of the texts of a prompt."""
    return sum(map(_count_content, [body.get("system"), *(turn.get("content") for turn in body.get("messages") or ())]))


def _count_content(content: object) -> int:
    if isinstance(content, str):
        return measure_text(content)
    blocks = cast("list[Fields]", content) if isinstance(content, list) else []
    return sum(measure_text(block.get("text") or "") + _count_content(block.get("content")) for block in blocks)
