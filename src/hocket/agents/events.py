"""What a streamed run of an agent tells."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, Literal, TypeVar

from hocket._runtime.stream import Producer, Stream, SyncStream
from hocket.agents.result import AgentResult
from hocket.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall, ToolMessage
from hocket.runnables.folding import OutputEvent

__all__ = ["AgentEvent", "AgentStream", "EventSink", "SyncAgentStream"]

Output = TypeVar("Output")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgentEvent(OutputEvent):
    """Something that happens in a run. In a chain, the step behind an agent gets the result that the last one has.

    Attributes:
        kind: "chunk", a piece of the model's answer; "message", its whole answer; "unreadable", a reply that could not be
            read, or does not fit, so that the model is asked again; "tool_start" and "tool_end", around each call of a
            tool; "paused", for each call that waits for a decision; "end", the last one.
        step: the number of the model's call that it belongs to, from 1; 0: of none.
        chunk: of the answer; in the text style only what the user is to see.
        message: the answer.
        reply: that could not be read.
        feedback: what the model is told of it.
        call: of the tool.
        result: of the tool, a message; at the end, of the run.
        seconds: that the call took.
    """

    kind: Literal["chunk", "message", "unreadable", "tool_start", "tool_end", "paused", "end"]
    step: int = 0
    chunk: AIMessageChunk | None = None
    message: AIMessage | None = None
    reply: AIMessage | None = None
    feedback: str | None = None
    call: ToolCall | InvalidToolCall | None = None
    result: ToolMessage | AgentResult[Any] | None = None
    seconds: float | None = None

    @property
    def output(self) -> AgentResult[Any] | None:
        """The result of the run, at its end; None before."""
        return self.result if isinstance(self.result, AgentResult) else None

    def __repr__(self) -> str:
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        return f"AgentEvent({', '.join(f'{name}={value!r}' for name, value in values if value is not None)})"


EventSink = Callable[[AgentEvent], Awaitable[None] | None]
"""Takes the events of a run; what it returns is to be awaited, unless None."""


class AgentStream(Stream[AgentEvent], Generic[Output]):
    """The events of a run, as they come. It can be left at any point: that cancels the run (see `Stream`).

    Attributes:
        result: of the run, once it has ended; None before.
    """

    def __init__(self, produce: Producer[AgentEvent]) -> None:
        super().__init__(produce)
        self.result: AgentResult[Output] | None = None

    async def __anext__(self) -> AgentEvent:
        event = await super().__anext__()
        if event.kind == "end":
            assert isinstance(event.result, AgentResult)
            self.result = event.result
        return event


class SyncAgentStream(SyncStream[AgentEvent], Generic[Output]):
    """The events of a run: the sync face of `AgentStream`.

    Attributes:
        result: of the run, once it has ended; None before.
    """

    def __init__(self, produce: Producer[AgentEvent]) -> None:
        super().__init__(produce, stepped=False)
        self.result: AgentResult[Output] | None = None

    def __next__(self) -> AgentEvent:
        event = super().__next__()
        if event.kind == "end":
            assert isinstance(event.result, AgentResult)
            self.result = event.result
        return event
