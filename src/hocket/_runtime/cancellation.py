"""Waiting that a cancellation does not cut short: the end of a run is told to its end.

A shielded scope holds off other scopes, and on trio there is nothing else. On asyncio it does nothing against
``task.cancel()``, which ``asyncio.timeout`` and ``wait_for`` are made of, and which strikes whatever the task waits for.
So there the work gets a task of its own, and the caller waits for it again. ``asyncio.run`` cancels every task there is
when its main one has ended, so that a server that shuts down cancels a second time. From that the task of the work is
hidden, once its caller has been cancelled; the caller is not hidden, and the loop waits for it.
"""

import contextvars
import math
import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    import asyncio  # its import costs time on trio

__all__ = [
    "current_task_id",
    "hidden_tasks",
    "hide_if_late",
    "hide_task",
    "is_cancellation",
    "is_cancelled",
    "is_in_trio",
    "is_stray",
    "refuse",
    "run_shielded",
    "running_asyncio_loop",
    "wait_event",
    "wait_shielded",
]

LOOP_END_GRACE = 5.0
"""Seconds that shielded work may go on while its loop ends."""


def current_task_id() -> int:
    """Return an id of the current task, which no other task has while this one lives.

    It is not anyio's, on asyncio: to ask for that takes several microseconds.
    """
    loop = _asyncio_loop()
    return anyio.get_current_task().id if loop is None else id(sys.modules["asyncio"].current_task(loop))


def is_cancelled() -> bool:
    """Whether the current task is in a cancelled scope: if it goes on, its next wait will be cancelled, too."""
    return anyio.current_effective_deadline() == -math.inf


def is_cancellation(error: BaseException) -> bool:
    """Whether an error is the running event loop's way to cancel a task."""
    return isinstance(error, anyio.get_cancelled_exc_class())


def is_stray(error: BaseException) -> bool:
    """Whether a cancellation is none of the current task's: something that it waited for was cancelled, and it was not."""
    import asyncio  # which is there already, unless the loop is trio's

    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not asyncio's
        return True
    return task is not None and not task.cancelling() and not is_cancelled()


def only(error: BaseException) -> BaseException:
    """Return the first error in a group, of a task group whose tasks raise nothing that says something by itself.

    Such a group is made all the same, for one: of Ctrl-C, which trio has a task group raise that is waiting for its tasks.
    """
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


async def wait_event(event: "anyio.Event") -> None:
    """Wait for ``event`` in a loop that may go round for long.

    anyio cancels an asyncio task only when it finds it waiting. A producer and a consumer who wake each other in turn
    never look so, and no timeout would ever end them.
    """
    await event.wait()
    await anyio.lowlevel.checkpoint_if_cancelled()


async def refuse() -> None:
    """Stop a task that was cancelled and goes on all the same."""
    await anyio.lowlevel.checkpoint()  # on trio it raises
    raise anyio.get_cancelled_exc_class()


async def wait_shielded(event: "anyio.Event") -> None:
    """Wait for ``event`` however often the caller is cancelled meanwhile, and raise the cancellation afterwards."""
    struck: BaseException | None = None
    while not event.is_set():
        try:
            with anyio.CancelScope(shield=True):
                await event.wait()
        except anyio.get_cancelled_exc_class() as error:
            struck = error
    if struck is not None:
        raise struck


async def run_shielded(job: Awaitable[None]) -> None:
    """Run ``job`` to its end, however often the caller is cancelled meanwhile.

    On asyncio it runs in a task of its own; the context variables that it sets are the caller's all the same.

    Raises:
        what ``job`` raises; or, on asyncio, the cancellation, unless the caller's next wait will raise it anyway.
    """
    loop = _asyncio_loop()
    if loop is None:
        with anyio.CancelScope(shield=True):
            await job
        return
    ended = loop.create_future()
    failure: list[BaseException] = []

    async def run() -> None:
        try:
            await job
        except BaseException as error:  # raised where it is awaited: from here, some would stop the loop
            failure.append(error)
        finally:
            if not ended.done():
                ended.set_result(None)

    context = contextvars.copy_context()
    task = loop.create_task(run(), context=context)
    hide_if_late(task)
    try:
        await ended
    except anyio.get_cancelled_exc_class():
        hide_task(task)
        over = anyio.Event()

        def wake(task: object) -> None:
            over.set()

        task.add_done_callback(wake)
        await _outlast(loop, over, task)
        if not is_cancelled():
            raise
    finally:
        del task  # held so far: the loop holds it weakly
    for variable, value in context.items():
        if variable.get(None) is not value:
            variable.set(value)
    if failure:
        raise failure.pop()


async def _outlast(loop: "asyncio.AbstractEventLoop", over: "anyio.Event", task: "asyncio.Task[None]") -> None:
    """Wait for the end of the work's task, however often its caller is cancelled; as the loop ends, for `LOOP_END_GRACE`."""
    ends_at = math.inf
    while not over.is_set():
        if ends_at == math.inf and all(one.cancelling() for one in sys.modules["asyncio"].all_tasks(loop)):
            ends_at = anyio.current_time() + LOOP_END_GRACE  # not one task is spared: the loop is ending
        with anyio.CancelScope(shield=True, deadline=ends_at) as scope:
            try:
                await over.wait()
            except anyio.get_cancelled_exc_class():
                if scope.cancel_called:
                    raise
        if scope.cancelled_caught:
            ends_at = math.inf
            task.cancel()


hidden_tasks: set["asyncio.Task[None]"] = set()
"""Those of asyncio's tasks that the end of their loop leaves alone."""


def hide_if_late(task: "asyncio.Task[None]") -> None:
    """Hide a task if the one that waits for it has been cancelled, or is hidden itself."""
    caller: asyncio.Task[None] | None = sys.modules["asyncio"].current_task()
    if caller is not None and (caller in hidden_tasks or caller.cancelling() or is_cancelled()):
        hide_task(task)


def hide_task(task: "asyncio.Task[None]") -> None:
    """Hide a task from what cancels all tasks at the loop's end. A task that is not hidden waits for it."""
    if task not in hidden_tasks and not task.done():
        hidden_tasks.add(task)
        task.add_done_callback(hidden_tasks.discard)
        sys.modules["asyncio"]._unregister_task(task)  # documented for other implementations of tasks ("Extending")


def running_asyncio_loop() -> Any:
    """Return asyncio's loop that runs in this thread, or None; asyncio is not imported for that.

    While another thread imports it, its module is there with few of its names, and no loop can be running.
    """
    find = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return None if find is None else find()


def is_in_trio() -> bool:
    """Whether trio's loop runs in this thread; trio is not imported for that."""
    lowlevel = getattr(sys.modules.get("trio"), "lowlevel", None)  # None also while another thread imports trio
    return lowlevel is not None and bool(lowlevel.in_trio_run())


def _asyncio_loop() -> Any:
    """Return the loop of the running task, or None if that is one of trio's, which may be a guest in asyncio's thread."""
    loop = running_asyncio_loop()
    return loop if loop is not None and sys.modules["asyncio"].current_task(loop) is not None else None
