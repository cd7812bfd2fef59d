"""The rate limiter: asked before each real request, after the cache.

One that counts requests is asked for leave. One that reserves tokens is a reserver like a budget (`RateLimitReserver`): it
is told what an attempt may use, and what it has used; and it learns from what the server says of its limits.
"""

from typing import Any

from hocket._metering.attempt import Attempt, AttemptEnd
from hocket._pipeline.call import Call, Next
from hocket._runtime import clock
from hocket._runtime.runtime import Runtime
from hocket.errors import RateLimitError
from hocket.rate_limiters import BaseRateLimiter, Permit

__all__ = ["NOTICEABLE", "RateLimitReserver", "emit_wait", "reserves_tokens", "with_rate_limit"]

NOTICEABLE = 0.001
"""Seconds of waiting that are worth an event."""


def with_rate_limit(limiter: BaseRateLimiter, call_next: Next) -> Next:
    """Return ``call_next`` behind ``limiter``."""

    async def acquire_first(call: Call) -> Any:
        asked_at = clock.current().now()
        if call.runtime.is_async:
            await limiter.aacquire(blocking=True)
        else:
            limiter.acquire(blocking=True)
        await emit_wait(call, asked_at)
        return await call_next(call)

    return acquire_first


async def emit_wait(call: Call, since: float) -> None:
    """Tell the handlers, if it is worth telling, that the call was held back since then, in seconds by the clock."""
    if call.runs.are_heard:
        waited = clock.current().now() - since
        if waited >= NOTICEABLE:
            await call.runs.emit_shared("on_limiter_wait", waited)


def reserves_tokens(limiter: BaseRateLimiter) -> bool:
    """Whether a limiter wants to know of tokens."""
    return type(limiter).areserve is not BaseRateLimiter.areserve


class RateLimitReserver:
    """Reserves for each attempt with a limiter (`hocket._metering.attempt.Reserver`)."""

    def __init__(self, limiter: BaseRateLimiter) -> None:
        self._limiter = limiter

    async def reserve(self, attempt: Attempt) -> "_RateLimitReservation":
        """Wait until the attempt may be made."""
        need, runtime = await attempt.estimate_need(), attempt.runtime
        permit = await self._limiter.areserve(need) if runtime.is_async else self._limiter.reserve(need)
        assert permit is not None  # it was told to wait
        return _RateLimitReservation(self._limiter, permit, runtime)


class _RateLimitReservation:
    """A permit for an attempt."""

    def __init__(self, limiter: BaseRateLimiter, permit: Permit, runtime: Runtime) -> None:
        self._limiter = limiter
        self._permit = permit
        self._is_async = runtime.is_async

    @property
    def is_local(self) -> bool:
        return self._permit.is_local

    async def settle(self, end: AttemptEnd) -> None:
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
        if isinstance(end.error, RateLimitError):
            seconds = end.error.retry_after
            await limiter.aslow_down(seconds) if self._is_async else limiter.slow_down(seconds)
