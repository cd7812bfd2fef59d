"""What a streamed run of an agent tells."""

from collections.abc import Awaitable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from hocket._runtime.sinks import RelaySink, Sink
from hocket._runtime.stream import Producer, Stream, SyncStream
from hocket.agents.approval import DecisionKind
from hocket.agents.result import AgentResult
from hocket.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall, ToolMessage
from hocket.runnables.folding import OutputEvent

__all__ = [
    "AgentEvent",
    "AgentStream",
    "Backlog",
    "ChunkEvent",
    "EndEvent",
    "MessageEvent",
    "PausedEvent",
    "SubagentEvents",
    "SyncAgentStream",
    "ToolEndEvent",
    "ToolStartEvent",
    "UnreadableEvent",
]

Output = TypeVar("Output")


_FIELDS = frozenset({"chunk", "message", "reply", "feedback", "call", "result", "seconds", "decision"})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Event(OutputEvent):
    """What all events have.

    Attributes:
        agent: the name of the agent inside the run whose event it is; None: it is the run's own.
        path: the ids of the calls that this agent runs in, the outermost first.
    """

    step: int = 0
    agent: str | None = None
    path: tuple[str, ...] = ()

    @property
    def output(self) -> AgentResult[Any] | None:
        """The result of the run, at its end; None before."""
        return None

    def __repr__(self) -> str:
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        shown = (f"{name}={value!r}" for name, value in values if value or name not in ("agent", "path"))
        return f"{type(self).__name__}({', '.join(shown)})"

    if not TYPE_CHECKING:  # whose checkers know the kinds

        def __getattr__(self, name: str) -> None:
            """Return None for a field of another kind: programs may ask for that, and not for the kind."""
            if name in _FIELDS:
                return
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChunkEvent(_Event):
    """A piece of the model's answer has come.

    Attributes:
        step: the number of the model's call, from 1.
        chunk: the piece; in the text style only what the user is to see.
    """

    kind: Literal["chunk"] = "chunk"
    chunk: AIMessageChunk


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MessageEvent(_Event):
    """An answer of the model is whole, and stored.

    Attributes:
        step: the number of the model's call, from 1.
        message: the answer.
    """

    kind: Literal["message"] = "message"
    message: AIMessage


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UnreadableEvent(_Event):
    """A reply could not be read, or does not fit: the model is asked again.

    Attributes:
        step: the number of the model's call, from 1.
        reply: that could not be read.
        feedback: what the model is told of it.
    """

    kind: Literal["unreadable"] = "unreadable"
    reply: AIMessage
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolStartEvent(_Event):
    """A call of a tool begins.

    Attributes:
        step: the number of the model's call that made it, from 1; 0: that was before the run was resumed.
        call: of the tool.
    """

    kind: Literal["tool_start"] = "tool_start"
    call: ToolCall | InvalidToolCall


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolEndEvent(_Event):
    """A call of a tool has its result. One that a person rejected or answered was not run, and has no `ToolStartEvent`.

    Attributes:
        step: the number of the model's call that made it, from 1; 0: that was before the run was resumed.
        call: of the tool.
        result: as it is stored.
        seconds: that the call took.
        decision: of the person who was asked; None: nobody was.
    """

    kind: Literal["tool_end"] = "tool_end"
    call: ToolCall | InvalidToolCall
    result: ToolMessage
    seconds: float
    decision: DecisionKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PausedEvent(_Event):
    """A call waits for a decision: the run is about to end.

    Attributes:
        step: the number of the model's call that made it, from 1; 0: that was before the run was resumed.
        call: of the tool.
    """

    kind: Literal["paused"] = "paused"
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EndEvent(_Event):
    """The run has ended: its last event. In a chain, the step behind an agent gets its result.

    Attributes:
        result: of the run; `AgentStream.result` is the same, with the type of the output.
    """

    kind: Literal["end"] = "end"
    result: AgentResult[Any]

    @property
    def output(self) -> AgentResult[Any] | None:
        """The result of the run; None, if that is inside another run."""
        return None if self.path else self.result


AgentEvent: TypeAlias = (
    ChunkEvent | MessageEvent | UnreadableEvent | ToolStartEvent | ToolEndEvent | PausedEvent | EndEvent
)
"""Something that happens in a run; ``kind`` says what, to type checkers, too. A field of another kind is None."""


class SubagentEvents(RelaySink[AgentEvent]):
    """Takes the events of a run inside a run, and hands them to the sink outside, with the agent and the call of it."""

    def __init__(self, sink: Sink[AgentEvent], agent: str, call_id: str) -> None:
        super().__init__(sink)
        self._agent = agent
        self._call_id = call_id

    def put(self, item: AgentEvent) -> Awaitable[None] | None:
        """Hand an event on; one of a run still further inside keeps its agent."""
        return self._sink.put(replace(item, agent=item.agent or self._agent, path=(self._call_id, *item.path)))


class Backlog:
    """The pieces of answers between a run and the reader of its stream, counted: where he leaves, they are not kept."""

    def __init__(self, produce: Producer[AgentEvent]) -> None:
        self.chunks: int = 0
        self._run = produce
        self._sink: Sink[AgentEvent] | None = None

    async def produce(self, sink: Sink[AgentEvent]) -> None:
        """Run, and hand the events on to a stream."""
        self._sink = sink
        await self._run(self)

    @property
    def closed(self) -> bool:
        """Whether the reader has left."""
        return self._sink is not None and self._sink.closed

    def put(self, item: AgentEvent) -> Awaitable[None] | None:
        """Hand an event on."""
        assert self._sink is not None
        self.chunks += item.kind == "chunk" and not item.path
        return self._sink.put(item)

    def take(self, event: AgentEvent) -> AgentResult[Any] | None:
        """Count an event that was read; return the result of the run, if that is its end."""
        if event.path:  # of a run inside
            return None
        self.chunks -= event.kind == "chunk"
        return event.result if event.kind == "end" else None


class AgentStream(Stream[AgentEvent], Generic[Output]):
    """The events of a run, as they come. It can be left at any point: that cancels the run (see `Stream`).

    Attributes:
        result: of the run, once it has ended; None before.
    """

    def __init__(self, produce: Producer[AgentEvent]) -> None:
        self.result: AgentResult[Output] | None = None
        self._backlog = Backlog(produce)
        super().__init__(self._backlog.produce)

    async def __anext__(self) -> AgentEvent:
        event = await super().__anext__()
        self.result = self._backlog.take(event) or self.result
        return event


class SyncAgentStream(SyncStream[AgentEvent], Generic[Output]):
    """The events of a run: the sync face of `AgentStream`.

    Attributes:
        result: of the run, once it has ended; None before.
    """

    def __init__(self, produce: Producer[AgentEvent]) -> None:
        self.result: AgentResult[Output] | None = None
        self._backlog = Backlog(produce)
        super().__init__(self._backlog.produce, stepped=False)

    def __next__(self) -> AgentEvent:
        event = super().__next__()
        self.result = self._backlog.take(event) or self.result
        return event
