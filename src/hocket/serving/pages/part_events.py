"""How the events of a page's protocol look: `PartEvents`, whose subclasses are the protocols. Pure functions.

When each event is due, and which parts are open, `PartWriter` knows.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from hocket.agents.approval import DecisionKind
from hocket.messages import ToolCall, ToolMessage, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.serving.pages.sources import CitedSource
from hocket.serving.refusals import Refusal

__all__ = ["Events", "ModelUsage", "PartEvents", "PartKind"]

PartKind = Literal["text", "reasoning"]
"""What a part that comes in pieces is."""

Events = Sequence[FieldsView]
"""Events as JSON objects, one after another."""

ModelUsage = Mapping[str, UsageMetadata]
"""What each model has used, by its name; "": models whose names nobody told. Nothing, where nobody told of usage."""


class PartEvents(ABC):
    """The events of one run.

    Attributes:
        headers: of the reply.
        last: what follows the last event.
        id: of the run.
        thread: of the conversation.
    """

    headers: ClassVar[Mapping[str, str]] = {}
    last: ClassVar[bytes] = b""

    def __init__(self, id: str, thread: str) -> None:
        self.id: str = id
        self.thread: str = thread

    @abstractmethod
    def begin_run(self) -> Events:
        """Return the first events."""

    @abstractmethod
    def begin_step(self, step: int) -> Events:
        """Say that an agent asks its model, and how often it has."""

    @abstractmethod
    def end_step(self, step: int) -> Events:
        """Say that the answer is there, and its calls are done."""

    @abstractmethod
    def begin_part(self, kind: PartKind, id: str) -> Events:
        """Say that a text, or a thought, begins."""

    @abstractmethod
    def make_delta(self, kind: PartKind, id: str) -> Fields:
        """Return the event of a piece of it; its last field is an empty text, the place of the piece."""

    @abstractmethod
    def end_part(self, kind: PartKind, id: str) -> Events:
        """Say that it is whole."""

    @abstractmethod
    def begin_call(self, id: str, name: str, group: str) -> Events:
        """Announce a call; ``group`` is the same for the calls of one answer, and that of the text before them."""

    @abstractmethod
    def add_arguments(self, id: str, text: str) -> Events:
        """Tell a piece of its arguments."""

    @abstractmethod
    def complete_call(self, call: ToolCall, *, is_told: bool) -> Events:
        """Tell all arguments; ``is_told``: the page has them, in pieces, or from the run that has paused."""

    @abstractmethod
    def break_call(self, id: str, name: str, args: str, reason: str, *, is_told: bool) -> Events:
        """Say that the arguments cannot be read, or will not come; ``is_told`` as above."""

    @abstractmethod
    def give_result(self, id: str, result: ToolMessage, decision: DecisionKind | None) -> Events:
        """Tell the result of a call that was told."""

    def ask_approval(self, call: ToolCall) -> Events:
        """Say that a call waits for a person; nothing, where the end says so."""
        return ()

    @abstractmethod
    def cite(self, id: str, source: CitedSource) -> Events:
        """Tell what the answer refers to."""

    @abstractmethod
    def show_object(self, data: object) -> Events:
        """Tell an object, which replaces the one before."""

    @abstractmethod
    def show_inner(self, id: str, data: FieldsView) -> Events:
        """Tell what an agent does that runs in a call of this ``id``."""

    def count_usage(self, usage: ModelUsage) -> Events:
        """Tell what was used so far, once there is more of it; nothing, where the end says it."""
        return ()

    @abstractmethod
    def finish_run(self, reason: str, waiting: Sequence[ToolCall], usage: ModelUsage) -> Events:
        """Say that this was all. The reason is one of hocket's ("stop", "length", "tool_calls", ...) or "other"."""

    @abstractmethod
    def fail_run(self, refusal: Refusal, usage: ModelUsage) -> Events:
        """Say that it broke off."""

    @abstractmethod
    def stop_run(self, usage: ModelUsage) -> Events:
        """Say that somebody has stopped it."""
