"""The exam of the provider, and what the exam cannot know of it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from lantern import ChatLantern

from hocket.errors import InvalidInput, Unsupported
from hocket.testing import RemoteChatModelConformance
from hocket.testing.server import Format, ReceivedRequest, ReplyContent, ReplyEvents, WholeReply, cut_text, measure_text


def write_line(data: dict[str, object]) -> bytes:
    return json.dumps(data).encode() + b"\n"


def describe_end(text: str, reply: ReplyContent) -> dict[str, object]:
    return {"used": {"in": 3, "out": measure_text(text)}, "end": reply.finish_reason or "done"}


class LanternFormat(Format):
    """How Lantern words an answer, so that the exam's server can misbehave in its words."""

    stream_type = "application/x-ndjson"
    ping = b""  # Lantern sends none

    def wants_stream(self, request: ReceivedRequest) -> bool:
        return bool(request.json.get("live"))

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        [text] = reply.texts(1)
        return WholeReply({"text": text, **describe_end(text, reply)})

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        [text] = reply.texts(1)
        pieces = [write_line({"text": piece}) for piece in cut_text(text, reply.pieces)]
        return ReplyEvents(pieces, write_line(describe_end(text, reply)))

    def error_event(self, message: str, more: Mapping[str, Any]) -> bytes:
        return write_line(self.error(500, message, more))


class TestChatLantern(RemoteChatModelConformance):
    """Some ninety tests: answers, streams cut at every byte, errors, cancellation, limits on time, threads and loops."""

    format = LanternFormat()
    length_word = "full"
    has_tools = has_stop = has_images = has_reasoning = False

    def make(self, server_url: str) -> ChatLantern:
        return ChatLantern(model="small", base_url=server_url, api_key=self.api_key)


def test_what_is_sent() -> None:
    """Its own words, and its own header."""
    request = ChatLantern(model="small", api_key="k", heat=0.5).render([("system", "Be brief."), ("human", "Hi")])
    lines = [{"by": "house", "text": "Be brief."}, {"by": "guest", "text": "Hi"}]
    assert request.json == {"model": "small", "lines": lines, "live": False, "heat": 0.5}
    assert "x-lantern-key" in request.headers and "k" not in request.headers.values()


def test_what_is_refused() -> None:
    """Before anything is sent."""
    model = ChatLantern(model="small", api_key="k")
    with pytest.raises(InvalidInput, match="heat"):
        model.render("Hi", heat=2)
    with pytest.raises(Unsupported, match="Lantern takes texts"):
        model.render([("human", [{"type": "image", "url": "https://images.example/a.png"}])])
