"""Any stream as server-sent events, for a page or a program of one's own: `sse`."""

from collections.abc import AsyncIterable, Callable
from typing import Generic, NamedTuple, TypeVar

from pydantic_core import to_jsonable_python

from hocket.agents.events import AgentEvent
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.serving.event_body import PING_SECONDS, EventBody
from hocket.serving.openai_reply import encode_json
from hocket.serving.refusals import explain_failure

__all__ = ["OutgoingEvent", "describe_item", "sse"]

T = TypeVar("T")


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


def sse(
    stream: AsyncIterable[T],
    *,
    encode: Callable[[T], object] | None = None,
    ping: float | None = PING_SECONDS,
) -> EventBody[T]:
    """Return the body of a reply that tells a stream as it comes, for a ``StreamingResponse`` or the like.

        return StreamingResponse(sse(model.astream(question)), headers=SSE_HEADERS)

    Each item is an event. After the last one comes ``event: end``, so that a client knows an answer that is whole from one
    that broke off; where the stream fails, ``event: error`` comes instead, with ``{"error": {"message", "type", "code",
    …}}``, and ``retry_after`` in seconds where that is known. Its words are hocket's, for anybody to read: what the model's
    server or the program said is in the log, of the logger "hocket.serving". In silence a comment is sent.

    A client that leaves closes the stream, as its consumer would: handlers hear ``on_llm_end`` with ``closed=True``, what a
    `Conversation` was told is kept, and nobody hears of a failure. So pass the stream itself; of a generator around one
    nobody can tell whether it was left or cancelled.

    Args:
        stream: what an ``astream`` returns, of a model, a chain, a conversation or an agent; or any async iterable.
        encode: what is sent of an item: a `OutgoingEvent`, a text, or anything that JSON has; None: nothing. By default
            `describe_item`.
        ping: seconds of silence after which a comment is sent; None: never.

    Raises:
        InvalidInput: ``stream`` is no async iterable, or ``ping`` no number above 0.

    Examples:
        >>> import asyncio
        >>> from hocket import FakeListChatModel
        >>> from hocket.serving import sse
        >>> async def main():
        ...     async for event in sse(FakeListChatModel(responses=["H"]).astream("Hi")):
        ...         print(event.decode().strip())
        >>> asyncio.run(main())
        data: {"text":"H"}
        event: end
        data: {}
    """
    return EventBody(stream, _EventWriter(encode or describe_item), ping)


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
    return item if isinstance(item, OutgoingEvent) else _as_data(item)


def _describe_message(message: BaseMessage) -> Fields:
    told: Fields = {"text": message.text} if message.text else {}
    if not isinstance(message.content, str) or message.additional_kwargs:
        blocks = message.content_blocks
        if reasoning := "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning"):
            told["reasoning"] = reasoning
    for name, field in (("tool_calls", "tool_call_chunks"), ("usage", "usage_metadata")):
        if value := getattr(message, field, None):
            told[name] = value
    return told


def _describe_step(event: AgentEvent) -> object:
    if event.kind == "chunk":
        return _describe_message(event.chunk) or None
    if event.kind == "end":
        return OutgoingEvent({"output": _as_data(event.result.output), "stop": event.result.stop}, "result")
    if event.kind == "message" or event.kind == "unreadable":
        return None  # the pieces have told of it
    told: Fields = {"id": event.call["id"], "tool": event.call["name"], "args": event.call["args"]}
    if event.kind == "tool_end":
        told |= {"result": event.result.text, "seconds": event.seconds}
        if event.decision is not None:
            told["decision"] = event.decision
    return OutgoingEvent(told, event.kind)


def _as_data(value: object) -> object:
    return to_jsonable_python(value, fallback=str, inf_nan_mode="null")


class _EventWriter(Generic[T]):
    """Writes the items of one stream, and how it ended."""

    def __init__(self, encode: Callable[[T], object]) -> None:
        self._encode = encode

    def write(self, item: T) -> bytes:
        told = self._encode(item)
        if told is None:
            return b""
        return (told if isinstance(told, OutgoingEvent) else OutgoingEvent(told)).write()

    def end(self) -> bytes:
        return OutgoingEvent({}, "end").write()

    def fail(self, error: Exception) -> bytes:
        return OutgoingEvent(explain_failure(error).body_for_page().decode(), "error").write()
