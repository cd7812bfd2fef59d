"""What handlers hear of agents, chains, tools and retrievers, as spans and metrics."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from opentelemetry.trace import SpanKind, Status, StatusCode

from hocket.callbacks import BaseCallbackHandler
from hocket.callbacks.handler_mixins import Serialized
from hocket.callbacks.run_facts import AGENT_NAME
from hocket.messages import BaseMessage, ToolMessage
from hocket.tracing import conventions as names
from hocket.tracing.instruments import Attributes, describe_usage
from hocket.tracing.requests import find_conversation, find_metadata, find_parent
from hocket.tracing.spans import OpenRun, Start
from hocket.tracing.telemetry import Telemetry

__all__ = ["StepSpans"]

_TOOL_ERROR = "tool_error"  # `hocket.tools.result_messages.ERROR_KIND`, of a room above


class StepSpans(BaseCallbackHandler):
    """The half of `OpenTelemetryHandler` that hears of what calls models, and is called by them."""

    _telemetry: Telemetry

    # -- agents and chains

    def on_chain_start(self, serialized: Serialized, inputs: object, *, run_id: UUID, **kwargs: object) -> None:
        """Start the span of an agent, or of a chain."""
        about = find_metadata(kwargs)
        agent = about.get(AGENT_NAME)
        operation = names.INVOKE_WORKFLOW if agent is None else names.INVOKE_AGENT
        name = str(agent or _name(serialized, kwargs, "chain"))
        attributes: Attributes = {
            names.OPERATION_NAME: operation,
            names.WORKFLOW_NAME if agent is None else names.AGENT_NAME: name,
            **find_conversation(about),
        }
        common: Attributes = {} if agent is None else {key: attributes[key] for key in _AGENT}
        run = self._telemetry.runs.open(run_id, find_parent(kwargs), Start(f"{operation} {name}", attributes, common))
        if self._telemetry.capture.in_spans:
            run.content[names.INPUT_MESSAGES] = self._write(inputs, "user")

    def on_chain_end(
        self, outputs: object, *, run_id: UUID, closed: bool = False, inputs: object = None, **kwargs: object
    ) -> None:
        """End the span of an agent, or of a chain."""
        run = self._telemetry.runs.close(run_id)
        if run is None:
            return
        if self._telemetry.capture.in_spans:
            if inputs is not None:  # of a stream: known at its end alone
                run.content[names.INPUT_MESSAGES] = self._write(inputs, "user")
            is_agent = run.operation == names.INVOKE_AGENT
            answers = self._write(getattr(outputs, "output", outputs) if is_agent else outputs, "assistant")
            reason = _FINISHES.get(str(getattr(outputs, "stop", "")), "stop")
            write_reason = self._telemetry.writer.write_reason
            run.content[names.OUTPUT_MESSAGES] = [write_reason(one, reason) for one in answers] if is_agent else answers
        self._end_chain(run, {names.CLOSED: True} if closed else {})

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """End the span of an agent, or of a chain, that has failed."""
        run = self._telemetry.runs.close(run_id)
        if run is not None:
            run.fail(error, self._telemetry.show_error(error))
            self._end_chain(run, {})

    def on_custom_event(self, name: str, data: object, *, run_id: UUID, **kwargs: object) -> None:
        """Tell the span of an agent that a request did not begin as the one before it."""
        run = self._telemetry.runs.get(run_id) if name == names.PREFIX_BREAK_EVENT else None
        if run is not None and isinstance(data, Mapping):
            facts = {f"{name}.{key}": value for key, value in cast("Mapping[str, str | int]", data).items()}
            if not self._telemetry.capture.in_spans:  # it quotes the prompt
                facts.pop(f"{name}.detail", None)
            run.span.add_event(name, facts)

    def _end_chain(self, run: OpenRun, facts: Attributes) -> None:
        if run.operation == names.INVOKE_AGENT:
            self._telemetry.instruments.agent_duration.record(run.seconds, run.common)
            facts = facts | (describe_usage(run.usage) if run.usage else {})
        self._telemetry.finish(run, facts)

    def _write(self, value: object, role: str) -> list[dict[str, object]]:
        """Return an input or an output as messages."""
        writer = self._telemetry.writer
        several = [value] if isinstance(value, BaseMessage) else value
        if isinstance(several, list | tuple) and several:
            messages = cast("Sequence[object]", several)
            if all(isinstance(one, BaseMessage) for one in messages):
                return [writer.write_message(cast(BaseMessage, one)) for one in messages]
        return [writer.write_text(value, role)]

    # -- tools

    def on_tool_start(
        self,
        serialized: Serialized,
        input_str: str,
        *,
        run_id: UUID,
        inputs: Mapping[str, Any] | None = None,
        **kwargs: object,
    ) -> None:
        """Start the span of a tool."""
        name = str((serialized or {}).get("name") or kwargs.get("name") or "tool")
        common: Attributes = {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL_NAME: name}
        attributes: Attributes = {**common, names.TOOL_TYPE: "function"}
        for key, value in (
            (names.TOOL_DESCRIPTION, (serialized or {}).get("description")),
            (names.TOOL_CALL_ID, kwargs.get("tool_call_id")),
        ):
            if isinstance(value, str) and value:
                attributes[key] = value
        run = self._telemetry.runs.open(
            run_id, find_parent(kwargs), Start(f"{names.EXECUTE_TOOL} {name}", attributes, common)
        )
        if self._telemetry.capture.in_spans:
            given = input_str if inputs is None else inputs
            run.content[names.TOOL_CALL_ARGUMENTS] = self._telemetry.writer.write_value(given, names.TOOL_ARGUMENTS)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        """End the span of a tool. A failure that it answers with a message is one here, too."""
        run = self._telemetry.runs.close(run_id)
        if run is None:
            return
        if isinstance(output, ToolMessage) and output.status == "error":
            kind = str(output.response_metadata.get(_TOOL_ERROR) or "failed")
            run.common = {**run.common, names.ERROR_TYPE: kind}
            run.span.set_attribute(names.ERROR_TYPE, kind)
            run.span.set_status(Status(StatusCode.ERROR, kind))
        if self._telemetry.capture.in_spans:
            result = output.content if isinstance(output, BaseMessage) else output
            run.content[names.TOOL_CALL_RESULT] = self._telemetry.writer.write_value(result, names.TOOL_RESULT)
        self._end_tool(run)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """End the span of a tool that has failed."""
        run = self._telemetry.runs.close(run_id)
        if run is not None:
            run.fail(error, self._telemetry.show_error(error))
            self._end_tool(run)

    def _end_tool(self, run: OpenRun) -> None:
        self._telemetry.instruments.tool_duration.record(run.seconds, run.common)
        self._telemetry.finish(run, {})

    # -- retrievers

    def on_retriever_start(self, serialized: Serialized, query: str, *, run_id: UUID, **kwargs: object) -> None:
        """Start the span of a retriever."""
        name = _name(serialized, kwargs, "retriever")
        attributes: Attributes = {names.OPERATION_NAME: names.RETRIEVAL, names.DATA_SOURCE_ID: name}
        start = Start(f"{names.RETRIEVAL} {name}", attributes, {}, SpanKind.CLIENT)
        run = self._telemetry.runs.open(run_id, find_parent(kwargs), start)
        if self._telemetry.capture.in_spans:
            run.content[names.RETRIEVAL_QUERY] = self._telemetry.writer.write_value(query, "text")

    def on_retriever_end(self, documents: Sequence[object], *, run_id: UUID, **kwargs: object) -> None:
        """End the span of a retriever."""
        run = self._telemetry.runs.close(run_id)
        if run is None:
            return
        if self._telemetry.capture.in_spans:
            found = [_describe_document(one) for one in documents]
            run.content[names.RETRIEVAL_DOCUMENTS] = self._telemetry.writer.write_value(found, names.DOCUMENTS)
        self._telemetry.finish(run, {})

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """End the span of a retriever that has failed."""
        run = self._telemetry.runs.close(run_id)
        if run is not None:
            run.fail(error, self._telemetry.show_error(error))
            self._telemetry.finish(run, {})


_LIMITS = ("model_calls", "tool_calls", "tokens", "seconds", "loop", "budget")
_FINISHES = {"paused": "tool_call", **dict.fromkeys(_LIMITS, "length")}
"""Why a run of an agent has ended, in the conventions' words, by `hocket.agents.StopReason`; else "stop"."""

_AGENT = (names.OPERATION_NAME, names.AGENT_NAME)


def _name(serialized: Serialized | None, details: Mapping[str, object], default: str) -> str:
    return str(details.get("name") or (serialized or {}).get("name") or default)


def _describe_document(document: object) -> dict[str, object]:
    """Return a document's text and where it is from."""
    facts: Iterable[tuple[str, object]] = (
        ("id", getattr(document, "id", None)),
        ("content", getattr(document, "page_content", None) or str(document)),
        ("metadata", getattr(document, "metadata", None)),
    )
    return {key: value for key, value in facts if value}
