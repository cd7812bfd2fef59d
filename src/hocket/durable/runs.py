"""`open_runs`: the durable runs of one database, and the process that works on them."""

import functools
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, get_args

import anyio

from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket._runtime.journal import current_journal
from hocket._runtime.portal import run_in_portal
from hocket._runtime.sync_twin import sync_twin
from hocket.durable.agent_runs import RunJournal
from hocket.durable.definition import Durable, MakeContext, MakeInjected, read_output
from hocket.durable.engine import Engine, Journal, Kind, Status, outwait_store
from hocket.durable.execution import Execution, current_execution
from hocket.durable.run import Run
from hocket.durable.signals import SignalReader
from hocket.durable.standing import Standing
from hocket.durable.store import ENDED, KnownRun, RunInfo, RunStart, RunStore
from hocket.errors import (
    InvalidInput,
    MissingDependency,
    TotalTimeout,
    UnknownRun,
)

if TYPE_CHECKING:
    from hocket.durable.database import RunDatabase

__all__ = ["Runs", "current_run", "open_runs"]

_log = logging.getLogger("hocket.durable")


def open_runs(url: str, *, max_concurrency: int = 100, engine: Engine | None = None) -> "Runs":
    """Return the durable runs of a database. Nothing is opened before it is used.

    The engine is imported here, which takes a second: open them before the event loop runs.

    Args:
        url: ``sqlite:///path``, for the processes of one machine, or ``postgresql://host/database``. The histories of the
            runs' agents are there, too. ``?options=-csearch_path%3DNAME`` names a schema, whose runs are apart from others.
        max_concurrency: runs that this process works on at once; those that wait are not counted. 0: it works on none, and
            starts runs for other processes, which look for them once a second.
        engine: executes the runs; default: DBOS, in this process.

    Raises:
        InvalidInput: the address is of another kind, or the number is none of at least 0.
        MissingDependency: dbos is missing: ``pip install 'hocket[durable]'``.
    """
    _check_count("max_concurrency", max_concurrency, 0)
    if find_spec("dbos") is None:  # SQLAlchemy comes with it
        raise MissingDependency("durable runs need the package dbos; run `pip install 'hocket[durable]'`")
    from hocket.durable.database import RunDatabase

    return Runs(RunDatabase(url), max_concurrency, engine)


def _check_count(what: str, count: object, least: int = 1) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < least:
        raise InvalidInput(f"{what} is {count!r}; it is a whole number of at least {least}")


