"""What a durable run has recorded, as the floors below it see that.

A durable run (`hocket.durable`) may be executed several times: its process dies, and another goes on. What was done before
is found in its journal by what was asked. The pipeline of models and the agents look here whether they are inside such a
run; outside there is None, and to look costs what a context variable costs.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Protocol, TypeAlias, TypeVar

__all__ = ["CallJournal", "JournalEntry", "RunOnce", "current_journal"]

T = TypeVar("T")

RunOnce: TypeAlias = Callable[[object, object], Awaitable[T]]
"""Runs an agent once, to its end or its next pause, with an input and a history."""


class JournalEntry(Protocol):
    """A place in a journal, for one thing that is done. It has to be released on every way out."""

    @property
    def text(self) -> str | None:
        """What an earlier execution has recorded here; None: nothing."""
        ...

    async def record(self, text: str) -> None:
        """Record what came of it. When this returns, no process does it again."""
        ...

    def release(self) -> None:
        """Give the place back where nothing was recorded: it was not done."""
        ...


class CallJournal(Protocol):
    """The journal of one execution of a run."""

    @property
    def records_models(self) -> bool:
        """Whether calls of models are recorded here; inside an agent its messages are their record."""
        ...

    def claim(self, key: str) -> JournalEntry:
        """Return a place for what ``key`` names: one that an earlier execution filled, if there is one left."""
        ...

    async def run_agent(self, agent: object, asked: object, call_id: str | None, history: object, run: RunOnce[T]) -> T:
        """Have an agent run to its end, across executions.

        Args:
            agent: it.
            asked: its input.
            call_id: of the tool's call that asks it; None: no tool does.
            history: where the conversation is kept; None: with the run.
            run: runs it.
        """
        ...


current_journal: ContextVar[CallJournal | None] = ContextVar("hocket_journal", default=None)
"""The journal of the run that is executed here; None: there is none."""
