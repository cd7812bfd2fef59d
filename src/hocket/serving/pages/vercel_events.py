"""A stream as Vercel's UI message stream, version 1, which ``useChat`` reads.

Source: npm ``ai`` 6, ``ui-message-stream/ui-message-chunks.ts`` and ``ui/process-ui-message-stream.ts``.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import ClassVar

from hocket.agents.approval import DecisionKind
from hocket.messages import ToolCall, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.usage import add_usage
from hocket.serving.pages.part_events import Events, ModelUsage, PartEvents, PartKind
from hocket.serving.pages.sources import CitedSource
from hocket.serving.refusals import Refusal

__all__ = ["VercelEvents"]

_REASONS: Mapping[str, str] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "content_filter": "content-filter",
    "error": "error",
}


class VercelEvents(PartEvents):
    """The events of one assistant's message."""

    headers: ClassVar[Mapping[str, str]] = {"x-vercel-ai-ui-message-stream": "v1"}
    last: ClassVar[bytes] = b"data: [DONE]\n\n"

    def begin_run(self) -> Events:
        return [{"type": "start", "messageId": self.id}]

    def begin_step(self, step: int) -> Events:
        return [{"type": "start-step"}]

    def end_step(self, step: int) -> Events:
        return [{"type": "finish-step"}]

    def begin_part(self, kind: PartKind, id: str) -> Events:
        return [{"type": f"{kind}-start", "id": id}]

    def make_delta(self, kind: PartKind, id: str) -> Fields:
        return {"type": f"{kind}-delta", "id": id, "delta": ""}

    def end_part(self, kind: PartKind, id: str) -> Events:
        return [{"type": f"{kind}-end", "id": id}]

    def begin_call(self, id: str, name: str, group: str) -> Events:
        return [{"type": "tool-input-start", "toolCallId": id, "toolName": name}]

    def add_arguments(self, id: str, text: str) -> Events:
        return [{"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": text}]

    def complete_call(self, call: ToolCall, *, is_told: bool) -> Events:
        told = {"toolCallId": call["id"], "toolName": call["name"], "input": call["args"]}
        return [{"type": "tool-input-available", **told}]

    def break_call(self, id: str, name: str, args: str, reason: str, *, is_told: bool) -> Events:
        told = {"toolCallId": id, "toolName": name, "input": args, "errorText": reason}
        return [{"type": "tool-input-error", **told}]

    def give_result(self, id: str, result: ToolMessage, decision: DecisionKind | None) -> Events:
        if decision == "reject":
            return [{"type": "tool-output-denied", "toolCallId": id}]
        if result.status == "error":
            return [{"type": "tool-output-error", "toolCallId": id, "errorText": result.text}]
        return [{"type": "tool-output-available", "toolCallId": id, "output": result.text}]

    def ask_approval(self, call: ToolCall) -> Events:
        return [{"type": "tool-approval-request", "approvalId": call["id"], "toolCallId": call["id"]}]

    def cite(self, id: str, source: CitedSource) -> Events:
        if source.url:
            return [{"type": "source-url", "sourceId": id, "url": source.url, "title": source.title}]
        told = {"sourceId": id, "mediaType": "text/plain", "title": source.title}
        return [{"type": "source-document", **told}]

    def show_object(self, data: object) -> Events:
        return [{"type": "data-object", "id": "object", "data": data}]

    def show_inner(self, id: str, data: FieldsView) -> Events:
        return [{"type": "data-agent", "id": id, "data": data}]

    def count_usage(self, usage: ModelUsage) -> Events:
        return [{"type": "message-metadata", **_describe_usage(usage)}]

    def finish_run(self, reason: str, waiting: Sequence[ToolCall], usage: ModelUsage) -> Events:
        return [{"type": "finish", "finishReason": _REASONS.get(reason, "other"), **_describe_usage(usage)}]

    def fail_run(self, refusal: Refusal, usage: ModelUsage) -> Events:
        return [{"type": "error", "errorText": refusal.words}]

    def stop_run(self, usage: ModelUsage) -> Events:
        return [{"type": "abort", "reason": "stopped"}]


def _describe_usage(usage: ModelUsage) -> FieldsView:
    """Return the metadata of a message: the usage of all models together, in hocket's words."""
    return {"messageMetadata": {"usage": reduce(add_usage, usage.values())}} if usage else {}
