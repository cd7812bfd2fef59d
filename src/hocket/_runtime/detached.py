"""Tasks that belong to no caller.

A stream's producer and a shared flight outlive the task that started them, which structured concurrency forbids on
purpose; anyio therefore has no such thing, and these few lines hold the two native ways. Whoever spawns a task here
owes it an end: every user keeps a cancel scope inside it and a reason to close it.
"""

import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

from anyio.lowlevel import EventLoopToken, current_token

__all__ = ["soon", "spawn"]

_kept: set[Any] = set()  # asyncio's tasks: the loop itself holds them weakly


def spawn(main: Callable[[], Coroutine[Any, Any, None]]) -> EventLoopToken:
    """Start ``main`` in the running loop, in a copy of the caller's context, and return that loop's token.

    ``main`` must not raise anything but the cancellation of its loop: on trio that would crash the whole run.
    With eager tasks (Python 3.12) it may have run up to its first wait, or to its end, when this returns.
    """
    token = current_token()
    loop: Any = token.native_token
    if hasattr(loop, "create_task"):  # asyncio's; to import it for a type check costs a tenth of hocket's import
        task = loop.create_task(main())
        _kept.add(task)
        task.add_done_callback(_kept.discard)
    else:
        import trio

        trio.lowlevel.spawn_system_task(main, context=contextvars.copy_context())
    return token


def soon(token: EventLoopToken, call: Callable[[], object]) -> None:
    """Have the loop of ``token`` call ``call`` soon. From any thread, also from a finaliser; a dead loop ignores it."""
    native: Any = token.native_token
    try:
        (native.call_soon_threadsafe if hasattr(native, "create_task") else native.run_sync_soon)(call)
    except RuntimeError:  # the loop has ended; trio's RunFinishedError is one too
        pass
