"""One run, as data: what listeners are called with."""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hocket.runnables.config import RunnableConfig

__all__ = ["AsyncListener", "Facts", "Listener", "Run"]

Facts = dict[str, Any]
"""Facts of a run, each under its name."""


@dataclass
class Run:
    """A run, as far as it has come.

    Attributes:
        id, parent_run_id, name, tags, metadata: as handlers are told.
        run_type: ``"chain"``, ``"prompt"``, ``"parser"``, ``"llm"``, ``"chat_model"``, ``"tool"`` or ``"retriever"``.
        inputs: what went in.
        outputs: what came out; None: nothing yet.
        error: what it failed with, if it has.
        start_time, end_time: in UTC.
        child_runs, events, extra, serialized: of a tracer's run: the runs inside it, in the order of their starts; what
            happened when (``name``, ``time`` and, of a token or a retry, ``kwargs``); further facts of its start; and the
            object that runs, as data.
    """

    id: UUID
    name: str
    run_type: str
    inputs: Any
    parent_run_id: UUID | None = None
    tags: list[str] = field(default_factory=list[str])
    metadata: Facts = field(default_factory=dict[str, object])
    outputs: Any = None
    error: BaseException | None = None
    start_time: datetime = field(default_factory=functools.partial(datetime.now, UTC))
    end_time: datetime | None = None
    child_runs: "list[Run]" = field(default_factory=list["Run"])
    events: list[Facts] = field(default_factory=list[Facts])
    extra: Facts = field(default_factory=dict[str, object])
    serialized: Facts | None = None


Listener = Callable[[Run], object] | Callable[[Run, RunnableConfig], object]
"""Called with a run, and its config if it takes two arguments."""

AsyncListener = Callable[[Run], Awaitable[object]] | Callable[[Run, RunnableConfig], Awaitable[object]]
"""Awaited with a run, and its config if it takes two arguments."""