class Runs:
    """The durable runs of a database. As an async context manager, or as a plain one, this process works on them.

    Args:
        database: where they are.
        max_concurrency, engine: see `open_runs`, which makes it.

    Attributes:
        max_concurrency: see `open_runs`.
    """

    def __init__(self, database: "RunDatabase", max_concurrency: int, engine: Engine | None) -> None:
        self.max_concurrency: int = max_concurrency
        self._durables: dict[Kind, Durable[Any, Any]] = {}
        self._newest: dict[str, str] = {}  # the version of a name that was made last
        if engine is None:
            from hocket.durable.dbos import DBOSEngine

            engine = DBOSEngine(database, self._find_version)
        self._store = RunStore(database, engine)
        self._signals = SignalReader(self._store)
        self._places: anyio.Semaphore | None = None
        self._is_open = False

    def __repr__(self) -> str:
        names = ", ".join(f"{kind.name} {kind.version}" for kind in self._durables) or "nothing"
        return f"<Runs of {names} at {self._store.database.shown}>"

    @property
    def address(self) -> str:
        """Where they are, without a password."""
        return self._store.database.shown

    @property
    def is_working(self) -> bool:
        """Whether this process starts runs, and works on them, unless ``max_concurrency`` leaves that to others."""
        return self._is_open

    @property
    def durables(self) -> Sequence[Durable[Any, Any]]:
        """What they are runs of, in the order in which it was registered."""
        return [*self._durables.values()]

    # -- what they are runs of

    def durable(
        self,
        target: Any = None,
        *,
        name: str | None = None,
        version: str = "1",
        context: MakeContext | None = None,
        injected: MakeInjected | None = None,
    ) -> Any:
        """Return what starts durable runs of an agent, a chain, or an async function of one input. A decorator, too.

        Args:
            target: it.
            name: by which every process knows it; default: its own.
            version: of the code. A run goes on under the version that it was started with, and several may be registered;
                new runs take the one that was registered last. An agent goes on under any code: give it one version.
            context, injected: functions of a `RunInfo` that return the agent's context and its injected arguments, again for
                each execution, since they are not stored.

        Raises:
            InvalidInput: it is none of these; there is no name; the name and version are taken; an agent needs a context or
                injected arguments, and there is no function for them; or this process works on the runs already.
        """
        if target is None:
            return functools.partial(self.durable, name=name, version=version, context=context, injected=injected)
        if self._is_open:
            raise InvalidInput("this process works on these runs already: register what they are runs of before")
        made: Durable[Any, Any] = Durable(target, name, version, context, injected, self._store, self)
        kind = Kind(made.name, made.version)
        if kind in self._durables:
            raise InvalidInput(
                f"{made.name!r} is there already in version {version!r}; give it another name or version"
            )
        self._durables[kind] = made
        self._newest[made.name] = made.version
        return made

    # -- runs

    def run(self, id: str) -> Run[Any]:
        """Return a run by its id. Nothing is asked: it need not exist."""
        return Run(id, self._store, self._read_output)

    async def alist(
        self,
        *,
        status: Status | None = None,
        name: str | None = None,
        metadata: Mapping[str, object] | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunInfo]:
        """Return the states of the runs, the newest first.

        Args:
            status: of this status alone.
            name: of this name alone.
            metadata: of those alone that were started with these values, and perhaps others. All runs are read for it.
            limit: as many at most.
            before: the id of a run: of those alone that were started before it. The last of a list begins the next one.

        Raises:
            InvalidInput: there is no such status, or the limit is none.
            UnknownRun: there is no run ``before``, or not any more.
            EngineUnavailable: the store cannot be reached.
        """
        if status is not None and status not in get_args(Status):
            raise InvalidInput(f"status is {status!r}; it is one of {', '.join(get_args(Status))}")
        _check_count("limit", limit)
        asked = (metadata or {}).items()
        end = None if before is None else await self._store.find(before)
        latest = None if end is None else end.state.created

        def accept(known: KnownRun) -> bool:
            return (end is None or known.age < end.age) and asked <= known.record.metadata.items()

        return await self._store.find_all(name, status, limit, latest, accept)

    list_runs: Final = sync_twin(alist)

    async def adelete(self, *, older_than: float) -> int:
        """Delete the runs that ended long ago, as `Run.adelete` does, and return how many.

        Args:
            older_than: seconds since their end, at least.

        Raises:
            InvalidInput: it is no number of at least 0.
            EngineUnavailable: the store cannot be reached. Some are deleted, perhaps.
        """
        if not isinstance(older_than, int | float) or isinstance(older_than, bool) or not older_than >= 0:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"older_than is {older_than!r}; it is a number of seconds of at least 0")
        before = clock.current().time() - older_than
        found = await self._store.find_all(
            None, None, None, before, lambda known: known.status in ENDED and known.state.updated <= before
        )
        count = 0
        for info in found:
            with suppress(UnknownRun, InvalidInput):  # somebody else has deleted it, or has it go on
                await self.run(info.id).adelete()
                count += 1
        return count

    delete: Final = sync_twin(adelete)

    async def _read_output(self, known: KnownRun) -> Any:
        durable = self._durables.get(known.kind)
        if durable is not None:
            return await durable.read_output(known.state.output or "", known.state.id)
        return await read_output(self._store, known.state.output or "", known.state.id)

    # -- the worker

    async def __aenter__(self) -> Self:
        if self._is_open:
            raise InvalidInput(
                "these runs are open already: one `async with` is enough; in a child that was forked since, call open_runs"
            )
        if self.max_concurrency:  # else others work
            await self._store.engine.open(self._execute, self._durables)
        self._is_open = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to the store; what runs here is left to other processes. A later call opens new ones."""
        self._is_open = False
        await self._store.engine.close()

    close: Final = sync_twin(aclose)

    def __enter__(self) -> Self:
        return run_in_portal(self.__aenter__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_in_portal(functools.partial(self.__aexit__, kind, error, trace))

    def _find_version(self, id: str, text: str) -> str:
        """Return the version of a run by now."""
        standing = self._store.database.tables.read([id]).get(id, Standing())
        return standing.version or RunStart.read(text).version

    async def _execute(self, id: str, text: str, journal: Journal) -> str:
        """Execute a run to its end, on the loop of the engine; again where the store could not be reached meanwhile."""
        if self._places is None:
            self._places = anyio.Semaphore(self.max_concurrency)
        once = functools.partial(self._execute_once, id, text, journal, self._places)
        return await outwait_store(id, once, lambda: journal.is_halted)

    async def _execute_once(self, id: str, text: str, journal: Journal, places: anyio.Semaphore) -> str:
        standing = await self._store.call(lambda: self._store.database.tables.begin(id))
        known = KnownRun((await self._store.engine.states([id]))[id], standing, RunStart.read(text))
        durable = self._durables[known.kind]
        execution = Execution(id, self._store, journal, standing, self._signals, places)
        _current.set(self.run(id))
        current_execution.set(execution)
        current_journal.set(RunJournal(execution, is_root=durable.is_agent))
        try:
            await execution.enter()
            deadline = known.record.deadline
            with Alarm() as alarm:
                alarm.set(None if deadline is None else max(0.0, deadline - clock.current().time()))
                output = await durable.execute(known)
                if unused := execution.list_unused():
                    _log.warning(
                        "the run %r did not ask for %s, which it had recorded: has its code changed?", id, unused[:5]
                    )
                return output
            raise TotalTimeout(f"the run {id!r} took longer than it was given when it was started")
        finally:
            execution.leave()


def current_run() -> Run[Any] | None:
    """Return the run that this code is part of; None: none."""
    return _current.get()


_current: ContextVar[Run[Any] | None] = ContextVar("hocket_run", default=None)
