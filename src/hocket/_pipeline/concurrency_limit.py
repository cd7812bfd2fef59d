"""A cap on a model's calls in flight, over verbs, batches, threads and event loops.

A place is taken for each attempt, and given back before the pause after it: a call that waits is not in flight. So an
answer out of a cache takes none, equal calls that share a request take one, and a stream keeps its own until its hook
has ended. It is taken before the rate limiter is asked, whose permit says *now*.
"""

from typing import Any

from hocket._pipeline.call import Call, Next
from hocket._pipeline.observe import check_total
from hocket._pipeline.rate_limit import emit_wait
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket._runtime.wait_queue import Waiter, WaitQueue

__all__ = ["ConcurrencyLimiter", "with_concurrency_limit"]


class ConcurrencyLimiter(WaitQueue):
    """The places of one model, given away first come first served. Nobody polls."""

    def __init__(self) -> None:
        super().__init__()
        self._most = 0

    def reset(self) -> None:
        super().reset()
        self._taken = 0

    def resize(self, most: int) -> None:
        """Have ``most`` places from now on; calls that are in flight already go on."""
        with self._lock:
            self._most = most
            self._admit()

    async def acquire(self, mode: Mode) -> None:
        """Wait for a place."""
        with self._lock:
            if self._taken < self._most and not self._queue:
                self._taken += 1
                return
            waiter = Waiter(mode)
            self._queue.append(waiter)
        try:
            while not waiter.admitted:
                await waiter.wait()
        except BaseException:
            self._give_up(waiter)
            raise

    def release(self) -> None:
        """Give a place back, and so to the first who waits."""
        with self._lock:
            self._taken = max(self._taken - 1, 0)  # none are taken in a forked child, where a call may still end
            self._admit()

    def _give_up(self, waiter: Waiter) -> None:
        with self._lock:
            if waiter.admitted:  # just now, too late
                self.release()
            elif waiter in self._queue:
                self._queue.remove(waiter)

    def _admit(self) -> None:
        while self._queue and self._taken < self._most:
            self._taken += 1
            waiter = self._queue.popleft()
            waiter.admitted = True
            waiter.wake()


def with_concurrency_limit(limiter: ConcurrencyLimiter, call_next: Next) -> Next:
    """Return ``call_next``, which waits for a place first."""

    async def acquire_first(call: Call) -> Any:
        asked_at = clock.current().now()
        await limiter.acquire(call.mode)
        try:
            check_total(call)
            await emit_wait(call, asked_at)
            return await call_next(call)
        finally:
            limiter.release()

    return acquire_first
