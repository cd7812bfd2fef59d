"""hocket's own events of a stream, and what they tell of each kind of item."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from pydantic_core import to_jsonable_python

from hocket.agents.events import AgentEvent, ChunkEvent
from hocket.errors import InvalidInput
from hocket.messages import AIMessageChunk, BaseMessage
from hocket.messages.content import Fields
from hocket.serving.message_parts import encode_json, find_plain_text, join_reasoning, list_blocks
from hocket.serving.page_writer import PageWriter
from hocket.serving.refusals import explain_failure

__all__ = ["HocketWriter", "OutgoingEvent", "as_data", "describe_inner", "describe_item"]


class OutgoingEvent(NamedTuple):
    """One event.

    Attributes:
        data: a text, which is sent as it is; anything else as JSON.
        event: its type, by which a browser's ``addEventListener`` hears it; "": "message".
        id: sent back by a browser that connects again (``Last-Event-ID``).
    """

    data: object
    event: str = ""
    id: str = ""

    def write(self) -> bytes:
        """Return the event as it is sent.

        Raises:
            InvalidInput: its type or its id has a line break, which would end it.
        """
        lines: list[bytes] = []
        for name, value in (("event", self.event), ("id", self.id)):
            if len(value.splitlines()) > 1 or "\0" in value or value.strip("\r\n") != value:
                raise InvalidInput(f"the {name} of an event is {value!r}; it is one line")
            if value:
                lines.append(f"{name}: {value}".encode(errors="replace"))
        data = self.data.encode(errors="replace") if isinstance(self.data, str) else encode_json(self.data)
        pieces = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        return b"\n".join((*lines, *(b"data: " + piece for piece in pieces), b"\n"))


def describe_item(item: object) -> object:
    """Return what `sse` sends of an item: what a page wants to show.

    - a text, or a piece of an answer, as ``{"text": …}``, with ``reasoning``, ``tool_calls`` (pieces) and ``usage``, where
      there are any;
    - what an agent does: pieces of its answer as above; ``event: tool_start``, ``tool_end`` and ``paused``, with ``id``,
      ``tool``, ``args``, and at the end ``result``, ``seconds`` and a person's ``decision``; at last ``event: result`` with
      ``output`` and ``stop``;
    - anything else as JSON.

    Returns:
        what is sent; None: nothing.
    """
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, BaseMessage):
        return _describe_message(item) or None
    if isinstance(item, AgentEvent):
        return _describe_step(item)
    return item if isinstance(item, OutgoingEvent) else as_data(item)


def _describe_message(message: BaseMessage) -> Fields:
    told: Fields = {"text": message.text} if message.text else {}
    if reasoning := join_reasoning(list_blocks(message)):
        told["reasoning"] = reasoning
    for name, field in (("tool_calls", "tool_call_chunks"), ("usage", "usage_metadata")):
        if value := getattr(message, field, None):
            told[name] = value
    return told


def _describe_step(event: AgentEvent) -> object:
    if event.kind == "chunk":
        return _describe_message(event.chunk) or None
    if event.kind == "end":
        return OutgoingEvent({"output": as_data(event.result.output), "stop": event.result.stop}, "result")
    if event.kind == "message" or event.kind == "unreadable":
        return None  # the pieces have told of it
    told: Fields = {"id": event.call["id"], "tool": event.call["name"], "args": event.call["args"]}
    if event.kind == "tool_end":
        told |= {"result": event.result.text, "seconds": event.seconds}
        if event.decision is not None:
            told["decision"] = event.decision
    return OutgoingEvent(told, event.kind)


def describe_inner(event: AgentEvent) -> Fields | None:
    """Return what a page is told of an agent inside a run; None: nothing, for the whole answer follows its pieces."""
    if event.kind == "chunk" or event.kind == "unreadable":
        return None
    told = {"text": event.message.text} if event.kind == "message" else cast(OutgoingEvent, _describe_step(event)).data
    return {"agent": event.agent, "path": [*event.path], "kind": event.kind, "step": event.step, **cast(Fields, told)}


def as_data(value: object) -> object:
    """Return any value as JSON has it."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="null")


class HocketWriter(PageWriter):
    """Writes hocket's own events.

    Args:
        encode: what is sent of an item, see `sse`.
    """

    def __init__(self, encode: Callable[[object], object] | None = None) -> None:
        self.headers: Mapping[str, str] = {}
        self._encode = encode or describe_item
        self._is_over = False

    def write(self, item: object) -> bytes:
        if self._is_over:
            return b""
        if self._encode is describe_item:  # most items are a text and no more
            piece = item.chunk if type(item) is ChunkEvent else item
            if type(piece) is AIMessageChunk and (text := find_plain_text(piece)):
                return b'data: {"text":' + encode_json(text) + b"}\n\n"
        told = self._encode(item)
        if told is None:
            return b""
        return (told if isinstance(told, OutgoingEvent) else OutgoingEvent(told)).write()

    def end(self) -> bytes:
        return self._end(OutgoingEvent({}, "end"))

    def fail(self, error: Exception) -> bytes:
        return self._end(OutgoingEvent(explain_failure(error).body_for_page().decode(), "error"))

    def stop(self) -> bytes:
        return self._end(OutgoingEvent({}, "stopped"))

    def _end(self, event: OutgoingEvent) -> bytes:
        if self._is_over:
            return b""
        self._is_over = True
        return event.write()
