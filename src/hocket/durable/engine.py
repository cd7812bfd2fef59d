"""The seam between durable runs and what executes them: an engine finds a process for each run, and keeps its journal.

An engine knows runs by their ids and names, and texts that it does not read. It executes a run again after its process has
died, and never in two processes at once.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import anyio

from hocket._secrets import redact
from hocket.errors import EngineUnavailable, HistoryUnavailable

__all__ = ["Engine", "EngineState", "Execute", "Journal", "Kind", "Status", "outwait_store"]

_log = logging.getLogger("hocket.durable")

T = TypeVar("T")

_FIRST_PAUSE, _LAST_PAUSE = 0.5, 30.0
"""Seconds between two tries of a run whose store cannot be reached."""

Status: TypeAlias = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
"""How a run stands. ``waiting``: for a decision, a signal, or a time; an engine says ``running`` of it."""


class Kind(NamedTuple):
    """What a run is a run of: workers take those of the kinds that they have."""

    name: str
    version: str


class EngineState(NamedTuple):
    """What an engine knows of a run.

    Attributes:
        text: what it was started with.
        output: what it has returned; None: nothing yet.
        failure: the name of an error's class, and its text; None: it has not failed.
        created, updated: in seconds since 1970.
        worker: the process that has it, or had it last; None: none has.
    """

    id: str
    name: str
    status: Status
    text: str
    output: str | None
    failure: tuple[str, str] | None
    created: float
    updated: float
    worker: str | None


class Journal(Protocol):
    """What is recorded of a run."""

    @property
    def recorded(self) -> Mapping[str, str]:
        """By key, what earlier executions have recorded, and this one."""
        ...

    @property
    def is_halted(self) -> bool:
        """Whether another process goes on with the run: nothing that is done now may be kept anywhere."""
        ...

    async def record(self, key: str, call: Callable[[], Awaitable[str]]) -> str:
        """Have ``call`` made, record what it returns, and return it. Where it raises, nothing is recorded.

        Raises:
            EngineUnavailable: it could not be recorded.
        """
        ...


Execute: TypeAlias = Callable[[str, str, Journal], Awaitable[str]]
"""Executes a run, of which it gets the id, the text that it was started with, and the journal; returns its output."""


class Engine(Protocol):
    """Finds a process for each run. Its methods raise `EngineUnavailable` where its store cannot be reached."""

    async def open(self, execute: Execute, kinds: Collection[Kind]) -> None:
        """Make this process a worker: ``execute`` is called for each run of these kinds, again after a crash."""
        ...

    async def close(self) -> None:
        """Close all connections; a worker is none any longer: what runs here is left to others, as if it had died."""
        ...

    async def start(self, id: str, kind: Kind, text: str) -> None:
        """Have a run executed, by this process, if it is a worker, and else by one that is.

        There may be one of this id, which stays as it is.
        """
        ...

    async def cancel(self, id: str) -> None:
        """End a run, wherever it is; one that has ended stays as it is."""
        ...

    async def resume(self, id: str, kind: Kind) -> None:
        """Have a run that has failed, or was cancelled, executed again, with what it has recorded."""
        ...

    async def delete(self, id: str) -> None:
        """Forget a run that has ended."""
        ...

    async def keys(self, id: str) -> Sequence[str]:
        """Return the keys of what is recorded of a run."""
        ...

    async def states(self, ids: Sequence[str]) -> Mapping[str, EngineState]:
        """Return what is known of runs, by their ids; those that there are not are left out."""
        ...

    async def find(
        self, name: str | None, status: Status | None, most: int, before: float | None
    ) -> Sequence[EngineState]:
        """Return ``most`` runs, newest first; of a name, and a status, if these are given.

        ``before``: those that were started by then, in seconds since 1970; None: all.
        """
        ...


async def outwait_store(id: str, work: Callable[[], Awaitable[T]], is_halted: Callable[[], bool]) -> T:
    """Do ``work`` of a run, again for as long as its store, or its history's, cannot be reached.

    Args:
        id: of the run, for the log.
        work: to be done.
        is_halted: whether the run is another process's by now: it is not tried again.

    Raises:
        EngineUnavailable, HistoryUnavailable: the store cannot be reached, and the run is another process's.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return await work()
        except (HistoryUnavailable, EngineUnavailable) as error:
            if is_halted():
                raise
            _log.warning("the run %r waits for its store: %s", id, redact(str(error)))
        await anyio.sleep(pause)
        pause = min(2 * pause, _LAST_PAUSE)
