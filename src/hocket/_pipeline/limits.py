"""The limits of one call: on time, and on attempts."""

from collections.abc import Awaitable

from hocket._runtime import clock
from hocket._runtime.alarm import Alarm
from hocket.retries import RetryPolicy
from hocket.timeouts import Timeout

__all__ = ["NO_LIMITS", "CallLimits"]


class CallLimits:
    """What a call may take, and when its time is over.

    Args:
        timeout: limits on time; None: there are none.
        retry: when a failed attempt is followed by another; None: never.
        ends_at: the deadline of the whole call, in seconds by the clock; None: not known yet, or there is none.
    """

    __slots__ = ("_alarm", "ends_at", "retry", "timeout")

    def __init__(
        self, timeout: Timeout | None = None, retry: RetryPolicy | None = None, ends_at: float | None = None
    ) -> None:
        self.timeout: Timeout | None = timeout
        self.retry: RetryPolicy | None = retry
        self.ends_at: float | None = ends_at
        self._alarm: Alarm | None = None

    @property
    def total(self) -> float | None:
        """The seconds that the whole call may take; None: any number."""
        return None if self.timeout is None else self.timeout.total

    def start(self) -> None:
        """Have the time of the whole call begin now, if it is limited and has not begun."""
        total = self.total
        if total is not None and self.ends_at is None:
            self.ends_at = clock.current().now() + total

    @property
    def is_over(self) -> bool:
        """Whether the call has no time left."""
        return self.ends_at is not None and clock.current().now() >= self.ends_at

    def watch(self, alarm: Alarm, left: float) -> None:
        """Have ``alarm`` ring in ``left`` seconds, or later by the time that the consumer takes."""
        self._alarm = alarm
        alarm.set(left)

    async def pause_for(self, waiting: Awaitable[None]) -> None:
        """Await the consumer. The clock stands still meanwhile: the consumer has all the time in the world."""
        assert self.ends_at is not None
        left = self.ends_at - clock.current().now()
        if self._alarm is not None:
            self._alarm.set(None)
        await waiting
        self.ends_at = clock.current().now() + left
        if self._alarm is not None:
            self._alarm.set(left)

    def copy(self) -> "CallLimits":
        """Return the same limits for a request that several calls share, with a deadline of its own."""
        return CallLimits(self.timeout, self.retry, self.ends_at)

    def extend(self, ends_at: float | None) -> None:
        """Move the deadline to ``ends_at``, if that is later; None: take it away."""
        if self.ends_at is not None:
            self.ends_at = None if ends_at is None else max(self.ends_at, ends_at)


NO_LIMITS = CallLimits()
"""The limits of a call that has none. Shared, since nothing sets a deadline without a timeout."""
