"""The worker threads of each event loop: how many may work at once, and what happens while one of them waits.

Sync code in a worker thread may call a sync verb, which runs on an event loop and needs worker threads in turn. If the
thread that waits for it kept its place, as many nested calls as there are places would wait for one another for ever. So
a thread lends its place for as long as it waits for a loop; the number bounds the threads that work.
"""

import contextvars
import weakref
from collections.abc import Generator
from contextlib import contextmanager

import anyio
from anyio.lowlevel import EventLoopToken, current_token

__all__ = ["MAX_THREADS", "lend_place", "lent_place", "origin", "thread_limiter"]

MAX_THREADS = 256  # per event loop, of those that work

_limiters: "weakref.WeakKeyDictionary[object, anyio.CapacityLimiter]" = weakref.WeakKeyDictionary()

origin: contextvars.ContextVar[EventLoopToken | None] = contextvars.ContextVar("hocket_origin", default=None)
"""The event loop that this worker thread was sent from; None: this is no worker thread of hocket's."""


def thread_limiter(token: EventLoopToken) -> "anyio.CapacityLimiter":
    """Return the limiter of hocket's worker threads on one event loop: its own, not anyio's default, which is shared."""
    loop: object = token.native_token  # a `RunVar` would ask again which loop this is, which takes a microsecond
    limiter = _limiters.get(loop)
    if limiter is None:
        limiter = _limiters[loop] = anyio.CapacityLimiter(MAX_THREADS)
    return limiter


def lend_place(token: EventLoopToken, count: int = 1) -> None:
    """Lend places of threads that wait for the running loop to others; with -1 one takes its place again."""
    thread_limiter(token).total_tokens += count


@contextmanager
def lent_place() -> Generator[None]:
    """On a loop: lend the place of the thread that waits for this code, if it is a worker thread of this loop's."""
    sent_from, here = origin.get(), current_token()
    if sent_from is None or sent_from.native_token is not here.native_token:
        yield
        return
    lend_place(here)
    try:
        yield
    finally:
        lend_place(here, -1)
