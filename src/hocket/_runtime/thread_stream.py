"""Items made in a worker thread, handed to an event loop.

A hop between thread and loop costs some 50 microseconds, so there is none per item: the thread fills a bounded buffer
and wakes the loop only when it sleeps. The thread runs as a detached task, since it cannot be stopped, only asked to:
a cancelled reader leaves at once and the thread ends at its next item.
"""

import collections
import functools
import threading
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

from hocket._runtime.cancellation import wait_event
from hocket._runtime.detached import call_soon, spawn
from hocket._runtime.mode import ASYNC
from hocket._runtime.worker_threads import lend_place

__all__ = ["from_thread"]

T = TypeVar("T")

BOUND = 64


async def from_thread(work: Callable[[Callable[[T], bool]], None], each: Callable[[T], Awaitable[None] | None]) -> None:
    """Run ``work(put)`` in a worker thread and call ``each(item)`` in the loop for every item that it puts.

    Args:
        work: sync code. ``put(item)`` blocks while the loop is `BOUND` items behind, and returns True when nobody
            listens any more: ``work`` should then return.
        each: called in the loop, in order; what it returns is awaited unless None.

    Raises:
        what ``work`` or ``each`` raise.
    """
    bridge = _Bridge(work)
    spawn(bridge.thread)
    try:
        await bridge.drain(each)
    finally:
        bridge.leave()
    if bridge.failure is not None:
        failure, bridge.failure = bridge.failure, None
        raise failure


class _Bridge(Generic[T]):
    """The buffer between a thread that fills it and a loop that empties it."""

    def __init__(self, work: Callable[[Callable[[T], bool]], None]) -> None:
        self.work = work
        self.failure: BaseException | None = None
        self._buffer: collections.deque[T] = collections.deque()
        self._room = threading.Event()
        self._left = self._over = False
        self._wake: anyio.Event | None = None
        self._token = anyio.lowlevel.current_token()

    def _rouse(self) -> None:
        if self._wake is not None:
            self._wake.set()

    # -- in the thread

    def put(self, item: T) -> bool:
        self._buffer.append(item)
        if self._wake is not None:
            call_soon(self._token, self._rouse)
        while len(self._buffer) >= BOUND and not self._left:
            self._room.clear()
            if len(self._buffer) >= BOUND and not self._left:
                call_soon(self._token, functools.partial(lend_place, self._token))
                self._room.wait()
                call_soon(self._token, functools.partial(lend_place, self._token, -1))
        return self._left

    def _run(self) -> None:
        try:
            if not self._left:  # while it waited for a free thread
                self.work(self.put)
        except BaseException as error:  # raised where it is awaited
            self.failure = error
        finally:
            self._over = True
            call_soon(self._token, self._rouse)

    # -- in the loop

    async def thread(self) -> None:
        try:
            await ASYNC.call_sync(self._run)
        except anyio.get_cancelled_exc_class():  # the loop is ending
            raise
        except BaseException as error:  # no thread could be had
            self.failure, self._over = error, True
            self._rouse()

    async def drain(self, each: Callable[[T], Awaitable[None] | None]) -> None:
        while True:
            for _ in range(BOUND):
                if not self._buffer:
                    break
                waiting = each(self._buffer.popleft())
                if len(self._buffer) <= BOUND // 2:
                    self._room.set()
                if waiting is not None:
                    await waiting
            else:  # others want a turn, however fast the thread is
                await anyio.lowlevel.checkpoint()
            if self._over and not self._buffer:
                return
            self._wake = anyio.Event()
            if not self._buffer and not self._over:  # looked at again: the thread may not have seen that we wait
                await wait_event(self._wake)
            self._wake = None

    def leave(self) -> None:
        self._left = True
        self._room.set()
