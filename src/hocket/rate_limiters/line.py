"""Those of one process who wait for a limit, first come first served, over all its threads and event loops.

They are asked for together: one exchange with the store settles what has ended and serves the head of the line. The store
says when each may go, and each sleeps until then by itself. Where the schedule is full for now, the line asks again when
there will be room; what is settled here in the meantime asks at once. So nobody polls.

A limit in this process is asked where its waiters are, which takes microseconds (`Line`); a store that processes share is
asked in a thread of its own (`hocket.rate_limiters.shared_line`).
"""

import collections
import itertools
import math
from collections.abc import Callable
from typing import TypeVar

from hocket._runtime import clock
from hocket._runtime.runtime import Runtime
from hocket._runtime.wait_queue import Waiter, WaitQueue
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.schedule import HORIZON, End, Grant
from hocket.rate_limiters.store import Exchange, ExchangeReply, Store

__all__ = ["Asking", "Line"]

T = TypeVar("T")

TOGETHER = 64
"""Waiters that are asked for at once."""

MANY = 1 << 30


class Asking(Waiter):
    """One who waits for leave to make a request.

    Attributes:
        need: its tokens.
        grant: what it got.
        at: when it may go, by the clock.
        store: that granted it.
        error: why it gets nothing.
    """

    __slots__ = ("at", "error", "grant", "need", "store")

    def __init__(self, runtime: Runtime, need: Tokens) -> None:
        super().__init__(runtime)
        self.need: Tokens = need
        self.grant: Grant | None = None
        self.at: float = 0.0
        self.store: Store | None = None
        self.error: Exception | None = None

    @property
    def is_served(self) -> bool:
        """Whether it waits no more, for leave or for nothing."""
        return self.grant is not None or self.error is not None


