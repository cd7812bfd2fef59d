"""Ollama's format: chat, embeddings and the list of models, as its server speaks it. Nothing depends on chance or time."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic_core import from_json, to_json

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.testing.server.behaviours import Body
from hocket.testing.server.format import Format, ReplyEvents, WholeReply, cut_text, measure_text, read_body
from hocket.testing.server.reply_content import ReplyContent, VectorContent, write_arguments
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["OllamaFormat"]

CREATED = "2026-01-01T00:00:00.000000Z"
DURATIONS = {"total_duration": 5_000_000, "load_duration": 1_000_000, "eval_duration": 2_000_000}
SIZE = 5_200_000_000


class OllamaFormat(Format):
    """The format of Ollama's server: JSON lines, streamed unless the request says ``"stream": false``.

    Args:
        models: what ``GET /api/tags`` lists, beside the script; None: this request is part of the script too.
    """

    stream_type: ClassVar[str] = "application/x-ndjson"
    ping: ClassVar[bytes] = b""

    def __init__(self, models: Sequence[str] | None = ("test-model",)) -> None:
        self._models = models

    def wants_stream(self, request: ReceivedRequest) -> bool:
        """Return whether the reply is to be streamed: it is, where a request for a chat says nothing."""
        return request.path.endswith("/chat") and read_body(request).get("stream") is not False

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the list of models."""
        if self._models is None or request.method != "GET" or request.path != "/api/tags":
            return None
        models = [{"name": name, "model": name, "modified_at": CREATED, "size": SIZE} for name in self._models]
        return Body({"models": models}).answer(request, self)

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return a whole reply of the chat."""
        [text] = reply.texts(1)
        usage = _compute_usage(request, reply)
        message: Fields = {"role": "assistant", "content": text, **reply.extra}
        if reply.reasoning:
            message["thinking"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = _write_calls(reply)
        return WholeReply({**_last_line(request, reply, usage), "message": message}, sum(usage.values()))

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the lines of a reply of the chat. A call comes whole, as the server sends it."""
        [text] = reply.texts(1)
        said: list[Fields] = [
            *({"content": "", "thinking": piece} for piece in cut_text(reply.reasoning, reply.pieces)),
            *({"content": piece} for piece in cut_text(text, reply.pieces)),
            *({"content": "", "tool_calls": [call]} for call in _write_calls(reply)),
            *([{"content": "", **reply.extra}] if reply.extra else []),
        ]
        usage = _compute_usage(request, reply)
        lines = [_line({**_head(request), "message": {"role": "assistant", **one}, "done": False}) for one in said]
        last = {**_last_line(request, reply, usage), "message": {"role": "assistant", "content": ""}}
        return ReplyEvents(lines, _line(last), usage["prompt_eval_count"], usage["eval_count"])

    def vectors(self, request: ReceivedRequest, vectors: VectorContent) -> WholeReply:
        """Return the embeddings of ``input``."""
        body = read_body(request)
        if "input" not in body:
            raise InvalidInput(f"the script has Vectors here, but this is no request for embeddings: {request.path}")
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        tokens = sum(map(measure_text, texts))
        values = vectors.for_texts(texts, body.get("dimensions"))
        return WholeReply({"model": body.get("model"), "embeddings": values, "prompt_eval_count": tokens}, tokens)

    def error(self, status: int, message: str, more: FieldsView) -> object:
        """Return ``{"error": "..."}``."""
        return {**more, "error": message or f"The server was told to answer {status}."}

    def error_event(self, message: str, more: FieldsView) -> bytes:
        """Return the line of an error within a stream."""
        return _line(self.error(500, message or "model runner has unexpectedly stopped", more))


def _line(document: object) -> bytes:
    return to_json(document) + b"\n"


def _head(request: ReceivedRequest) -> Fields:
    body = read_body(request)
    if "messages" not in body:
        raise InvalidInput(f"the script has a reply here, but {request.path} takes none")
    return {"model": body.get("model"), "created_at": CREATED}


def _last_line(request: ReceivedRequest, reply: ReplyContent, usage: FieldsView) -> Fields:
    return {**_head(request), "done": True, "done_reason": reply.finish_reason or "stop", **DURATIONS, **usage}


def _write_calls(reply: ReplyContent) -> list[Fields]:
    """Return the calls; their arguments are objects, unless the script has a text that is none."""
    return [
        {
            "id": call.get("id") or f"call_{number}",
            "function": {"index": number - 1, "name": call["name"], "arguments": _read_arguments(call["args"])},
        }
        for number, call in enumerate(reply.tool_calls, start=1)
    ]


def _read_arguments(args: FieldsView | str) -> object:
    try:
        return from_json(write_arguments(args))
    except ValueError:
        return args


def _compute_usage(request: ReceivedRequest, reply: ReplyContent) -> Fields:
    prompt = sum(measure_text(message.get("content") or "") for message in read_body(request).get("messages") or ())
    calls = [f"{call['name']} {write_arguments(call['args'])}" for call in reply.tool_calls]
    said = measure_text(" ".join([reply.reasoning, *reply.texts(1), *calls]))
    return {"prompt_eval_count": prompt, "eval_count": said, **reply.usage}
