"""What is kept of runs, as every process sees it: an engine's states, and what stands beside them in two tables."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from hocket._runtime.mode import ASYNC
from hocket.durable.engine import Engine, EngineState, Kind, Status
from hocket.durable.standing import Signal, Standing, Waiting
from hocket.errors import LoadError, UnknownRun

if TYPE_CHECKING:
    from hocket.durable.database import RunDatabase

__all__ = ["ENDED", "KnownRun", "RunInfo", "RunStart", "RunStore"]

P = ParamSpec("P")
T = TypeVar("T")

ENDED: frozenset[Status] = frozenset({"done", "failed", "cancelled"})
"""How a run stands that has ended."""

_PAGE = 100  # runs that are read at once


class RunStart(NamedTuple):
    """What a run was started with.

    Attributes:
        input: as text.
        deadline: in seconds since 1970; None: there is none.
        started: in seconds since 1970, by the starter's clock; an engine may know the second alone.
    """

    name: str
    version: str
    input: str
    metadata: Mapping[str, Any]
    deadline: float | None
    started: float = 0.0

    def write(self) -> str:
        """Return it as text."""
        return json.dumps(self._asdict())

    @classmethod
    def read(cls, text: str) -> "RunStart":
        """Return what a text says.

        Raises:
            LoadError: it cannot be read.
        """
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise LoadError("what a durable run was started with cannot be read") from None


@dataclass(frozen=True)
class RunInfo:
    """How a run stands.

    Attributes:
        status: "queued": no process has it yet; "running"; "waiting", for a decision, a signal or a time; "done", "failed",
            "cancelled": it has ended.
        created, updated: in seconds since 1970.
        attempts: how many processes have begun to execute it.
        worker: the process that has it, or had it last.
        waiting_for: ids of an agent's calls, names of signals, "sleep".
        error: why it has failed.
        metadata: of the run, as it was started.
    """

    id: str
    name: str
    version: str
    status: Status
    created: float
    updated: float
    attempts: int = 0
    worker: str | None = None
    waiting_for: Sequence[str] = ()
    error: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class KnownRun(NamedTuple):
    """All that is kept of a run."""

    state: EngineState
    standing: Standing
    record: RunStart

    @property
    def kind(self) -> Kind:
        """What it is a run of, by now."""
        return Kind(self.record.name, self.standing.version or self.record.version)

    @property
    def age(self) -> tuple[float, float, str]:
        """What puts runs in the order in which they were started, each in a place of its own."""
        return self.state.created, self.record.started, self.state.id

    @property
    def status(self) -> Status:
        """How it stands."""
        return "waiting" if self.waiting else self.state.status

    @property
    def waiting(self) -> Sequence[Waiting]:
        """What it waits for."""
        return self.standing.waiting if self.state.status == "running" else ()

    def describe(self) -> RunInfo:
        """Return it for a person."""
        state = self.state
        return RunInfo(
            id=state.id,
            name=self.record.name,
            version=self.kind.version,
            status=self.status,
            created=state.created,
            updated=state.updated,
            attempts=self.standing.attempts,
            worker=state.worker,
            waiting_for=[_name(one) for one in self.waiting],
            error=None if state.failure is None else ": ".join(state.failure),
            metadata=self.record.metadata,
        )


def _name(waiting: Waiting) -> str:
    return waiting.get("call") or waiting.get("signal") or "sleep"


class RunStore:
    """The runs of one database, over an engine."""

    def __init__(self, database: "RunDatabase", engine: Engine) -> None:
        self.database: RunDatabase = database
        self.engine: Engine = engine

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call what blocks, in a thread.

        Raises:
            EngineUnavailable: the database cannot be reached.
        """

        def work() -> T:
            with self.database.tell_failures():
                return function(*args, **kwargs)

        return await ASYNC.call_sync(work)

    async def add_signals(self, run: str, signals: Sequence[tuple[str, str, str | None]]) -> bool:
        """Tell a run something; see `RunTables.add_signals`."""
        return await self.call(lambda: self.database.tables.add_signals(run, signals))

    async def find_signals(self, runs: Collection[str]) -> Sequence[Signal]:
        """Return what runs were told."""
        return await self.call(lambda: self.database.tables.find_signals(runs))

    async def is_open(self, id: str) -> bool:
        """Whether there is a run that has not ended; see `find`, which asks for more."""
        state = (await self.engine.states([id])).get(id)
        return state is not None and state.status not in ENDED

    async def find(self, id: str) -> KnownRun:
        """Return what is kept of a run.

        Raises:
            UnknownRun: there is none of this id.
        """
        states = await self.engine.states([id])
        if id not in states:
            raise UnknownRun(f"there is no run {id!r} at {self.database.shown}")
        return (await self._complete([states[id]]))[0]

    async def find_all(
        self,
        name: str | None,
        status: Status | None,
        most: int | None,
        before: float | None,
        accept: Callable[[KnownRun], bool],
    ) -> list[RunInfo]:
        """Return how the newest runs stand that ``accept`` accepts; of a name, a status, and a time, if these are given."""
        found: list[KnownRun] = []
        seen: set[str] = set()  # of the moment that the next page begins with
        page = max((most or 0) + 1, _PAGE)
        asked: Status | None = "running" if status == "waiting" else status
        while True:
            states = await self.engine.find(name, asked, page, before)
            new = await self._complete([state for state in states if state.id not in seen])
            found += [one for one in new if status in (None, one.status) and accept(one)]
            if len(states) < page:
                break
            last = states[-1].created
            if most is not None and len(found) >= most and found[most - 1].state.created > last:
                break
            if states[0].created == last:  # an engine orders as it likes those of one moment: all are read
                page *= 2
            else:
                seen = set()
            before, seen = last, seen | {state.id for state in states if state.created == last}
        return [one.describe() for one in sorted(found, key=lambda one: one.age, reverse=True)[:most]]

    async def _complete(self, states: Sequence[EngineState]) -> list[KnownRun]:
        standings = await self.call(lambda: self.database.tables.read([state.id for state in states]))
        return [KnownRun(state, standings.get(state.id, Standing()), RunStart.read(state.text)) for state in states]
