"""The rate limiter: asked before each real request, after the cache.

One that counts requests is asked for leave. One that reserves tokens is a reserver like a budget (`RateLimitReserver`): it
is told what an attempt may use, and what it has used; and it learns from what the server says of its limits.
"""

from typing import Any

from hocket._metering.attempt import Attempt, AttemptEnd
from hocket._metering.listeners import end_wait
from hocket._pipeline.call import Call, Next
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.errors import RateLimitError
from hocket.rate_limiters import BaseRateLimiter, Permit

__all__ = ["RateLimitReserver", "UsualDuration", "emit_wait", "reserves_tokens", "with_rate_limit"]


def with_rate_limit(limiter: BaseRateLimiter, call_next: Next) -> Next:
    """Return ``call_next`` behind ``limiter``."""

    async def acquire_first(call: Call) -> Any:
        asked_at = clock.current().now()
        if call.mode.is_async:
            await limiter.aacquire(blocking=True)
        else:
            limiter.acquire(blocking=True)
        await emit_wait(call, asked_at)
        return await call_next(call)

    return acquire_first


async def emit_wait(call: Call, since: float) -> None:
    """Tell the handlers, if it is worth telling, that the call was held back since then, in seconds by the clock."""
    if (waited := end_wait(since)) and call.runs.are_heard:
        await call.runs.emit_shared("on_limiter_wait", waited)


def reserves_tokens(limiter: BaseRateLimiter) -> bool:
    """Whether a limiter wants to know of tokens."""
    return type(limiter).areserve is not BaseRateLimiter.areserve


class UsualDuration:
    """How long attempts take: a mean and what they differ from it by, as TCP keeps them of round trips (RFC 6298)."""

    def __init__(self) -> None:
        self._mean: float | None = None
        self._deviation = 0.0

    def add(self, seconds: float) -> None:
        """Take the duration of an attempt."""
        if self._mean is None:
            self._mean, self._deviation = seconds, seconds / 2
        else:
            self._deviation += (abs(seconds - self._mean) - self._deviation) / 4
            self._mean += (seconds - self._mean) / 8

    @property
    def bound(self) -> float:
        """Seconds that few attempts pass; 0: nothing is known."""
        return 0.0 if self._mean is None else self._mean + 4 * self._deviation


class RateLimitReserver:
    """Reserves for each attempt with a limiter (`hocket._metering.attempt.Reserver`).

    A turn is to leave the attempt the time that attempts take, between a twentieth and a half of the call's time: else those
    at the front of a long line would all go just before their time is over.
    """

    def __init__(self, limiter: BaseRateLimiter, usual: UsualDuration | None = None) -> None:
        self._limiter = limiter
        self._usual = usual or UsualDuration()

    async def reserve(self, attempt: Attempt) -> "_RateLimitReservation":
        """Wait until the attempt may be made."""
        need, mode = await attempt.estimate_need(), attempt.mode
        within = None
        if attempt.ends_at is not None:
            left = attempt.ends_at - clock.current().now()
            within = left - min(max(self._usual.bound, left / 20), left / 2)
        if mode.is_async:
            permit = await self._limiter.areserve(need, within=within)
        else:
            permit = self._limiter.reserve(need, within=within)
        assert permit is not None  # it was told to wait
        return _RateLimitReservation(self._limiter, permit, mode, self._usual)


class _RateLimitReservation:
    """A permit for an attempt."""

    def __init__(self, limiter: BaseRateLimiter, permit: Permit, mode: Mode, usual: UsualDuration) -> None:
        self._limiter = limiter
        self._permit = permit
        self._is_async = mode.is_async
        self._usual = usual

    @property
    def is_local(self) -> bool:
        return self._permit.is_local

    async def settle(self, end: AttemptEnd) -> None:
        if end.outcome == "ok" and end.began_at is not None:
            self._usual.add(end.ended_at - end.began_at)
        try:
            if isinstance(end.error, RateLimitError):  # first: what goes back here would let the next one go
                seconds, limiter = end.error.retry_after, self._limiter
                await limiter.aslow_down(seconds) if self._is_async else limiter.slow_down(seconds)
        finally:
            try:
                await self._end(end)
            finally:
                await self._learn(end)

    async def _end(self, end: AttemptEnd) -> None:
        if not end.is_billed:
            await self._permit.arefund() if self._is_async else self._permit.refund()
            return
        used = self._permit.tokens
        if end.usage is not None:
            used = end.usage["input_tokens"], end.usage["output_tokens"]
        await self._permit.asettle(used) if self._is_async else self._permit.settle(used)

    async def _learn(self, end: AttemptEnd) -> None:
        limiter = self._limiter
        if end.reply is not None:
            headers = end.reply.headers
            await limiter.alearn(headers) if self._is_async else limiter.learn(headers)