class Line(WaitQueue):
    """The line before a limit in this process.

    Args:
        store: of the limit.

    Attributes:
        trips: exchanges with the store.
        replaced: limits that other processes had given the same name, and that hold no more.
    """

    def __init__(self, store: Store) -> None:
        self.store: Store = store
        self.trips: int = 0
        self.replaced: RateLimits | None = None
        super().__init__()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    @property
    def in_flight(self) -> int:
        """How many have been granted leave and have not settled."""
        return self._in_flight

    def reset(self) -> None:
        super().reset()
        self._ends: list[End] = []
        self._starts: collections.deque[float] = collections.deque()  # of what was granted and has not begun
        self._in_flight = 0
        self._look_at = -math.inf  # when to ask again, by the clock

    # -- asking

    async def reserve(self, runtime: Runtime, need: Tokens) -> Asking:
        """Wait for leave.

        Raises:
            StoreError: the store cannot be used.
        """
        waiter = Asking(runtime, need)
        try:
            self._enter(waiter)
            while not waiter.is_served:
                await self._wait(waiter)
            if waiter.error is None and (delay := waiter.at - clock.current().now()) > 0:
                await runtime.sleep(delay)
        except BaseException:
            self._give_up(waiter)
            raise
        if waiter.error is not None:
            raise waiter.error
        return waiter

    async def try_to_reserve(self, runtime: Runtime, need: Tokens) -> Asking | None:
        """Return leave to go at once, if there is any and nobody waits for it; else None."""
        waiter = Asking(runtime, need)
        with self._lock:
            if self._queue:
                return None
            exchange = Exchange([need], held=MANY, in_flight=self._in_flight, horizon=0.0)
        store, outcome = await self.do(runtime, lambda store: (store, store.exchange(exchange)))
        with self._lock:
            if outcome is not None and outcome.grants[0].seq:
                self._admit(waiter, outcome.grants[0], store)
                return waiter
        return None

    async def end(self, runtime: Runtime, waiter: Asking, used: Tokens, *, is_refund: bool = False) -> None:
        """Settle what a waiter was granted, once it went.

        Args:
            runtime: of the caller.
            waiter: who went, or did not.
            used: the tokens that were used.
            is_refund: whether it did not go.
        """
        grant = waiter.grant
        assert grant is not None
        with self._lock:
            self._in_flight = max(self._in_flight - 1, 0)
            self._ends.append(End(grant.seq, *used, grant.back if is_refund else None))
            self._step()

    async def do(self, runtime: Runtime, job: Callable[[Store], T]) -> T:
        """Do something else with the store.

        Raises:
            StoreError: it cannot be used.
        """
        with self._lock:
            result = job(self.store)
            self._step()
            return result

    # -- under the lock

    def _enter(self, waiter: Asking) -> None:
        with self._lock:
            self._queue.append(waiter)
            if len(self._queue) == 1:
                self._step()

    async def _wait(self, waiter: Asking) -> None:
        """Wait until something has happened. The head of the line watches the clock."""
        with self._lock:
            if waiter.is_served:
                return
            delay = self._look_at - clock.current().now() if self._queue[0] is waiter else math.inf
            if delay <= 0:
                self._step()
                return
        await (waiter.wait() if delay == math.inf else waiter.wait_for(delay))

    def _give_up(self, waiter: Asking) -> None:
        with self._lock:
            if waiter.grant is not None and waiter.store is not None:
                self._in_flight = max(self._in_flight - 1, 0)
                if waiter.at in self._starts:
                    self._starts.remove(waiter.at)
                self._return_unused(waiter.grant, waiter.store)
            elif waiter in self._queue:
                is_head = self._queue[0] is waiter
                self._queue.remove(waiter)
                if is_head:
                    self._look_at = -math.inf  # the next one may need less
                    self._wake_head()

    def _step(self) -> None:
        """Settle and serve, here and now."""
        heads, exchange = self._take()
        self.trips += 1
        outcome = self.store.exchange(exchange)
        assert outcome is not None
        self._serve(heads, outcome, self.store)

    def _take(self, *, with_ends: bool = True) -> tuple[list[Asking], Exchange]:
        """Return the head of the line, and what the store is to be told."""
        now = clock.current().now()
        while self._starts and self._starts[0] <= now:
            self._starts.popleft()
        heads: list[Asking] = list(itertools.islice(self._queue, TOGETHER))  # type: ignore[arg-type]  # no others wait here
        # The youngest first: each makes the one before it the last, whose place is free again.
        ends = sorted(self._ends, key=lambda end: end.seq, reverse=True)
        if with_ends:
            self._ends = []
        needs = [waiter.need for waiter in heads]
        return heads, Exchange(needs, ends if with_ends else (), len(self._starts), self._in_flight, HORIZON)

    def _serve(self, heads: list[Asking], outcome: ExchangeReply, store: Store) -> None:
        """Tell those who were asked for. One who has left meanwhile gives back what it got."""
        now = clock.current().now()
        self._look_at = -math.inf
        for waiter, grant in zip(heads, outcome.grants, strict=False):
            if not grant.seq:
                self._look_at = now + self._pause(grant)
                break
            if self._queue and self._queue[0] is waiter:
                self._queue.popleft()
                self._admit(waiter, grant, store)
                waiter.wake()
            else:
                self._return_unused(grant, store)
        self._wake_head()

    def _admit(self, waiter: Asking, grant: Grant, store: Store) -> None:
        waiter.grant, waiter.store = grant, store
        waiter.at = clock.current().now() + grant.wait
        self._in_flight += 1
        if grant.wait > 0:
            self._starts.append(waiter.at)

    def _return_unused(self, grant: Grant, store: Store) -> None:
        self._ends.append(End(grant.seq, 0, 0, grant.back))
        self._step()

    def _pause(self, refusal: Grant) -> float:
        """Return in how many seconds to ask again."""
        if refusal.back == 2:
            return math.inf  # whoever ends asks
        if refusal.back == 0 and self._starts:  # as soon as half of what is held has begun
            return max(self._starts[len(self._starts) // 2] - clock.current().now(), 0.0)
        return refusal.wait + HORIZON / 2

    def _wake_head(self) -> None:
        if self._queue:
            self._queue[0].wake()
