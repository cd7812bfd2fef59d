"""Writing that a cancellation does not leave half known.

A thread cannot be stopped, nor a request unsent. Were a cancelled writer to leave them behind at once, its turn might be
stored some time later, after turns that were added since. So the writer waits for the end of what it began: whoever sees
its cancellation knows that nothing comes after.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.lowlevel

from hocket._runtime.detached import spawn

__all__ = ["finish"]

T = TypeVar("T")

GRACE = 5.0
"""Seconds for which a cancelled writer waits, should the server be gone."""


async def finish(write: Callable[[], Awaitable[T]]) -> T:
    """Return or raise what ``write`` does.

    A caller that is cancelled before prevents it; one that is cancelled meanwhile first waits for its end.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()
    outcome: list[T] = []
    failure: list[BaseException] = []
    over = anyio.Event()

    async def run() -> None:
        try:
            outcome.append(await write())
        except anyio.get_cancelled_exc_class():  # given up by its writer, or the loop is ending
            raise
        except BaseException as error:  # raised where it is awaited
            failure.append(error)
        finally:
            over.set()

    task = spawn(run)
    try:
        await over.wait()
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(GRACE, shield=True) as patience:
            while not over.is_set() and not patience.cancel_called:
                with suppress(anyio.get_cancelled_exc_class()):  # asyncio's may strike again, through any shield
                    await over.wait()
        task.cancel()
        raise
    if failure:
        raise failure.pop()
    return outcome.pop()
