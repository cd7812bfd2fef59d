"""Tasks that belong to no caller.

A stream's producer and a shared flight outlive the task that started them, which structured concurrency forbids on
purpose; anyio therefore has no such thing, and these few lines hold the two native ways. Whoever spawns a task here
owes it an end: every user keeps a reason to cancel it.

That is done by a cancel scope, not by ``task.cancel()``: what libraries shield while they clean up (httpx its connections)
stays whole. The price is anyio's rule: clean-up that has to wait must be shielded, also on asyncio.
"""

import contextlib
import contextvars
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from hocket._runtime.cancellation import hide_if_late, hide_task

if TYPE_CHECKING:
    import asyncio

__all__ = ["Detached", "call_soon", "spawn"]

_tasks: set[object] = set()  # asyncio's tasks: the loop itself holds them weakly


class Detached:
    """A task that belongs to no caller; ``token`` is its loop's."""

    __slots__ = ("_scope", "has_begun", "task", "token")

    def __init__(self, token: EventLoopToken) -> None:
        self.token = token
        self.has_begun = False
        self.task: asyncio.Task[None] | None = None
        self._scope = anyio.CancelScope()

    def cancel(self) -> None:
        """Cancel it, in the thread of its loop. One that has not started starts all the same: let it see that it is late."""
        self._scope.cancel()

    def hide(self) -> None:
        """Have the end of asyncio's loop leave it alone, for a caller that has been cancelled, and waits for it."""
        if self.task is not None:
            hide_task(self.task)

    async def run(self, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.has_begun = True
        with self._scope:
            await main()


def spawn(main: Callable[[], Coroutine[Any, Any, None]], *, is_awaited: bool = False) -> Detached:
    """Start ``main`` in the running loop, in a copy of the caller's context, and return its task.

    Args:
        main: what it does.
        is_awaited: whether the caller waits for its end. Then the end of asyncio's loop leaves it alone, if the caller has
            been cancelled before.

    ``main`` must not raise anything but a cancellation: on trio that would crash the whole run.
    With eager tasks (Python 3.12) it may have run up to its first wait, or to its end, when this returns.
    """
    token = current_token()
    detached = Detached(token)
    if hasattr(token.native_token, "create_task"):  # asyncio's; importing that for a check costs a tenth of our import
        _spawn_in_asyncio(detached, main, is_awaited)
    else:
        import trio

        trio.lowlevel.spawn_system_task(detached.run, main, context=contextvars.copy_context())
    return detached


def _spawn_in_asyncio(detached: Detached, main: Callable[[], Coroutine[Any, Any, None]], is_awaited: bool) -> None:
    loop: Any = detached.token.native_token
    task = loop.create_task(detached.run(main))
    _tasks.add(task)

    def end(task: object) -> None:
        _tasks.discard(task)
        if not detached.has_begun:  # the loop's end struck it before its first step, and somebody may wait for its end
            detached.cancel()
            _spawn_in_asyncio(detached, main, is_awaited)

    task.add_done_callback(end)
    if is_awaited:
        detached.task = task
        hide_if_late(task)


def call_soon(token: EventLoopToken, call: Callable[[], object]) -> None:
    """Have the loop of ``token`` call ``call`` soon. From any thread, also from a finaliser; a dead loop ignores it."""
    native: Any = token.native_token
    post = native.call_soon_threadsafe if hasattr(native, "create_task") else native.run_sync_soon
    with contextlib.suppress(RuntimeError):  # the loop has ended; trio's RunFinishedError is one too
        post(call)
