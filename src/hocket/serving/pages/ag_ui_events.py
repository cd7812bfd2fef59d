"""A stream as AG-UI's events, version 1.0, which CopilotKit and other clients read.

Source: npm ``@ag-ui/core`` and ``@ag-ui/client`` 1.0, and the models of PyPI's ``ag-ui-protocol`` 1.0. Each text is a
message of its own there. Calls belong to the message before them, or else the calls of one answer to one that has no text.
The client adds arguments to those that it has of a call: those of a call that has waited are not told once more.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.agents.approval import DecisionKind
from hocket.messages import ToolCall, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.serving.message_parts import encode_json
from hocket.serving.pages.part_events import Events, ModelUsage, PartEvents, PartKind
from hocket.serving.pages.sources import CitedSource
from hocket.serving.refusals import Refusal

__all__ = ["AGUIEvents"]

_DECISION: FieldsView = {
    "type": "object",
    "properties": {
        "type": {"enum": ["approve", "edit", "reject", "respond"]},
        "args": {"type": "object", "description": "the arguments instead, of an edit"},
        "message": {"type": "string", "description": "why it is rejected, or the result, of a response"},
    },
    "required": ["type"],
}
"""What a decision looks like, as JSON schema; see `Resume`."""

_COUNTS: Mapping[str, str] = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "total_tokens": "totalTokens",
    "reasoning": "reasoningTokens",
    "cache_read": "cachedInputTokens",
    "cache_creation": "cacheWriteInputTokens",
}


class AGUIEvents(PartEvents):
    """The events of one run."""

    def begin_run(self) -> Events:
        return [{"type": "RUN_STARTED", "threadId": self.thread, "runId": self.id, "protocolVersion": "1.0"}]

    def begin_step(self, step: int) -> Events:
        return [{"type": "STEP_STARTED", "stepName": f"step {step}"}]

    def end_step(self, step: int) -> Events:
        return [{"type": "STEP_FINISHED", "stepName": f"step {step}"}]

    def begin_part(self, kind: PartKind, id: str) -> Events:
        if kind == "text":
            return [{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}]
        start = {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}
        return [{"type": "REASONING_START", "messageId": id}, start]

    def make_delta(self, kind: PartKind, id: str) -> Fields:
        name = "TEXT_MESSAGE_CONTENT" if kind == "text" else "REASONING_MESSAGE_CONTENT"
        return {"type": name, "messageId": id, "delta": ""}

    def end_part(self, kind: PartKind, id: str) -> Events:
        names = ["TEXT_MESSAGE_END"] if kind == "text" else ["REASONING_MESSAGE_END", "REASONING_END"]
        return [{"type": name, "messageId": id} for name in names]

    def begin_call(self, id: str, name: str, group: str) -> Events:
        return [{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, "parentMessageId": group}]

    def add_arguments(self, id: str, text: str) -> Events:
        return [{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": text}]

    def complete_call(self, call: ToolCall, *, is_told: bool) -> Events:
        call_id = cast(str, call["id"])
        told: Events = () if is_told else self.add_arguments(call_id, encode_json(call["args"]).decode())
        return [*told, {"type": "TOOL_CALL_END", "toolCallId": call_id}]

    def break_call(self, id: str, name: str, args: str, reason: str, *, is_told: bool) -> Events:
        told: Events = self.add_arguments(id, args) if args and not is_told else ()
        return [*told, {"type": "TOOL_CALL_END", "toolCallId": id}]

    def give_result(self, id: str, result: ToolMessage, decision: DecisionKind | None) -> Events:
        told = {"messageId": f"{self.id}-{id}", "toolCallId": id, "content": result.text, "role": "tool"}
        return [{"type": "TOOL_CALL_RESULT", **told}]

    def cite(self, id: str, source: CitedSource) -> Events:
        told = {"id": id, "title": source.title, **({"url": source.url} if source.url else {})}
        return [{"type": "CUSTOM", "name": "source", "value": told}]

    def show_object(self, data: object) -> Events:
        return [{"type": "STATE_SNAPSHOT", "snapshot": data}]

    def show_inner(self, id: str, data: FieldsView) -> Events:
        return [{"type": "CUSTOM", "name": "agent", "value": data}]

    def finish_run(self, reason: str, waiting: Sequence[ToolCall], usage: ModelUsage) -> Events:
        if waiting:
            return self._finish(
                {"type": "interrupt", "interrupts": [_describe_interrupt(one) for one in waiting]}, usage
            )
        return self._finish({"type": "success"}, usage)

    def fail_run(self, refusal: Refusal, usage: ModelUsage) -> Events:
        code = {"code": refusal.code} if refusal.code else {}
        return [{"type": "RUN_ERROR", "message": refusal.words, **code, **_describe_usage(usage)}]

    def stop_run(self, usage: ModelUsage) -> Events:
        return self._finish({"type": "cancelled"}, usage)

    def _finish(self, outcome: FieldsView, usage: ModelUsage) -> Events:
        told = {"threadId": self.thread, "runId": self.id, "outcome": outcome, **_describe_usage(usage)}
        return [{"type": "RUN_FINISHED", **told}]


def _describe_interrupt(call: ToolCall) -> FieldsView:
    text = f"{call['name']}({encode_json(call['args']).decode()})"
    told = {"id": call["id"], "reason": "tool_approval", "toolCallId": call["id"], "message": text}
    return {**told, "responseSchema": _DECISION}


def _describe_usage(usage: ModelUsage) -> FieldsView:
    """Return a list of counts, one a model; what is 0, or nobody told, is left out."""
    listed: list[FieldsView] = []
    for model, used in usage.items():
        facts: FieldsView = {**used, **used.get("input_token_details", {}), **used.get("output_token_details", {})}
        counts = {name: count for key, name in _COUNTS.items() if (count := facts.get(key))}
        listed.append({**({"model": model} if model else {}), **counts})
    return {"usage": listed} if listed else {}
