"""The engine that ships: DBOS, embedded, on SQLite or PostgreSQL. It keeps the journals, and gives each run to one process.

DBOS itself takes up the runs of a dead process only where that one's name comes back. So workers have names of their own,
each holds a lock (`hocket.durable.liveness`), and once a second each looks for runs of workers that died: these go back into
the queue of their kind, to which the workers listen that have the kind.

Its steps have numbers, and are found by them again in the order in which code reaches them. Here they are found by their
names: all that are recorded are read at the beginning, their numbers passed over, and new ones come after them.
"""

import asyncio
import contextvars
import logging
import os
import socket
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar, cast

import anyio
from dbos import DBOS, DBOSClient, SetWorkflowID, StepInfo, WorkflowStatus, _dbos, error as dbos_errors  # pyright: ignore[reportPrivateUsage]  # see `_start_anew`

from hocket._runtime.clock import new_run_id
from hocket._runtime.fork import after_fork, leave_to_parent
from hocket._runtime.mode import ASYNC
from hocket._runtime.own_thread import start_thread
from hocket._secrets import redact
from hocket.durable.database import RunDatabase, close_with
from hocket.durable.dbos_journal import DBOSJournal
from hocket.durable.engine import Engine, EngineState, Execute, Kind, Status, outwait_store
from hocket.durable.engine_texts import NAME_PREFIX, STATUS_WORDS, EngineTexts, FailureError, read_status
from hocket.durable.liveness import Liveness
from hocket.errors import EngineUnavailable, InvalidInput, RunExists

__all__ = ["DBOSEngine"]

T = TypeVar("T")

_APPLICATION, _CODE = "hocket", "hocket-1"
"""What DBOS calls program and version: it must never think that a run is another program's."""

EVERY = 1.0
"""Seconds between two looks for runs that were cancelled, and for workers that died."""

_GRACE = 10.0
"""Seconds that the end of runs may take when a worker is closed."""

_log = logging.getLogger("hocket.durable")
_working: "DBOSEngine | None" = None  # DBOS is one for a process
_workflows: dict[str, Callable[[str], Coroutine[Any, Any, str]]] = {}
_changing = threading.Lock()


@after_fork
def _start_anew() -> None:
    global _working, _changing
    _working, _changing = None, threading.Lock()
    # Its threads are the parent's, and so are its connections, which its end would close.
    leave_to_parent(_dbos._dbos_global_instance)  # pyright: ignore[reportPrivateUsage]  # no public call forgets it
    _dbos._dbos_global_instance = None  # pyright: ignore[reportPrivateUsage]  # as above


def _leave_interpreter() -> None:
    if _working is not None:
        _working.leave()


# Before the interpreter waits for the threads in which DBOS waits for runs, for days; `atexit` would come after that.
threading._register_atexit(_leave_interpreter)  # type: ignore[attr-defined]  # pyright: ignore  # no public one is as early


class _LeftError(BaseException):
    """Ends an execution for DBOS, which then records nothing, and waits for nobody else's record in a thread either."""


