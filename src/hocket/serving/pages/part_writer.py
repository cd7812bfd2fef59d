"""A stream told as parts that open and close, as the protocols of pages have it that others have written: `PartWriter`.

A stream of hocket's has pieces: of texts, thoughts and calls, which belong together by what they are. A page's protocol has
parts with names: a delta or an end whose start was not told makes its client fail, and so does a result of a call that it
does not know. So what is open is kept here, in one place for all protocols; `PartEvents` says how each event looks.

An event is written before what is kept of it changes. Where an item cannot be written, what was written of it is told
together with the failure, and the client sees nothing that it cannot place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from hocket._pipeline.answer import CACHE_HIT
from hocket._pipeline.chat_answer import as_chunk
from hocket.agents.approval import DecisionKind
from hocket.agents.events import AgentEvent, ChunkEvent
from hocket.agents.result import AgentResult
from hocket.agents.state import is_valid
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ContentBlock,
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    ToolMessage,
    UsageMetadata,
)
from hocket.messages.content import Fields, FieldsView
from hocket.messages.folding import ToolCallFold
from hocket.messages.roles import calls_of
from hocket.messages.tool_calls import read_tool_calls
from hocket.messages.usage import add_report, add_usage, subtract_usage
from hocket.runnables.folding import AddableDict
from hocket.serving.event_body import Snapshot
from hocket.serving.hocket_events import as_data, describe_inner
from hocket.serving.message_parts import encode_json, find_plain_text, join_reasoning, list_blocks
from hocket.serving.page_writer import PageWriter
from hocket.serving.pages.part_events import Events, ModelUsage, PartEvents, PartKind
from hocket.serving.pages.sources import CitedSource, find_cited_pages, find_documents, has_only_documents
from hocket.serving.refusals import explain_failure

__all__ = ["PartWriter"]

_BROKEN = "this call was not made: its arguments broke off"
_GOOD_ENDS = ("done", "direct", "stopped")


@dataclass(slots=True)
class _ToldCall:
    """A call that the page knows.

    Attributes:
        pieces: of which it is made: another call of the same id is not it. None: it came whole.
        sent: characters of its arguments.
        is_closed: whether it was told with all of its arguments, or that they will not come.
        has_result: whether its result was told.
    """

    name: str
    pieces: object = None
    sent: int = 0
    is_closed: bool = False
    has_result: bool = False


class PartWriter(PageWriter):
    """Writes a stream as the events of a protocol."""

    def __init__(self, events: PartEvents) -> None:
        self.headers: Mapping[str, str] = events.headers
        self._events = events
        self._out: list[bytes] = []
        self._has_begun = self._is_over = False
        self._step = 0  # of an agent; 0: none goes on
        self._has_pieces = False  # whether the answer of the step comes in pieces
        self._parts = 0
        self._kind: PartKind | None = None  # of the part that is open
        self._part_id = ""
        self._before = self._after = b""  # what stands around each text of it, which is written once
        self._group = ""  # what the calls of an answer belong to: the last text of its step, if there is one
        self._calls: dict[str, _ToldCall] = {}
        self._waiting: list[ToolCall] = []
        self._sources: set[str] = set()
        self._object: object = None
        self._usage: dict[str, UsageMetadata] = {}
        self._result: AgentResult[object] | None = None
        self._reason = "stop"
        self._fold = ToolCallFold()
        self._facts: Fields = {}
        self._report: UsageMetadata | None = None

    def write(self, item: object) -> bytes:
        text = self._find_delta(item)
        if text is not None:
            return self._before + encode_json(text) + self._after if text else b""
        if self._is_over or item is None:
            return b""
        self._begin()
        if isinstance(item, AgentEvent):
            self._write_event(item)
        elif isinstance(item, str):
            self._write_text("text", item)
        elif isinstance(item, BaseMessage):
            self._write_message(item)
        elif self._write_value(item) and len(self._out) == 1:
            return Snapshot(self._take())
        return self._take()

    def end(self) -> bytes:
        if self._is_over:
            return b""
        self._begin()
        if self._result is None:  # else what came in pieces has come whole, or never will
            self._end_calls()
            self._end_reply()
        self._end_step()
        self._tell(self._events.finish_run(self._find_reason(), self._waiting, self._list_usage()))
        return self._take_last()

    def fail(self, error: Exception) -> bytes:
        if self._is_over:
            return b""
        if self._has_begun:
            self._end_step()
        self._tell(self._events.fail_run(explain_failure(error), self._list_usage()))
        return self._take_last()

    def stop(self) -> bytes:
        if self._is_over:
            return b""
        self._begin()
        self._end_step()
        self._end_reply()
        self._tell(self._events.stop_run(self._list_usage()))
        return self._take_last()

    # -- what comes in

    def _find_delta(self, item: object) -> str | None:
        """Return an item that only goes on with the text that is open, as most do; None: it is something else."""
        if self._kind != "text":
            return None
        if type(item) is ChunkEvent:
            if item.path or item.step != self._step:
                return None
            item = item.chunk
        if type(item) is AIMessageChunk:
            return find_plain_text(item)
        return item if type(item) is str else None

    def _write_event(self, event: AgentEvent) -> None:
        if event.path:
            if (told := describe_inner(event)) is not None:
                self._tell(self._events.show_inner(event.path[-1], told))
            return
        if event.kind in ("chunk", "message", "unreadable") and event.step != self._step:
            self._end_step()
            self._tell(self._events.begin_step(event.step))
            self._step, self._has_pieces = event.step, False
        if event.kind == "chunk":
            self._has_pieces = True
            self._write_message(event.chunk)
            return
        self._close_part()
        if event.kind == "message":
            if not self._has_pieces:  # of a durable run, which tells what is recorded
                self._write_text("reasoning", join_reasoning(list_blocks(event.message)))
                self._write_text("text", event.message.text)
                self._close_part()
            self._write_citations(event.message.content_blocks)  # some providers cite when all is said
            for call in calls_of(event.message):
                self._write_call(call)
            self._end_reply(event.message)
        elif event.kind == "unreadable":
            self._end_reply(event.reply)
        elif event.kind == "end":
            self._write_output(event.result)
        else:
            self._write_call(event.call, is_told=event.step == 0)  # by the run that has paused
            if event.kind == "tool_end":
                self._write_result(event.result, event.decision)
            elif event.kind == "paused":
                self._tell(self._events.ask_approval(event.call))
                self._waiting.append(event.call)

    def _write_output(self, result: AgentResult[object]) -> None:
        """Tell what nothing has told yet: results of calls that were not run, and the output."""
        self._result = result
        for message in result.new_messages:
            if isinstance(message, ToolMessage):
                self._write_result(message)
        if not isinstance(result.output, str):
            if result.output is not None:
                self._write_value(result.output)
        elif result.stop in ("direct", "stopped"):  # a tool has said it, or a hook
            self._write_text("text", result.output)

    def _write_message(self, message: BaseMessage) -> None:
        blocks = list_blocks(message)
        self._write_text("reasoning", join_reasoning(blocks))
        self._write_text("text", message.text)
        if not isinstance(message, AIMessage):
            return
        self._write_citations(blocks)
        for piece in cast(AIMessageChunk, as_chunk(message)).tool_call_chunks:
            self._write_piece(piece)
        self._facts |= message.response_metadata
        if message.usage_metadata:
            self._report = add_report(self._report, message.usage_metadata)
        if not isinstance(message, AIMessageChunk):
            self._end_calls()
            self._end_reply()

    def _write_value(self, value: object) -> bool:
        """Tell documents, or an object, which takes the place of the one before, or adds to it; whether it was one."""
        for source in find_documents(value):
            self._write_source(source)
        if has_only_documents(value):
            return False
        if isinstance(value, AddableDict) and isinstance(self._object, AddableDict):
            value = self._object + value
        self._tell(self._events.show_object(as_data(value)))
        self._object = value
        return True

    # -- texts, thoughts and sources

    def _write_text(self, kind: PartKind, text: str) -> None:
        if not text:
            return
        if self._kind != kind:
            self._close_part()
            part_id = f"{self._events.id}-{self._parts + 1}"
            self._tell(self._events.begin_part(kind, part_id))
            before, _, after = _encode(self._events.make_delta(kind, part_id)).rpartition(b'""')
            self._parts += 1
            self._kind, self._part_id, self._before, self._after = kind, part_id, before, after
            if kind == "text":
                self._group = part_id
        self._out.append(self._before + encode_json(text) + self._after)

    def _close_part(self) -> None:
        if self._kind is not None:
            self._tell(self._events.end_part(self._kind, self._part_id))
            self._kind = None

    def _write_citations(self, blocks: Iterable[ContentBlock]) -> None:
        for source in find_cited_pages(blocks):
            self._write_source(source)

    def _write_source(self, source: CitedSource) -> None:
        if source.key not in self._sources:
            self._tell(self._events.cite(f"{self._events.id}-source-{len(self._sources) + 1}", source))
            self._sources.add(source.key)

    # -- calls of tools

    def _write_piece(self, chunk: ToolCallChunk) -> None:
        """Tell a piece of a call; nothing, while it has no id: an agent gives it one, or the end of the reply."""
        self._close_part()
        pieces = self._fold.add(chunk)
        if not pieces.id or not pieces.name:
            return
        told = self._calls.get(pieces.id)
        is_new = told is None
        if told is None:
            told = self._announce(pieces.id, pieces.name, pieces)
        if told.pieces is not pieces or told.is_closed:
            return  # an earlier call has the same id, and an agent gives this one another
        # Some servers send a finished call once more, with its name.
        text = pieces.text()[told.sent :] if is_new or chunk["name"] else chunk["args"]
        if text:
            self._tell(self._events.add_arguments(pieces.id, text))
            told.sent += len(text)

    def _announce(self, call_id: str, name: str, pieces: object = None) -> _ToldCall:
        group = self._group or f"{self._events.id}-calls-{self._step}"
        self._tell(self._events.begin_call(call_id, name, group))
        self._calls[call_id] = told = _ToldCall(name, pieces)
        return told

    def _write_call(self, call: ToolCall | InvalidToolCall, *, is_told: bool = False) -> None:
        """Tell a whole call, once; ``is_told``: the page has its arguments."""
        call_id = call["id"] or ""
        told = self._calls.get(call_id) or self._announce(call_id, call["name"] or "")
        if told.is_closed:
            return
        is_told = is_told or told.sent > 0
        if is_valid(call):
            self._tell(self._events.complete_call(call, is_told=is_told))
        else:
            invalid = cast(InvalidToolCall, call)
            args = invalid["args"] if isinstance(invalid["args"], str) else ""
            reason = invalid["error"] or _BROKEN
            self._tell(self._events.break_call(call_id, told.name, args, reason, is_told=is_told))
        told.is_closed = True

    def _write_result(self, result: ToolMessage, decision: DecisionKind | None = None) -> None:
        """Tell the result of a call that the page knows, once."""
        told = self._calls.get(result.tool_call_id)
        if told is not None and told.is_closed and not told.has_result:
            self._tell(self._events.give_result(result.tool_call_id, result, decision))
            told.has_result = True

    def _end_calls(self) -> None:
        """Tell the calls of a reply of which all pieces have come, as they can be read."""
        self._close_part()
        for calls in read_tool_calls(cast("list[ToolCallChunk]", self._fold.value())):
            for call in calls:
                call["id"] = call["id"] or f"{self._events.id}-call-{len(self._calls) + 1}"
                self._write_call(call)

    def _break_calls(self) -> None:
        """Close the calls that were announced, and will not come whole."""
        for call_id, told in self._calls.items():
            if not told.is_closed:
                self._tell(self._events.break_call(call_id, told.name, "", _BROKEN, is_told=True))
                told.is_closed = True

    # -- replies, steps, and the end

    def _end_reply(self, reply: AIMessage | None = None) -> None:
        """Count what a reply took: as the message says, or, where there is none, its pieces."""
        facts: FieldsView = self._facts if reply is None else reply.response_metadata
        usage = self._report if reply is None else reply.usage_metadata
        self._break_calls()
        self._fold, self._facts, self._report = ToolCallFold(), {}, None
        self._reason = facts.get("normalized_finish_reason") or self._reason
        if usage and not facts.get(CACHE_HIT):
            name = str(facts.get("model_name") or "")
            self._usage[name] = add_usage(self._usage.get(name), usage)
            self._tell(self._events.count_usage(self._usage))

    def _list_usage(self) -> ModelUsage:
        """Return what each model has used, and under "" what those have whose replies are not in the stream."""
        if self._result is None:
            return self._usage
        rest = self._result.usage
        for usage in self._usage.values():
            rest = subtract_usage(rest, usage)
        return {**self._usage, "": add_usage(self._usage.get(""), rest)} if rest["total_tokens"] else self._usage

    def _find_reason(self) -> str:
        """Return why the stream has ended, as a model would say it."""
        if self._result is None:
            return "tool_calls" if self._calls and self._reason == "stop" else self._reason
        if self._result.stop in _GOOD_ENDS:
            return "stop" if self._reason == "tool_calls" else self._reason
        return "tool_calls" if self._result.stop == "paused" else "other"

    def _begin(self) -> None:
        if not self._has_begun:
            self._tell(self._events.begin_run())
            self._has_begun = True

    def _end_step(self) -> None:
        self._close_part()
        self._break_calls()
        if self._step:
            self._tell(self._events.end_step(self._step))
        self._step, self._group = 0, ""

    def _tell(self, events: Events) -> None:
        self._out.extend(map(_encode, events))

    def _take(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(out)

    def _take_last(self) -> bytes:
        self._is_over, self._kind = True, None
        return self._take() + self._events.last


def _encode(event: FieldsView) -> bytes:
    return b"data: " + encode_json(event) + b"\n\n"
