"""Handlers that are told behind the run's back, because they are slow.

Each has a queue of its own in each event loop, drained by a task that lives only while there is something in it: so
nothing is left of a handler that was made for one request. The queue is bounded: a run that is always faster than its
handler waits for it in the end, which is better than to run out of memory, or to drop what happened.
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
    """What one handler is still to be told in one event loop; the event that it is being told counts, too."""

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
    """Have ``tell`` called after all that ``handler`` is still to be told. Waits while its queue is full."""
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
    """Wait until the handlers with ``background=True`` have been told all that has happened in the running event loop.

    Await it before a program, or its event loop, ends: what is still in a queue then is lost, and logged.

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
