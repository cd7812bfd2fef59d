"""A call that is cancelled at a point that it has reached, and not after a time that it may not have been given."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

__all__ = ["cancel_when"]


async def cancel_when(condition: Callable[[], object], call: Callable[..., Awaitable[object]], *args: Any) -> bool:
    """Make a call, and cancel it once ``condition()`` is true; return whether it was cancelled.

    Other threads and processes may make it true; it is asked every millisecond.
    """

    async def watch() -> None:
        while not condition():  # noqa: ASYNC110 - of any kind
            await anyio.sleep(0.001)
        scope.cancel()

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(watch)
            await call(*args)
        group.cancel_scope.cancel()
    return scope.cancelled_caught