class DBOSEngine(Engine):
    """Runs on one database. As a worker it is the only one of its process.

    Args:
        database: where everything is kept.
        read_version: returns the version of a run, of the text that it was started with.
    """

    def __init__(self, database: RunDatabase, read_version: Callable[[str, str], str]) -> None:
        self._database = database
        self._read_version = read_version
        self._client: DBOSClient | None = None
        self._closing: Callable[[], object] = bool
        self._execute: Execute | None = None
        self._kinds: frozenset[Kind] = frozenset()
        self._worker = ""
        self._liveness: Liveness | None = None
        self._running: dict[str, DBOSJournal] = {}
        self._starting: set[object] = set()
        self._is_halting = False
        self._is_ready = False
        self._is_over = threading.Event()
        self._sweeper: threading.Thread | None = None

    # -- what any process may ask

    async def start(self, id: str, kind: Kind, text: str) -> None:
        await ASYNC.call_sync(self._call, self._start, id, kind, text)

    async def cancel(self, id: str) -> None:
        await ASYNC.call_sync(self._call, lambda: self._open_client().cancel_workflow(id))

    async def resume(self, id: str, kind: Kind) -> None:
        await ASYNC.call_sync(self._call, self._resume, id, kind)

    async def delete(self, id: str) -> None:
        await ASYNC.call_sync(self._call, lambda: self._open_client().delete_workflow(id))

    async def keys(self, id: str) -> Sequence[str]:
        return [step["function_name"] for step in await ASYNC.call_sync(self._call, self._list_steps, id)]

    async def states(self, ids: Sequence[str]) -> Mapping[str, EngineState]:
        found = await ASYNC.call_sync(self._call, self._list, workflow_ids=[*ids]) if ids else []
        return {one.workflow_id: read_status(one) for one in found}

    async def find(
        self, name: str | None, status: Status | None, most: int, before: float | None
    ) -> Sequence[EngineState]:
        statuses = [word for word, meant in STATUS_WORDS.items() if status in (None, meant)]
        names = None if name is None else NAME_PREFIX + name
        # It cuts to milliseconds, of which a float may be a hair short.
        end = None if before is None else datetime.fromtimestamp(before + 0.0005, UTC).isoformat()
        found = await ASYNC.call_sync(
            self._call, self._list, name=names, status=statuses, limit=most, sort_desc=True, end_time=end
        )
        return [read_status(one) for one in found if one.name.startswith(NAME_PREFIX)]

    def _call(self, function: Callable[..., T], /, *args: Any, **options: Any) -> T:
        """Call what blocks, outside of any run: DBOS would take it for a step of the one that it is called in."""
        with self._database.tell_failures():
            return contextvars.Context().run(partial(function, *args, **options))

    def _open_client(self) -> DBOSClient:
        if self._client is None:
            url, schema = self._database.engine_url, self._database.schema
            if not self._database.has_table("workflow_output"):  # made late: who makes the others now is waited for
                DBOS.migrate(url, schema=schema)
            self._client = DBOSClient(
                system_database_url=url,
                system_database_engine=self._database.client_engine,
                dbos_system_schema=schema,
                serializer=EngineTexts(),
                application_name=_APPLICATION,
                retry_connection_errors=False,
            )
            self._closing = close_with(self, self._client.destroy)
        return self._client

    def _list(self, **asked: Any) -> list[WorkflowStatus]:
        return self._open_client().list_workflows(application_name=_APPLICATION, **asked)

    def _list_steps(self, id: str, *, load_output: bool = False) -> list[StepInfo]:
        return self._open_client().list_workflow_steps(id, load_output=load_output)

    def _start(self, id: str, kind: Kind, text: str) -> None:
        client = self._open_client()
        try:
            if self._execute is None:  # others work
                name, queue = NAME_PREFIX + kind.name, _name_queue(kind)
                client.enqueue(
                    {"workflow_name": name, "queue_name": queue, "workflow_id": id, "app_version": _CODE}, text
                )
                return
            client.check_connection()  # DBOS would wait for it
            self._start_here(id, kind.name, text)
        except dbos_errors.DBOSConflictingWorkflowError:
            raise RunExists(f"there is a run {id!r} of another name; choose another id") from None
        except (dbos_errors.DBOSException, CancelledError) as error:
            raise self._make_refusal() from error

    def _start_here(self, id: str, name: str, text: str) -> None:
        """Start a run on the loop of DBOS.

        The verb of DBOS for threads leaves the run to a thread, which records it as failed where the loop has ended.
        """

        async def start() -> None:
            with SetWorkflowID(id):
                await DBOS.start_workflow_async(_workflows[name], text)

        # Before the question: either `_halt` waits for this, or this sees that it has begun.
        self._starting.add(place := object())
        try:
            if not self._is_ready:
                raise self._make_refusal()
            DBOS.run_step(None, start)
        finally:
            self._starting.discard(place)

    def _make_refusal(self) -> EngineUnavailable:
        """Return what is raised by a worker that has lost its lock and cannot begin again yet, or is closed."""
        return EngineUnavailable(f"{self._database.shown}: this worker waits for it")

    def _resume(self, id: str, kind: Kind) -> None:
        last = max((step["function_id"] for step in self._list_steps(id)), default=0)
        self._open_client().rewind_workflow(id, start_step=last + 1, queue_name=_name_queue(kind))

    # -- a worker

    async def open(self, execute: Execute, kinds: Collection[Kind]) -> None:
        self._execute, self._kinds = execute, frozenset(kinds)
        await ASYNC.acquire(lambda: self._call(self._enter), lambda _: self._call(self._leave))

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            await ASYNC.call_sync(self.leave)

    def leave(self) -> None:
        """Be a worker no longer. It blocks."""
        self._call(self._leave)

    def _enter(self) -> None:
        global _working
        with _changing:
            if _working is not None:
                raise InvalidInput(
                    f"this process works on the runs of {_working._database.shown} already, and on one database at a time"
                )
            _working = self
        try:
            self._open_client()
            self._launch()
        except BaseException:
            self._leave()
            raise
        self._is_over.clear()
        self._sweeper = start_thread("hocket-durable", self._look_again)

    def _leave(self) -> None:
        global _working
        self._is_over.set()
        if self._sweeper is not None:
            self._sweeper.join()
            self._sweeper = None
        if _working is self:
            self._halt()
            _working = None
        if self._client is not None:
            self._closing()
            self._client = None
        self._database.close()

    def _launch(self) -> None:
        """Take the lock of this worker, and have DBOS begin under its name."""
        self._worker = f"{socket.gethostname()}-{os.getpid()}-{new_run_id().hex[-8:]}"
        self._is_halting = False
        self._liveness = self._database.make_liveness()
        self._liveness.enter(self._worker)
        queues = {_name_queue(kind) for kind in self._kinds}
        logging.getLogger("dbos").handlers.clear()  # they may write to what is closed by now; it makes its own
        DBOS(
            config={
                "name": _APPLICATION,
                "system_database_url": self._database.engine_url,
                "dbos_system_schema": self._database.schema,
                "db_engine_kwargs": {"connect_args": self._database.connect_args},
                "executor_id": self._worker,
                "application_version": _CODE,
                "serializer": EngineTexts(),
                "log_level": "CRITICAL",
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": EVERY,
            }
        )
        for name in {kind.name for kind in self._kinds} - _workflows.keys():
            _register(name)
        DBOS.listen_queues([*queues])
        DBOS.launch()
        for queue in queues:
            DBOS.register_queue(queue, polling_interval_sec=EVERY, on_conflict="always_update")
        self._is_ready = True

    def _halt(self) -> None:
        """End what runs here without a trace, for others to go on with, and DBOS."""
        self._is_ready = False
        self._is_halting = True  # for those that begin just now
        for journal in [*self._running.values()]:
            journal.end(is_halted=True)
        waited = threading.Event()
        for _ in range(int(_GRACE / 0.01)):
            if not (self._running or self._starting) or waited.wait(0.01):
                break
        DBOS.destroy()
        if self._liveness is not None:
            self._liveness.leave()
            self._liveness = None

    async def drive(self, id: str, text: str) -> str:
        """Execute a run, on the loop of DBOS.

        Raises:
            FailureError: it has failed.
            _LeftError: its end is not to be recorded: it was cancelled elsewhere, or goes on elsewhere.
        """
        assert self._execute is not None
        read = partial(self._list_steps, id, load_output=True)
        try:
            steps = await outwait_store(id, lambda: ASYNC.call_sync(self._call, read), lambda: self._is_halting)
        except EngineUnavailable:
            raise _LeftError from None
        for _ in range(max((step["function_id"] for step in steps), default=0)):
            DBOS.reserve_step()
        journal = DBOSJournal(
            {step["function_name"]: cast(str, step["output"]) for step in steps if step["error"] is None}
        )
        self._running[id] = journal
        if self._is_halting:
            journal.end(is_halted=True)
        try:
            with journal.scope:
                return await self._execute(id, text, journal)
        except Exception as error:
            if journal.is_halted:
                raise _LeftError from None
            raise FailureError(type(error).__name__, redact(str(error))) from None
        finally:
            if self._running.get(id) is journal:
                del self._running[id]
        raise _LeftError

    # -- once a second

    def _look_again(self) -> None:
        while not self._is_over.wait(EVERY):
            try:
                self._call(self._look)
            except Exception as error:  # of whatever kind: the next look may do better
                _log.warning("durable runs at %s: %s", self._database.shown, redact(f"{type(error).__name__}: {error}"))

    def _look(self) -> None:
        assert self._liveness is not None
        if not self._liveness.is_held():  # others take what ran here, and this is another worker from now on
            self._halt()
            self._launch()
            return
        if ids := [*self._running]:
            for one in self._list(workflow_ids=ids, status="CANCELLED", load_input=False, load_output=False):
                if (journal := self._running.get(one.workflow_id)) is not None:
                    journal.end(is_halted=False)
        with self._liveness.sweep() as is_alone:
            if is_alone:
                self._take_over(self._liveness)

    def _take_over(self, liveness: Liveness) -> None:
        """Put the runs of workers that died into the queues of their kinds."""
        names = [NAME_PREFIX + kind.name for kind in self._kinds]
        pending = self._list(name=names, status="PENDING", load_input=False, load_output=False)
        workers = {one.executor_id or "" for one in pending} - {self._worker}
        dead = [worker for worker in workers if not liveness.is_alive(worker)]
        if not dead:
            return
        for one in self._list(name=names, status="PENDING", executor_id=dead, load_output=False):
            state = read_status(one)
            kind = Kind(state.name, self._read_version(state.id, state.text))
            if kind in self._kinds:
                self._open_client().resume_workflow(state.id, queue_name=_name_queue(kind))


def _name_queue(kind: Kind) -> str:
    return f"{NAME_PREFIX}{kind.name}@{kind.version}"


def _register(name: str) -> None:
    """Tell DBOS of the function that executes the runs of a name; it keeps it for good."""

    async def drive(text: str) -> str:
        try:
            if _working is not None:
                return await _working.drive(DBOS.workflow_id or "", text)
        except asyncio.CancelledError:  # DBOS ends its loop
            pass
        raise _LeftError  # this process is a worker no longer

    _workflows[name] = DBOS.workflow(name=NAME_PREFIX + name, max_recovery_attempts=1_000_000)(drive)
