"""The rate limiter: asked before each real request, after the cache."""

from typing import Any

from hocket._pipeline.call import Call, Next
from hocket._runtime import clock
from hocket.rate_limiters import BaseRateLimiter

__all__ = ["emit_wait", "with_rate_limit"]

NOTICEABLE = 0.001  # seconds of waiting worth an event


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
