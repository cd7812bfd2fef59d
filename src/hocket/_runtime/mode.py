"""One coroutine pipeline, two modes.

Nothing in hocket is written twice for sync and async. Code that may wait (for a hook, a handler, a cache, a limiter, a
sleep) has a mode do it:

- ``ASYNC``, under the async verbs: coroutines are awaited, sync-only code goes to a worker thread.
- ``BLOCKING``, under the sync verbs of models with sync hooks: sync code runs in the caller's own thread, and the
  pipeline never suspends, so that one ``send(None)`` drives it to its end (`drive`). Thread-bound objects and debuggers
  just work, and no event loop is needed. Code that exists only as a coroutine runs on the loop of another thread.
"""

import functools
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from typing import Any, ParamSpec, Protocol, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import current_token

from hocket._runtime import clock
from hocket._runtime.cancellation import only, run_shielded
from hocket._runtime.portal import run_in_portal
from hocket._runtime.worker_threads import lent_place, origin, thread_limiter

__all__ = ["ASYNC", "BLOCKING", "Mode", "drive", "resume", "start_eagerly"]

P = ParamSpec("P")
T = TypeVar("T")

END_GRACE = 5.0  # seconds that the end of a cancelled run may take


class Mode(Protocol):
    """What a stage of the pipeline may ask for."""

    is_async: bool

    async def call_sync(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call sync code that may wait."""
        ...

    async def call_async(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call async code."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...

    async def run_each(self, jobs: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        """Run jobs that never raise an ``Exception``: at once where the mode allows it, else one after another."""
        ...

    async def finish_within_grace(self, job: Awaitable[object], spent: float = 0.0) -> bool:
        """Run ``job`` even when the caller has been cancelled; whether it has ended.

        Args:
            job: the work, for `END_GRACE` seconds at most.
            spent: how many of them are over.
        """
        ...

    async def run_shielded(self, job: Awaitable[None]) -> None:
        """Run ``job`` to its end, whatever cancels the caller meanwhile, and however often."""
        ...


class AsyncMode:
    """Under an event loop, asyncio's or trio's."""

    is_async = True

    async def call_sync(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in a worker thread; a cancelled caller leaves it behind, for a thread cannot be stopped."""
        token = current_token()
        returned: list[T] = []  # and not returned: trio takes a function that returns a coroutine for an async one

        def work() -> None:
            origin.set(token)  # the thread runs in a copy of the caller's context: nothing to reset
            returned.append(function(*args, **kwargs))

        await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=thread_limiter(token))
        return returned[0]

    async def acquire(self, acquire: Callable[[], T], release: Callable[[T], object]) -> T:
        """Call ``acquire`` in a worker thread, for what somebody has to give back.

        Where its caller is cancelled, what comes back is given to ``release``, in a thread, too.
        """
        made: list[T] = []
        is_seen = threading.Lock()  # taken by the first of both: the thread that has it, or the caller that leaves

        def work() -> None:
            made.append(acquire())
            if not is_seen.acquire(blocking=False):
                release(made[0])

        try:
            await self.call_sync(work)
        except BaseException:
            if not is_seen.acquire(blocking=False):  # it is here, and was lost on its way
                await self.finish_within_grace(self.call_sync(release, made[0]))
            raise
        return made[0]

    async def call_async(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await function(*args, **kwargs)

    async def sleep(self, seconds: float) -> None:
        await clock.current().sleep(seconds)

    async def run_each(self, jobs: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        try:
            async with anyio.create_task_group() as group:
                for job in jobs:
                    group.start_soon(job)
        except BaseExceptionGroup as errors:
            raise only(errors) from None

    async def finish_within_grace(self, job: Awaitable[object], spent: float = 0.0) -> bool:
        with anyio.move_on_after(max(0.0, END_GRACE - spent), shield=True) as scope:
            await job
        return not scope.cancelled_caught

    run_shielded = staticmethod(run_shielded)


class BlockingMode:
    """In the caller's own thread, without suspending."""

    is_async = False

    async def call_sync(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    async def call_async(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function`` on the loop that this worker thread was sent from, else on hocket's kept loop."""
        main = functools.partial(function, *args, **kwargs)
        token = origin.get()
        if token is None:
            return run_in_portal(main)
        from anyio.from_thread import run

        return run(_run_on_own_loop, main, token=token)

    async def sleep(self, seconds: float) -> None:
        clock.current().block(seconds)

    async def run_each(self, jobs: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        for job in jobs:
            await job()

    async def finish_within_grace(self, job: Awaitable[object], spent: float = 0.0) -> bool:
        await job
        return True

    async def run_shielded(self, job: Awaitable[None]) -> None:
        await job


async def _run_on_own_loop(main: Callable[[], Awaitable[T]]) -> T:
    with lent_place():
        origin.set(None)  # this is that loop now: a sync verb called here must not wait for it (the context is a copy)
        return await main()


ASYNC = AsyncMode()
BLOCKING = BlockingMode()


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Drive a coroutine that runs in the blocking mode to its end, in this thread.

    Raises:
        RuntimeError: the coroutine waited for something outside its mode; a fault of hocket's own.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("a stage waited outside its mode")


def start_eagerly(coroutine: Coroutine[Any, Any, None]) -> Awaitable[None] | None:
    """Run a coroutine up to its first wait, in the task that calls this; return what to await for the rest, if there is any.

    Most work on a chunk never waits, and to await a coroutine for it would cost as much as the work.
    """
    try:
        waiting_for = coroutine.send(None)
    except StopIteration:
        return None
    return resume(coroutine, waiting_for)


@types.coroutine
def resume(coroutine: Coroutine[Any, Any, None], waiting_for: object) -> Generator[Any, Any, None]:
    """Resume a coroutine that was driven by hand and has yielded ``waiting_for`` to the event loop; run it to its end."""
    try:
        while True:
            try:
                sent = yield waiting_for
            except BaseException as error:
                waiting_for = coroutine.throw(error)
            else:
                waiting_for = coroutine.send(sent)
    except StopIteration:
        return
