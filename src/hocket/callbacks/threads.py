"""Telling a sync handler in a worker thread.

A thread cannot be stopped, so a caller who is cancelled, or interrupted, would leave it behind: the end of the run would
then be told while the handler is still at its start, or a thread that had not begun would never begin, and the handler
hear of an end without a start. So the caller waits for it, for a bounded time.
"""

import functools
from collections.abc import Awaitable, Callable

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.detached import call_soon
from hocket._runtime.runtime import Runtime

__all__ = ["tell_in_thread"]


async def tell_in_thread(runtime: Runtime, call: Callable[..., object], /, *args: object, **details: object) -> object:
    """Call ``call`` once, in a worker thread, whatever strikes the caller meanwhile. Returns and raises what it does."""
    waiting = [call]
    over = False
    left: Callable[[], None] | None = None

    def work() -> tuple[object]:
        nonlocal over
        try:
            # In a box, since trio takes no coroutine out of a thread. Told once: whoever empties the list.
            return (waiting.pop()(*args, **details) if waiting else None,)
        finally:
            over = True
            if left is not None:
                left()

    async def rest() -> None:
        nonlocal left
        end, token = anyio.Event(), current_token()
        left = functools.partial(call_soon, token, end.set)
        if waiting:
            await runtime.call_sync(work)
        elif not over:
            await end.wait()

    try:
        (outcome,) = await runtime.call_sync(work)
    except BaseException:
        if over:  # it is what the handler raised
            raise
        await runtime.run_shielded(_within_bounds(runtime, rest()))
        raise
    return outcome


async def _within_bounds(runtime: Runtime, job: Awaitable[object]) -> None:
    await runtime.finish_within_grace(job)
