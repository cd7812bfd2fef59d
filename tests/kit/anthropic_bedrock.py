"""Anthropic's messages API as Bedrock has it: the model in the path, events in AWS's frames, AWS's errors."""

import base64
import json
from dataclasses import replace
from typing import Any, ClassVar

from hocket.testing import AnthropicFormat, BedrockFormat, Body, ReceivedRequest
from hocket.testing.server import write_frame
from hocket.testing.server.anthropic import _count_prompt

__all__ = ["AnthropicBedrockFormat", "frame_events"]


def frame_events(events: bytes) -> bytes:
    """Return server-sent events as chunks of AWS's stream."""
    lines = [line.removeprefix(b"data: ") for line in events.splitlines() if line.startswith(b"data: ")]
    return b"".join(write_frame({"bytes": base64.b64encode(line).decode(), "p": "abc"}, "chunk") for line in lines)


class AnthropicBedrockFormat(AnthropicFormat):
    """A format of tests only."""

    stream_type: ClassVar[str] = BedrockFormat.stream_type
    ping: ClassVar[bytes] = BedrockFormat.ping
    wants_stream = BedrockFormat.wants_stream  # type: ignore[assignment]
    error = BedrockFormat.error  # type: ignore[assignment]
    error_event = BedrockFormat.error_event  # type: ignore[assignment]

    def unscripted(self, request: ReceivedRequest) -> Any:
        if not request.path.endswith("/count-tokens"):
            return None
        body = json.loads(base64.b64decode(request.json["input"]["invokeModel"]["body"]))
        return Body({"inputTokens": _count_prompt(body)}).answer(request, self)

    def stream(self, request: ReceivedRequest, reply: Any) -> Any:
        events = super().stream(request, reply)
        return replace(events, rounds=[*map(frame_events, events.rounds)], finish=frame_events(events.finish))
