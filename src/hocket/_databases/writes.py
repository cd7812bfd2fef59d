"""Cancellation-safe writes: a cancelled writer waits up to 5 seconds until its write has finished.

A thread cannot be stopped, nor a request unsent. Were a cancelled writer to leave them behind at once, its data might be
stored some time later, after data that was written since. A caller that sees its cancellation knows that nothing comes
after.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.lowlevel

from hocket._runtime.detached import spawn

__all__ = ["finish_write"]

T = TypeVar("T")

GRACE = 5.0
"""Seconds for which a cancelled writer waits, should the server be gone."""


async def finish_write(write: Callable[[], Awaitable[T]]) -> T:
    """Return or raise what ``write()`` does.

    A caller that is cancelled before it begins prevents it; one that is cancelled meanwhile waits for its end first.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()
    result: list[T] = []
    failure: list[BaseException] = []
    has_ended = anyio.Event()

    async def run() -> None:
        try:
            result.append(await write())
        except anyio.get_cancelled_exc_class():  # given up by its writer, or the loop is ending
            raise
        except BaseException as error:  # raised where it is awaited
            failure.append(error)
        finally:
            has_ended.set()

    task = spawn(run, is_awaited=True)
    try:
        await has_ended.wait()
    except anyio.get_cancelled_exc_class():
        task.hide()
        with anyio.move_on_after(GRACE, shield=True) as patience:
            while not has_ended.is_set() and not patience.cancel_called:
                with suppress(anyio.get_cancelled_exc_class()):  # asyncio's may strike again, through any shield
                    await has_ended.wait()
        task.cancel()
        raise
    if failure:
        raise failure.pop()
    return result.pop()
