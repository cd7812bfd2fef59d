"""Listeners to waits for a limit: who measures how long a model takes leaves them out."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeAlias

from hocket._runtime import clock

__all__ = ["WaitListener", "end_wait", "wait_listener"]

NOTICEABLE = 0.001
"""Seconds of waiting that are worth telling."""

WaitListener: TypeAlias = Callable[[float, float], None]
"""Takes the beginning and the end of a wait, in seconds by the clock. Must not raise, nor wait."""

wait_listener: ContextVar[WaitListener | None] = ContextVar("hocket_wait_listener", default=None)
"""Told of each time that a request of this context was held back."""


def end_wait(since: float) -> float:
    """Tell of a wait that has begun then and ends now; return its seconds, 0 where they are not worth telling."""
    now = clock.current().now()
    if now - since < NOTICEABLE:
        return 0.0
    if (listener := wait_listener.get()) is not None:
        listener(since, now)
    return now - since
