"""The line of the calls of one process that wait for a limit which processes share.

A thread of its own does the exchanges, for tasks and threads alike: it may hang as long as a client's library lets it,
while nobody waits longer than `PATIENCE` for it. It ends when there is nothing to do. While the store is down, a limit in
this process takes its place, with a share of the numbers; or the waiting calls get the error.
"""

import logging
import math
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, TypeVar

from hocket._databases.circuit import Circuit
from hocket._runtime import clock
from hocket._runtime.mode import BLOCKING, Mode, drive
from hocket._runtime.own_thread import start_thread
from hocket._runtime.wait_queue import Waiter
from hocket.errors import StoreError, StoreUnavailable
from hocket.rate_limiters.asking import Asking, ReservedTurn
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.line import Line, make_unused_end
from hocket.rate_limiters.opening import LaterStore
from hocket.rate_limiters.schedule import End, Grant
from hocket.rate_limiters.store import LEASE, SOON, Exchange, ExchangeReply, MemoryStore, Store

__all__ = ["SharedLine"]

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds to wait for the store."""

IDLE = 5.0
"""Seconds without work after which the thread ends."""

LOOK = 5.0
"""Seconds after which to look whether other processes have given tokens back."""

_log = logging.getLogger(__name__)


class _Job(Waiter):
    """A call that waits for another exchange with the store."""

    __slots__ = ("do", "error", "is_done", "result")

    def __init__(self, mode: Mode, do: Callable[[Store], object] | None) -> None:
        super().__init__(mode)
        self.do: Callable[[Store], object] | None = do
        self.result: object = None
        self.error: Exception | None = None
        self.is_done: bool = False


class SharedLine(Line):
    """The line of this process before a limit in a store.

    Args:
        store: of the limit.
        owner: the limiter, as errors show it.
        limits: that it was made with.
        if_store_fails: what waiting calls get: the error, or a share of the limit.
    """

    trips: int
    replaced: RateLimits | None

    def __init__(self, store: Store, owner: str, limits: RateLimits, if_store_fails: Literal["local", "raise"]) -> None:
        self._limits = limits
        self._fails = if_store_fails
        consequence = "every process keeps a share of the limit" if if_store_fails == "local" else "calls fail"
        self._circuit = Circuit(owner, PATIENCE, _log, consequence)
        self.processes: int = 1
        super().__init__(store, owner)

    def reset(self) -> None:
        super().reset()
        self._local = MemoryStore(self._limits)
        self._jobs: list[_Job] = []
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()  # a lock that a finaliser may take
        self._thread: threading.Thread | None = None
        self._busy_since: float | None = None
        self._is_opening = False
        self._is_configured = False
        self._reported_at = self._worked_at = 0.0

    @property
    def _is_stuck(self) -> bool:
        """Whether the store has kept the thread waiting for too long."""
        return self._busy_since is not None and clock.current().now() - self._busy_since >= PATIENCE

    @property
    def _silence(self) -> str:
        return f"{self._circuit.owner}: no answer within {PATIENCE:g} s"

    # -- asking

    async def end(self, mode: Mode, waiter: Asking, used: Tokens, *, is_refund: bool = False) -> None:
        turn = waiter.turn
        assert turn is not None
        with self._lock:
            self._in_flight = max(self._in_flight - 1, 0)
            if used == turn.need and not (is_refund or self._limits.max_in_flight or turn.grant.is_probe):
                return  # nothing new
            end = End(turn.grant.seq, *used, turn.grant.back if is_refund else None)
            if turn.store is not self.store:
                self._local.exchange(Exchange(ends=[end]))
                return
            self._ends.append(end)
            job = self._post(_Job(mode, None))
        await self._wait_for_job(job)

    async def do(self, mode: Mode, job: Callable[[Store], T]) -> T:
        with self._lock:
            posted = self._post(_Job(mode, job))
        await self._wait_for_job(posted)
        failure = posted.error if posted.is_done else StoreUnavailable(self._silence)
        if failure is None:
            return posted.result  # type: ignore[return-value]  # the job's
        if self._fails == "raise" or not isinstance(failure, StoreError):
            raise failure
        with self._lock:
            return job(self._local)

    def _post(self, job: _Job) -> _Job:
        self._jobs.append(job)
        self._step()
        return job

    async def _wait_for_job(self, job: _Job) -> None:
        ends_at = clock.current().now() + PATIENCE
        while not (job.is_done or self._is_stuck):
            if self._is_opening:
                ends_at = clock.current().now() + PATIENCE
            if (left := ends_at - clock.current().now()) <= 0:
                break
            await job.wait_for(left)

    # -- under the lock

    def _enter(self, waiter: Asking) -> None:
        with self._lock:
            if self._is_too_late(waiter):
                return
            self._queue.append(waiter)
            if len(self._queue) == 1 or self._look_at <= clock.current().now():
                self._step()

    def _watch(self) -> float:
        """See for how long the store keeps silent; the thread does the rest."""
        if not self._is_stuck:
            return PATIENCE
        delay = self._look_at - clock.current().now()
        if delay <= 0:
            self._serve_without_store(StoreUnavailable(self._silence))
        return delay

    def _take_turn(self, grant: Grant, need: Tokens, store: Store) -> ReservedTurn:
        turn = super()._take_turn(grant, need, store)
        if store is self.store:
            self._local.schedule.record(turn.at, need)  # which it would take up from here
        return turn

    def _return_unused(self, turns: Sequence[ReservedTurn]) -> None:
        local = [turn for turn in turns if turn.store is not self.store]
        if local:
            self._local.exchange(Exchange(ends=[make_unused_end(turn) for turn in reversed(local)]))
        if len(local) < len(turns):
            super()._return_unused([turn for turn in turns if turn.store is self.store])

    def _step(self) -> None:
        """Have the thread settle and serve."""
        if self._thread is None:
            self._thread = start_thread("hocket rate limiter", self._work)
        self._news.put(None)

    def _pause(self, refusal: Grant) -> float:
        if refusal.back in (2, 3):  # it is another process whose call has to end
            return min(SOON, refusal.wait)
        pause = super()._pause(refusal)
        return min(pause, LOOK) if refusal.back == 1 else pause

    # -- the thread

    def _work(self) -> None:
        me = threading.current_thread()
        while True:
            with self._lock:
                if self._thread is not me:
                    return  # this is a copy in a forked child, or another has taken its place
                delay = self._find_work()
                if delay is None:
                    self._thread = None
                    return
            if delay > 0:
                try:
                    self._news.get(timeout=delay)
                except queue.Empty:
                    continue
                while not self._news.empty():
                    self._news.get()
                continue
            self._exchange()

    def _find_work(self) -> float | None:
        """Return in how many seconds there is something to do, or None: not for long."""
        now = clock.current().now()
        if self._jobs or self._ends:
            return 0
        if self._queue:
            delay = self._look_at - now
        elif (idle := now - self._worked_at) < IDLE:
            delay = IDLE - idle
        else:
            delay = math.inf
        if self._limits.max_in_flight and self._in_flight:
            delay = min(delay, self._reported_at + LEASE / 3 - now)
        return None if delay == math.inf else max(delay, 0.0)

    def _open_store(self) -> None:
        """Have the store's client imported before its silence counts: an import says nothing of a store."""
        if isinstance(self.store, LaterStore) and not self.store.is_open:
            self._is_opening = True
            with suppress(Exception):  # the exchange raises it again, where it is dealt with
                self.store.open()
            self._is_opening = False

    def _exchange(self) -> None:
        self._open_store()
        with self._lock:
            self._busy_since = self._worked_at = now = clock.current().now()
            heads, exchange = self._take()
            jobs, self._jobs = self._jobs, []
            if self._limits.max_in_flight or now - self._reported_at > LEASE / 3:
                exchange, self._reported_at = exchange._replace(reports=True), now

        self.trips += 1

        async def talk() -> ExchangeReply:
            return self._talk(exchange, jobs)

        outcome: ExchangeReply | None = None
        failure: Exception | None = None
        try:
            outcome = drive(self._circuit.run(BLOCKING, talk))
        except Exception as error:  # raised in the waiting calls
            failure = error
        with self._lock:
            self._busy_since = None
            for job in jobs:
                job.is_done, job.error = True, failure
                job.wake()
            if outcome is None:
                assert failure is not None
                self._serve_without_store(failure)
            else:
                self.processes = outcome.processes or self.processes
                self._serve(heads, outcome, self.store)

    def _talk(self, exchange: Exchange, jobs: list[_Job]) -> ExchangeReply:
        if not self._is_configured:
            self._configure()
        outcome: ExchangeReply | None = ExchangeReply([], 0)
        if exchange.needs or exchange.ends or exchange.reports:
            outcome = self.store.exchange(exchange)
        if outcome is None:  # forgotten, after a pause
            self._configure()
            outcome = self.store.exchange(exchange)
        for job in jobs:
            if job.do is not None:
                job.result = job.do(self.store)
        assert outcome is not None
        return outcome

    def _configure(self) -> None:
        before = self.store.configure(self._limits)
        self._is_configured = True
        if before is not None and before != self._limits:
            self.replaced = before

    def _serve_without_store(self, failure: Exception) -> None:
        heads, exchange = self._take(with_ends=False)
        if self._fails == "raise" or not isinstance(failure, StoreError):
            for waiter in heads:
                self._queue.popleft()
                waiter.error = failure
                waiter.wake()
            self._look_at = -math.inf
            self._wake_head()
            return
        self._local.configure(self._limits.shared_by(self.processes))
        self._serve(heads, self._local.exchange(exchange), self._local)
