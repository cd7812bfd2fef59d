"""Listeners to what a context's requests meet, also where nobody shows it. They must not raise, nor wait.

What a server says of the tokens before the first word is no chunk: what fails behind it could not be tried again. Where
nothing follows, it was paid for all the same.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from hocket._runtime import clock
from hocket.outputs import ChatGenerationChunk

__all__ = ["end_wait", "opening_listener", "reply_listener", "wait_listener"]

reply_listener: ContextVar[Callable[[int, Mapping[str, str]], None] | None] = ContextVar("reply_listener", default=None)
"""Told of each reply as soon as its head is there: its status and its headers, names in lower case."""

opening_listener: ContextVar[Callable[[ChatGenerationChunk], None] | None] = ContextVar("opening", default=None)
"""Told, as a chunk that nobody is handed, of what the stream that is read says before its answer."""

wait_listener: ContextVar[Callable[[float, float], None] | None] = ContextVar("wait_listener", default=None)
"""Told of each wait for a limit: its beginning and its end, in seconds by the clock."""

_NOTICEABLE = 0.001


def end_wait(since: float) -> float:
    """Tell of a wait that has begun then and ends now; return its seconds, 0 where they are not worth telling."""
    now = clock.current().now()
    waited = now - since if now - since >= _NOTICEABLE else 0.0
    if waited and (listener := wait_listener.get()) is not None:
        listener(since, now)
    return waited
