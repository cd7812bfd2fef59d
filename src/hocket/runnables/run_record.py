"""One run, as data: what listeners are called with."""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hocket.runnables.config import RunnableConfig

__all__ = ["AsyncListener", "Listener", "Run"]


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
    """

    id: UUID
    name: str
    run_type: str
    inputs: Any
    parent_run_id: UUID | None = None
    tags: list[str] = field(default_factory=list[str])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: Any = None
    error: BaseException | None = None
    start_time: datetime = field(default_factory=functools.partial(datetime.now, UTC))
    end_time: datetime | None = None


Listener = Callable[[Run], object] | Callable[[Run, RunnableConfig], object]
AsyncListener = Callable[[Run], Awaitable[object]] | Callable[[Run, RunnableConfig], Awaitable[object]]
