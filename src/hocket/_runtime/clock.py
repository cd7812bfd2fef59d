"""The time, as a seam.

Everything in hocket that waits for time to pass (a rate limiter, a delay, a retry) asks this module and not ``time`` or
the event loop, so that a test can put a virtual clock underneath and never sleep for real. ``hocket.testing`` ships
that clock; nothing else replaces it.
"""

import time
from typing import Protocol

import anyio

__all__ = ["Clock", "RealClock", "current", "use"]


class Clock(Protocol):
    """What passes for time. ``now`` is in seconds from an arbitrary start and never goes back; ``time`` is the date."""

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    def time(self) -> float:
        """Return the time in seconds since 1970, as it is told outside of this process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait without holding up the event loop."""
        ...

    def block(self, seconds: float) -> None:
        """Wait in this thread."""
        ...


class RealClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Return the monotonic time."""
        return time.monotonic()

    def time(self) -> float:
        """Return the machine's wall-clock time."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait in the event loop."""
        await anyio.sleep(seconds)

    def block(self, seconds: float) -> None:
        """Wait in this thread."""
        time.sleep(seconds)


_current: Clock = RealClock()


def current() -> Clock:
    """Return the clock in use."""
    return _current


def use(clock: Clock) -> Clock:
    """Put ``clock`` in use for the whole process and return the one it replaces."""
    global _current
    before, _current = _current, clock
    return before
