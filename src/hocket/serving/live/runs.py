"""The live answers that this process makes: one task stores what they say, renews their leases, and looks for stops.

It makes one trip at a time, for all of them together, so that a trip costs a part of an event and not many of them.
"""

import anyio

from hocket._databases.store import AppendRows, GetValue, Operation, PutValue, RenewLease, StateStore
from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket._runtime.detached import spawn
from hocket._runtime.mode import ASYNC
from hocket.serving.live.run import LiveRun

__all__ = ["BEAT", "LiveRuns"]

BEAT = 0.5
"""Seconds between two renewals of leases, which also look whether an answer is to stop."""

GATHER = 0.02
"""Seconds between two trips: what the answers say meanwhile goes into one."""


class LiveRuns:
    """Keeps the runs of this process.

    Args:
        store: of their events.
        lease: seconds after which one is lost that is not renewed.
        keep: seconds for which one is kept after its end.

    Attributes:
        ttl: seconds for which what is stored of a run is kept, unless it is kept again.
        is_at_work: whether its task runs.
    """

    def __init__(self, store: StateStore, lease: float, keep: float) -> None:
        self.ttl: float = lease + keep
        self._store = store
        self._lease = lease
        self._keep = keep
        self._runs: dict[str, LiveRun] = {}
        self._has_news = anyio.Event()
        self.is_at_work: bool = False

    def find(self, token: str) -> LiveRun | None:
        """Return a run of this process; None: it is none, or over."""
        return self._runs.get(token)

    def begin(self, run: LiveRun) -> None:
        """Let a run go on that has its lease."""
        run.renewed_at = run.kept_at = clock.current().now()
        self._runs[run.head.token] = run
        spawn(run.tell)
        self._go_on()

    def move(self) -> None:
        """Go on in another loop, after the end of the one that was served: what was said in that is to be stored."""
        for run in self._runs.values():
            run.move()
        if self._runs:
            self._go_on()

    def _go_on(self) -> None:
        if not self.is_at_work:
            self.is_at_work = True
            spawn(self._work)

    def wake(self) -> None:
        """Say that a run has said something."""
        self._has_news.set()

    async def stop_all(self) -> None:
        """Stop all runs, and wait for their ends; also what begins meanwhile."""
        while runs := [run for run in self._runs.values() if not run.is_over.is_set()]:
            for run in runs:
                run.stop()
            for run in runs:
                await run.is_over.wait()

    async def _work(self) -> None:
        beats_at = 0.0
        try:
            while self._runs:
                now = clock.current().now()
                if now < beats_at and not any(run.is_waiting for run in self._runs.values()):
                    self._has_news = anyio.Event()
                    with Alarm() as alarm:
                        alarm.set(beats_at - now)
                        await self._has_news.wait()
                    now = clock.current().now()
                is_beat = now >= beats_at
                beats_at = now + BEAT if is_beat else beats_at
                try:
                    await self._make_trip(now, is_beat=is_beat)
                except Exception as error:  # of whatever kind: the readers have to be told
                    self._give_up(error)
                for token in [token for token, run in self._runs.items() if run.is_over.is_set()]:
                    del self._runs[token]
                await clock.current().sleep(GATHER)
        finally:
            self.is_at_work = False

    async def _make_trip(self, now: float, *, is_beat: bool) -> None:
        operations: list[Operation] = []
        beats: list[tuple[LiveRun, RenewLease, GetValue]] = []
        for _, run in sorted(self._runs.items()):  # in one order: PostgreSQL locks the rows of leases
            if is_beat:
                renew, stop = RenewLease(run.lease, self._lease), GetValue(run.place.stop_key(run.head.token))
                beats.append((run, renew, stop))
                operations += [renew, stop, *self._keep_stored(run, now)]
            if run.is_waiting:
                operations += run.write_operations(self.ttl, self._keep)
        if operations:
            await self._store.do(ASYNC, operations)
        for run, renew, stop in beats:
            run.renewed_at = now
            if not renew.is_done:
                run.cut()
            elif stop.value is not None:
                run.stop()
        for run in self._runs.values():
            run.confirm()

    def _keep_stored(self, run: LiveRun, now: float) -> list[Operation]:
        """Return what keeps a run's head and log, where it is time for that: a tool may take long."""
        if now - run.kept_at < self._keep / 3:
            return []
        run.kept_at = now
        log = AppendRows(run.place.log(run.head.token), [], self.ttl, 0, run.lease)
        return [log, PutValue(run.place.key, run.head.write(), self.ttl, run.lease)] if run.head.is_running else [log]

    def _give_up(self, error: Exception) -> None:
        """Cut off the runs whose leases are over: another process may say that they are lost."""
        for run in self._runs.values():
            if clock.current().now() - run.renewed_at >= self._lease:
                run.cut(error)
