"""A provider for Lantern, a made-up service that speaks JSON lines.

It takes ``{"model", "lines": [{"by", "text"}], "heat", "live"}``, with the key in ``x-lantern-key``, and answers with
``{"text", "used": {"in", "out"}, "end"}``, or, live, with a line ``{"text"}`` for each piece and a last one with the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from hocket.errors import Unsupported
from hocket.http import JSONLines
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, UsageMetadata
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.remote import (
    Endpoint,
    RemoteChatModel,
    StreamDecoder,
    count_of,
    make_usage,
    normalize_finish,
    read_reply,
)

SPEAKERS = {"system": "house", "human": "guest", "ai": "host"}
ENDS = {"done": "stop", "full": "length"}


def encode(messages: Sequence[BaseMessage]) -> list[dict[str, str]]:
    """Write messages as Lantern's lines."""
    for message in messages:
        if message.type not in SPEAKERS or not isinstance(message.content, str):
            raise Unsupported(f"Lantern takes texts of a system, a human or a model; this is {message!r}")
    return [{"by": SPEAKERS[message.type], "text": message.text} for message in messages]


def read_usage(data: Mapping[str, Any]) -> UsageMetadata | None:
    used = data.get("used")
    return None if used is None else make_usage(count_of(used["in"]), count_of(used["out"]))


def decode(data: Any) -> ChatResult:
    """Read a whole answer."""
    facts = {"model_provider": "lantern", **normalize_finish(data["end"], ENDS)}
    message = AIMessage(data["text"], usage_metadata=read_usage(data), response_metadata=facts)
    return ChatResult(generations=[ChatGeneration(message=message)])


class LanternDecoder(StreamDecoder[ChatGenerationChunk]):
    """Reads one live answer. It is fed bytes as they come, and knows nothing of connections."""

    framing = JSONLines

    def read(self, data: Any, event: str) -> ChatGenerationChunk:
        facts = normalize_finish(data.get("end"), ENDS)
        self.done = self.ended = bool(facts)
        message = AIMessageChunk(content=data.get("text", ""), usage_metadata=read_usage(data), response_metadata=facts)
        return ChatGenerationChunk(message=message)


class LanternOptions(BaseModel):
    """What a user may say when a model is made, when it is bound, and with a call.

    Args:
        model: its name with Lantern.
        heat: how varied the answers are, from 0 to 1.
    """

    model: str = Field(min_length=1)
    heat: float | None = Field(default=None, ge=0, le=1)


class ChatLantern(LanternOptions, RemoteChatModel):
    """A model of Lantern's."""

    _options: ClassVar = LanternOptions
    _endpoint: ClassVar = Endpoint(
        name="lantern",
        base_url="https://lantern.example/v1",
        key_variables=("LANTERN_API_KEY",),
        key_header="x-lantern-key",
    )

    def _request(self, messages: Sequence[BaseMessage], options: LanternOptions, *, stream: bool) -> HTTPRequest:
        body: dict[str, Any] = {"model": options.model, "lines": encode(messages), "live": stream}
        if options.heat is not None:
            body["heat"] = options.heat
        return self._post(self._url("talk"), body)

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return read_reply(reply, "lantern", decode, "answer of Lantern's")

    def _decoder(self, headers: Mapping[str, str]) -> LanternDecoder:
        return LanternDecoder("lantern", headers)

    @property
    def _llm_type(self) -> str:
        return "lantern"
