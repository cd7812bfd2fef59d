"""Requests per second, in one process.

It is a queue with a schedule (the generic cell rate algorithm): it knows when the next request is due,
only the first in the queue watches the clock, and each one that is let through wakes the next. Nobody polls, nobody
jumps the queue, and a late wake-up does not shift the schedule, so the rate asked for is the rate given. LangChain's
wakes every waiter ten times a second and gives at most 10 requests a second by default, whatever is asked for.
"""

from hocket._runtime import clock
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket._runtime.wait_queue import Waiter, WaitQueue
from hocket.errors import InvalidInput
from hocket.errors.hints import explain_arguments
from hocket.rate_limiters.base import BaseRateLimiter

__all__ = ["InMemoryRateLimiter"]

LATENESS = 0.05
"""Seconds by which a waiter may wake too late without a loss. What is missed beyond, while a loop stood still, is
missed: all waiting calls would go at once."""


class InMemoryRateLimiter(WaitQueue, BaseRateLimiter):
    """Lets ``requests_per_second`` through, first come, first served, over all threads and event loops of the process.

    Args:
        requests_per_second: may be a fraction.
        check_every_n_seconds: taken for LangChain's sake and not used: nobody polls here.
        max_bucket_size: requests that may go at once after a pause; the bucket is empty at first, as in LangChain.

    Raises:
        InvalidInput: a rate that is not above 0, or a bucket under 1.
    """

    @explain_arguments(rpm="write requests_per_second=..., a sixtieth of it", rps="requests_per_second")
    def __init__(
        self, *, requests_per_second: float = 1, check_every_n_seconds: float = 0.1, max_bucket_size: float = 1
    ) -> None:
        if not requests_per_second > 0:
            raise InvalidInput(f"requests_per_second is {requests_per_second}; it must be above 0")
        if not max_bucket_size >= 1:
            raise InvalidInput(f"max_bucket_size is {max_bucket_size}; below 1 no request would ever be let through")
        self.requests_per_second = requests_per_second
        self.check_every_n_seconds = check_every_n_seconds
        self.max_bucket_size = max_bucket_size
        self._interval = 1 / requests_per_second
        self._saved = (max_bucket_size - 1) * self._interval
        self._due: float | None = None  # when the next request may go
        super().__init__()

    def acquire(self, *, blocking: bool = True) -> bool:
        """Wait in this thread for permission. See `BaseRateLimiter.acquire`."""
        return drive(self._acquire(BLOCKING, blocking))

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """Wait in this event loop for permission. See `BaseRateLimiter.aacquire`."""
        return await self._acquire(ASYNC, blocking)

    async def _acquire(self, mode: Mode, blocking: bool) -> bool:
        if self._free():
            return True
        if not blocking:
            return False
        waiter = Waiter(mode)
        self._enqueue(waiter)
        try:
            while (delay := self._turn(waiter)) != 0:
                await (waiter.wait() if delay is None else mode.sleep(delay))
        except BaseException:
            self._give_up(waiter)
            raise
        return True

    def _free(self) -> bool:
        """Take a permit if one is due and nobody waits for it."""
        with self._lock:
            if self._queue:
                return False
            now = clock.current().now()
            if self._due is None:
                self._due = now + self._interval
            if now < self._due:
                return False
            self._take(self._due, now - self._saved)
            return True

    def _enqueue(self, waiter: Waiter) -> None:
        with self._lock:
            self._queue.append(waiter)

    def _turn(self, waiter: Waiter) -> float | None:
        """Take the waiter's permit and return 0; or return the seconds until it is due, or None: others come first."""
        with self._lock:
            if self._queue[0] is not waiter:
                return None
            assert self._due is not None
            now = clock.current().now()
            delay = self._due - now
            if delay > 0:
                return delay
            self._take(self._due, now - max(self._saved, LATENESS))
            self._queue.popleft()
            self._wake_first()
            return 0

    def _take(self, due: float, earliest: float) -> None:
        """Let one through that was ``due``; what was missed before ``earliest`` is not made good."""
        self._due = max(due, earliest) + self._interval

    def _give_up(self, waiter: Waiter) -> None:
        with self._lock:
            if waiter in self._queue:
                first = self._queue[0] is waiter
                self._queue.remove(waiter)
                if first:
                    self._wake_first()

    def _wake_first(self) -> None:
        if self._queue:
            self._queue[0].wake()
