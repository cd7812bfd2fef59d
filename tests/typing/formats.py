"""A provider's format as its author writes it for the exam's server, for type checkers only: see `snippets.py`."""

# pyright: strict

from collections.abc import Mapping
from typing import Any

from hocket.language_models import BaseChatModel, ScriptedChatModel
from hocket.testing import RemoteChatModelConformance
from hocket.testing.server import (
    Format,
    ReceivedRequest,
    ReplyContent,
    ReplyEvents,
    VectorContent,
    WholeReply,
    WireAnswer,
    cut_text,
    measure_text,
    read_body,
    write_event,
)


class ParlourFormat(Format):
    """That of ``docs/writing-a-provider.md``."""

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        [text] = reply.texts(1)
        return WholeReply({"text": text, "words": measure_text(text), "why": reply.finish_reason or "done"})

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        [text] = reply.texts(1)
        pieces = [write_event({"text": piece}) for piece in cut_text(text, reply.pieces)]
        return ReplyEvents(pieces, write_event({"why": reply.finish_reason or "done"}))


class TestParlour(RemoteChatModelConformance):
    """Its exam."""

    format = ParlourFormat()
    has_tools = has_key = False
    length_word = "too long"

    def make(self, server_url: str) -> BaseChatModel:
        return ScriptedChatModel(script=[server_url, self.api_key])


class WholeFormat(ParlourFormat):
    """One that says all that a format may say."""

    prefix = "/v1"
    ping = b""

    def wants_stream(self, request: ReceivedRequest) -> bool:
        return request.path.endswith(":stream") or bool(request.json["stream"])

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        return WireAnswer(steps=[b'{"models": []}']) if request.path.endswith("/models") else None

    def vectors(self, request: ReceivedRequest, vectors: VectorContent) -> WholeReply:
        texts: list[str] = read_body(request)["texts"]
        return WholeReply({"vectors": vectors.for_texts(texts)}, sum(map(measure_text, texts)))

    def error(self, status: int, message: str, more: Mapping[str, Any]) -> dict[str, object]:
        return {"fault": message, "status": status, **more}

    def error_event(self, message: str, more: Mapping[str, Any]) -> bytes:
        return write_event(self.error(500, message, more), "fault")
