"""What a model says, written as Anthropic's clients read it: a message, or the events of one.

Source: https://docs.anthropic.com/en/api/messages-streaming, and the types of the package ``anthropic``.
"""

from collections.abc import Mapping

from pydantic_core import to_json

from hocket._runtime.clock import new_run_id
from hocket.errors import InvalidInput
from hocket.errors.hints import shorten
from hocket.messages import UsageMetadata
from hocket.messages.content import Fields
from hocket.messages.tool_calls import parse_tool_arguments
from hocket.providers.anthropic.decode import FINISHES
from hocket.providers.anthropic.error_types import get_error_type
from hocket.remote.message_parts import arguments_of
from hocket.serving.gateway.block_writer import BlockWriter, OpenBlock, make_block_face
from hocket.serving.gateway.carried_reasoning import carry_reasoning
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.gateway.messages_request import read_messages_request
from hocket.serving.refusals import Refusal

__all__ = ["MESSAGES", "write_messages_refusal"]

_STOPS: Mapping[str, str] = {reason: stop for stop, reason in reversed(FINISHES.items())}
"""Anthropic's word for each reason, the first where it has several."""


class _MessageWriter(BlockWriter):
    """Writes an answer that comes in pieces as the events of one message."""

    def _make_reply(self, request: AnswerRequest) -> Fields:
        return {
            "id": f"msg_{new_run_id().hex}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _write_usage(None),
        }

    def _begin(self) -> None:
        self._tell("message_start", {"type": "message_start", "message": self.reply})

    def _open(self, block: OpenBlock) -> None:
        empty: Mapping[str, Fields] = {
            "text": {"type": "text", "text": ""},
            "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
            "call": {"type": "tool_use", "id": block.id, "name": block.name, "input": {}},
        }
        told = {"index": block.index, "content_block": empty[block.kind]}
        self._tell("content_block_start", {"type": "content_block_start", **told})

    def _make_delta(self, block: OpenBlock) -> tuple[str, Fields]:
        deltas: Mapping[str, Fields] = {
            "text": {"type": "text_delta", "text": ""},
            "reasoning": {"type": "thinking_delta", "thinking": ""},
            "call": {"type": "input_json_delta", "partial_json": ""},
        }
        return "content_block_delta", _delta(block, deltas[block.kind])

    def _close(self, block: OpenBlock) -> None:
        text = "".join(block.pieces)
        content: list[Fields] = self.reply["content"]
        if block.kind == "text":
            content.append({"type": "text", "text": text})
        elif block.kind == "call":
            content.append({"type": "tool_use", "id": block.id, "name": block.name, "input": _read_arguments(text)})
        else:
            signature = self._sign(block)
            content.append({"type": "thinking", "thinking": text, "signature": signature})
            delta = {"type": "signature_delta", "signature": signature}
            self._tell("content_block_delta", _delta(block, delta))
        self._tell("content_block_stop", {"type": "content_block_stop", "index": block.index})

    def _sign(self, block: OpenBlock) -> str:
        """Return the signature of a thought: Anthropic's own, or what its model has to be told again."""
        provider, signature = self.facts.get("model_provider"), block.extras.get("signature")
        return signature if provider == "anthropic" and signature else carry_reasoning(provider, block.extras)

    def _finish(self, reason: str) -> None:
        own, sequence = self.facts.get("stop_reason"), self.facts.get("stop_sequence")  # of Anthropic's models
        self.reply |= {
            "stop_reason": own or _STOPS.get(reason, "end_turn"),
            "stop_sequence": sequence,
            "usage": _write_usage(self.usage),
        }
        delta = {"stop_reason": self.reply["stop_reason"], "stop_sequence": sequence}
        self._tell("message_delta", {"type": "message_delta", "delta": delta, "usage": self.reply["usage"]})
        self._tell("message_stop", {"type": "message_stop"})

    def _break(self, refusal: Refusal) -> None:
        self._tell("error", _describe(refusal))


def _delta(block: OpenBlock, delta: Fields) -> Fields:
    return {"type": "content_block_delta", "index": block.index, "delta": delta}


def _read_arguments(text: str) -> Fields:
    """Return the arguments of a call; what cannot be read, as it came."""
    try:
        return parse_tool_arguments(text) if text else {}
    except InvalidInput:
        return arguments_of({"args": text})


def _write_usage(usage: UsageMetadata | None) -> Fields:
    """Return usage in Anthropic's words: what was read from and written to the cache stands beside the input."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    details = usage.get("input_token_details") or {}
    read, written = details.get("cache_read") or 0, details.get("cache_creation") or 0
    made: Fields = {"input_tokens": usage["input_tokens"] - read - written, "output_tokens": usage["output_tokens"]}
    if "cache_read" in details or "cache_creation" in details:
        made |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return made


def _describe(refusal: Refusal) -> Fields:
    kind = get_error_type(529 if refusal.status == 503 else refusal.status)  # which is its word for overloaded
    return {"type": "error", "error": {"type": kind, "message": shorten(refusal.message)}}


def write_messages_refusal(refusal: Refusal, request_id: str) -> bytes:
    """Return an error of Anthropic's form."""
    return to_json({**_describe(refusal), "request_id": request_id})


MESSAGES = make_block_face("messages", read_messages_request, _MessageWriter)
"""Anthropic's messages."""
