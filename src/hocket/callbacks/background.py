"""Slow handlers. They hear of events in tasks of their own, so that no run waits for them.

Each handler has one queue in each event loop. A task empties the queue, and ends when it is empty: so a handler that was
made for one request leaves nothing behind. The queue is bounded: where events come faster than the handler takes them,
the run waits in the end. Otherwise memory would run out, or events would be lost.
"""

import collections
import contextlib
import logging
from collections.abc import Awaitable, Callable

import anyio
from anyio.lowlevel import RunVar

from hocket._runtime.detached import spawn
from hocket._runtime.portal import is_here

__all__ = ["flush", "put"]

BOUND = 1000  # events that wait for one handler

_log = logging.getLogger("hocket.callbacks")


class _Queue:
    """The events that one handler has not heard yet in one event loop, with the one that it hears now."""

    def __init__(self) -> None:
        self.waiting: collections.deque[Callable[[], Awaitable[None]]] = collections.deque()
        self.told = anyio.Event()  # replaced at each event


_queues: RunVar[dict[object, _Queue]] = RunVar("hocket_background")


def _mine() -> dict[object, _Queue]:
    try:
        return _queues.get()
    except LookupError:
        made: dict[object, _Queue] = {}
        _queues.set(made)
        return made


async def put(handler: object, tell: Callable[[], Awaitable[None]]) -> None:
    """Add ``tell`` to the queue of ``handler``: it is called after the events before it. Waits while the queue is full."""
    if is_here():  # under a sync verb, whose caller cannot await `flush`
        await tell()
        return
    queues, key = _mine(), id(handler)
    while (queue := queues.get(key)) is not None and len(queue.waiting) >= BOUND:
        await queue.told.wait()
    if queue is not None:
        queue.waiting.append(tell)
        return
    made = queues[key] = _Queue()
    made.waiting.append(tell)

    async def drain() -> None:
        try:
            while made.waiting:
                with contextlib.suppress(
                    Exception
                ):  # of a handler that insists: there is no run here that it could fail
                    await made.waiting[0]()
                made.waiting.popleft()
                told, made.told = made.told, anyio.Event()
                told.set()
        finally:
            del queues[key]
            made.told.set()
            if made.waiting:
                left = len(made.waiting)
                _log.warning("the loop ended before %r was told %d events; await flush() first", handler, left)

    spawn(drain)


async def flush(timeout: float | None = None) -> int:  # noqa: ASYNC109  # it says what is left
    """Wait until the handlers with ``background=True`` have heard all events of the running event loop.

    Await it before the event loop ends: events that are in a queue then are lost, and a warning is logged.

    Args:
        timeout: seconds after which to give up; None: never.

    Returns:
        how many events are left: 0, unless it gave up.
    """
    queues = _mine()
    with anyio.move_on_after(timeout):
        while queues:
            await next(iter(queues.values())).told.wait()
    return sum(len(queue.waiting) for queue in queues.values())
