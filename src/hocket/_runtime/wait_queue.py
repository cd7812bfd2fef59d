"""A queue of waiters, first come first served, over all threads and event loops of the process.

A waiter is a thread or a task of an event loop, and waits there. It may be woken from any thread.
"""

import collections
import threading
import weakref

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket._runtime.detached import call_soon
from hocket._runtime.fork import after_fork
from hocket._runtime.mode import Mode

__all__ = ["WaitQueue", "Waiter"]


class Waiter:
    """A thread or a task that waits, in the mode that it was made in.

    Attributes:
        admitted: whether its turn has come; set by the queue, if it wants to.
    """

    __slots__ = ("_event", "_token", "admitted")

    def __init__(self, mode: Mode) -> None:
        self.admitted: bool = False
        self._token: EventLoopToken | None = current_token() if mode.is_async else None
        self._event: anyio.Event | threading.Event = anyio.Event() if mode.is_async else threading.Event()

    async def wait(self) -> None:
        """Wait to be woken. Check first whether there still is a reason: a waiter that was woken is not woken again."""
        if isinstance(self._event, threading.Event):
            self._event.wait()
            self._event.clear()
        else:
            await self._event.wait()
            self._event = anyio.Event()

    async def wait_for(self, seconds: float) -> None:
        """Wait to be woken, for so many seconds at most by the clock."""
        if not isinstance(self._event, threading.Event):
            with Alarm() as alarm:
                alarm.set(seconds)
                await self.wait()
        elif isinstance(clock.current(), clock.RealClock):
            self._event.wait(seconds)
            self._event.clear()
        else:
            clock.current().block(seconds)

    def wake(self) -> None:
        """Wake it, from any thread."""
        if self._token is None:
            self._event.set()
        else:
            call_soon(self._token, self._event.set)


class WaitQueue:
    """A queue of waiters and the lock that guards it; in a forked child, where nobody waits any more, both are new."""

    def __init__(self) -> None:
        self.reset()
        _queues.add(self)

    def reset(self) -> None:
        """Make the queue and its lock again, as in a forked child."""
        self._queue: collections.deque[Waiter] = collections.deque()
        self._lock = threading.RLock()  # a waiter of a dead loop gives up when it is collected, which may be in here


_queues: weakref.WeakSet[WaitQueue] = weakref.WeakSet()


@after_fork
def _start_anew() -> None:
    for queue in list(_queues):
        queue.reset()
