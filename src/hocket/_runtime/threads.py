"""Items made in a worker thread, handed to an event loop.

A hop between thread and loop costs some 50 microseconds, so there is none per item: the thread fills a bounded buffer
and wakes the loop only when it sleeps. The thread runs as a detached task, since it cannot be stopped, only asked to:
a cancelled reader leaves at once and the thread ends at its next item.
"""

import collections
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.detached import soon, spawn
from hocket._runtime.runtime import ASYNC

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
    buffer: collections.deque[T] = collections.deque()
    room = threading.Event()
    failure: list[BaseException] = []
    left = over = False
    wake: anyio.Event | None = None
    token = current_token()

    def rouse() -> None:
        if wake is not None:
            wake.set()

    def put(item: T) -> bool:
        buffer.append(item)
        if wake is not None:
            soon(token, rouse)
        while len(buffer) >= BOUND and not left:
            room.clear()
            if len(buffer) >= BOUND and not left:
                room.wait()
        return left

    def run() -> None:
        nonlocal over
        try:
            if not left:  # while it waited for a free thread
                work(put)
        except BaseException as error:  # raised where it is awaited
            failure.append(error)
        finally:
            over = True
            soon(token, rouse)

    async def thread() -> None:
        nonlocal over
        try:
            await ASYNC.sync(run)
        except Exception as error:  # no thread could be had
            failure.append(error)
            over = True
            rouse()

    spawn(thread)
    try:
        while True:
            while buffer:
                waiting = each(buffer.popleft())
                if len(buffer) <= BOUND // 2:
                    room.set()
                if waiting is not None:
                    await waiting
            if over and not buffer:
                break
            wake = anyio.Event()
            if not buffer and not over:  # looked at again: the thread may not have seen that we wait
                await wake.wait()
            wake = None
    finally:
        left = True
        room.set()
    if failure:
        raise failure.pop()
