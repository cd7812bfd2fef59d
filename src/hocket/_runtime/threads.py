"""How many worker threads sync hooks, handlers and tools may use at once."""

import weakref

import anyio
from anyio.lowlevel import EventLoopToken

__all__ = ["MAX_THREADS", "thread_limiter"]

MAX_THREADS = 256  # per event loop

_limiters: "weakref.WeakKeyDictionary[object, anyio.CapacityLimiter]" = weakref.WeakKeyDictionary()


def thread_limiter(token: EventLoopToken) -> "anyio.CapacityLimiter":
    """Return the limiter of hocket's worker threads on one event loop: its own, not anyio's default, which is shared."""
    loop: object = token.native_token  # a `RunVar` would ask anew which loop this is, which takes a microsecond
    limiter = _limiters.get(loop)
    if limiter is None:
        limiter = _limiters[loop] = anyio.CapacityLimiter(MAX_THREADS)
    return limiter
