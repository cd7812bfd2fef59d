"""Cohere's format, version 2: chat, embeddings and the list of models, as its API reference has them."""

import math
from collections.abc import Iterator, Sequence
from typing import cast

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.testing.server.behaviours import Body
from hocket.testing.server.format import Format, ReplyEvents, WholeReply, cut_text, measure_text, read_body, write_event
from hocket.testing.server.reply_content import ReplyContent, VectorContent, write_arguments
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["CohereFormat"]

ARGUMENTS_PIECE = 8
"""Characters of a call's arguments in one event, unless the number of pieces is given."""


class CohereFormat(Format):
    """The format of Cohere's server.

    Args:
        models: what ``GET /v1/models`` lists, beside the script; None: such a request is part of the script too.
    """

    def __init__(self, models: Sequence[str] | None = ("test-model",)) -> None:
        self._models = models

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the list of models."""
        if self._models is None or request.method != "GET" or not request.path.endswith("/models"):
            return None
        return Body({"models": [{"name": name, "endpoints": ["chat"]} for name in self._models]}).answer(request, self)

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return an answer."""
        usage = _compute_usage(request, reply)
        message: Fields = {"role": "assistant", "content": list(_write_parts(reply))}
        if reply.tool_calls:
            message["tool_calls"] = _write_calls(reply)
        answer = {"id": _name(request, reply), "finish_reason": _end_of(reply), "message": {**message, **reply.extra}}
        return WholeReply({**answer, "usage": usage}, sum(usage["tokens"].values()))

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the events of an answer."""
        usage = _compute_usage(request, reply)
        begin: Fields = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        id = _name(request, reply)
        rounds = [_write_named("message-start", id=id, delta={"message": begin | dict(reply.extra)})]
        for index, part in enumerate(_write_parts(reply)):
            kind = part["type"]
            rounds.append(_write_delta("content-start", index, "content", {**part, kind: ""}))
            pieces = cut_text(part[kind], reply.pieces)
            rounds += [_write_delta("content-delta", index, "content", {kind: piece}) for piece in pieces]
            rounds.append(_write_named("content-end", index=index))
        for index, call in enumerate(_write_calls(reply)):
            rounds.extend(_cut_call(index, call, reply.pieces))
        finish = _write_named("message-end", id=id, delta={"finish_reason": _end_of(reply), "usage": usage})
        tokens = usage["tokens"]
        return ReplyEvents(rounds, finish, tokens["input_tokens"], tokens["output_tokens"])

    def vectors(self, request: ReceivedRequest, vectors: VectorContent) -> WholeReply:
        """Return the embeddings of ``texts``."""
        body = read_body(request)
        if "texts" not in body:
            raise InvalidInput(f"the script has Vectors here, but this is no request for embeddings: {request.path}")
        texts: list[str] = body["texts"]
        tokens = sum(map(measure_text, texts))
        values = vectors.for_texts(texts, body.get("output_dimension"))
        meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": tokens}}
        return WholeReply({"id": "cohere-test", "embeddings": {"float": values}, "texts": texts, "meta": meta}, tokens)

    def error(self, status: int, message: str, more: FieldsView) -> Fields:
        """Return ``{"id": ..., "message": ...}``."""
        return {"id": "cohere-test", "message": message or f"The server was told to answer {status}.", **more}

    def error_event(self, message: str, more: FieldsView) -> bytes:
        """Return an end that says that the answer has failed."""
        delta = {"finish_reason": "ERROR", "error": message or "The server had an error.", "usage": None, **more}
        return _write_named("message-end", id="cohere-test", delta=delta)


def _write_named(kind: str, **fields: object) -> bytes:
    return write_event({"type": kind, **fields}, kind)


def _write_delta(kind: str, index: int, name: str, value: FieldsView) -> bytes:
    return _write_named(kind, index=index, delta={"message": {name: value}})


def _end_of(reply: ReplyContent) -> str:
    return reply.finish_reason or ("TOOL_CALL" if reply.tool_calls else "COMPLETE")


def _write_parts(reply: ReplyContent) -> Iterator[Fields]:
    """Yield the parts of a reply's content: its reasoning, its text."""
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning}
    for text in reply.texts(1):
        if text:
            yield {"type": "text", "text": text}


def _write_calls(reply: ReplyContent) -> list[Fields]:
    return [
        {
            "id": call.get("id") or f"{call['name']}_{number}",
            "type": "function",
            "function": {"name": call["name"], "arguments": write_arguments(call["args"])},
        }
        for number, call in enumerate(reply.tool_calls, start=1)
    ]


def _cut_call(index: int, call: Fields, pieces: int | None) -> Iterator[bytes]:
    """Yield the events of one call."""
    function: Fields = call["function"]
    yield _write_delta("tool-call-start", index, "tool_calls", {**call, "function": {**function, "arguments": ""}})
    text = function["arguments"]
    for piece in cut_text(text, pieces or math.ceil(len(text) / ARGUMENTS_PIECE)):
        yield _write_delta("tool-call-delta", index, "tool_calls", {"function": {"arguments": piece}})
    yield _write_named("tool-call-end", index=index)


def _name(request: ReceivedRequest, reply: ReplyContent) -> str:
    return reply.id or f"cohere-test-{request.serial}"


def _compute_usage(request: ReceivedRequest, reply: ReplyContent) -> Fields:
    """Return the usage; what the script says of it goes over the tokens."""
    read = sum(_count_content(message.get("content")) for message in read_body(request).get("messages") or ())
    calls = [f"{call['function']['name']} {call['function']['arguments']}" for call in _write_calls(reply)]
    said = measure_text(" ".join([reply.reasoning, *reply.texts(1), *calls]))
    tokens = {"input_tokens": read, "output_tokens": said, **reply.usage}
    return {"billed_units": tokens, "tokens": tokens}


def _count_content(content: object) -> int:
    """Return the tokens of the texts of a message."""
    if isinstance(content, str):
        return measure_text(content)
    parts = cast("list[Fields]", content or [])
    return sum(measure_text(part.get("text") or "") for part in parts)
