"""The rate limiter: asked before each real request, after the cache."""

from typing import Any

from hocket._pipeline.call import Call, Go
from hocket._runtime import clock
from hocket.rate_limiters import BaseRateLimiter

__all__ = ["limited", "tell_wait"]

NOTICEABLE = 0.001  # seconds of waiting worth an event


def limited(limiter: BaseRateLimiter, go: Go) -> Go:
    """Return ``go`` behind ``limiter``."""

    async def acquire_and_go(call: Call) -> Any:
        asked = clock.current().now()
        if call.runtime.is_async:
            await limiter.aacquire(blocking=True)
        else:
            limiter.acquire(blocking=True)
        await tell_wait(call, asked)
        return await go(call)

    return acquire_and_go


async def tell_wait(call: Call, since: float) -> None:
    """Tell the handlers, if it is worth telling, that the call was held back since then, by the clock."""
    if call.runs or call.is_raw:
        waited = clock.current().now() - since
        if waited >= NOTICEABLE:
            await call.note("on_limiter_wait", waited)
