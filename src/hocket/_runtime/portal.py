"""The kept event loop behind the sync verbs of models that only have async hooks.

One daemon thread of our own runs it: ``anyio.from_thread.start_blocking_portal`` uses a thread that the interpreter
joins at exit, so a portal that stays open hangs there. An exception of a caller's coroutine must not reach the loop:
anyio would end the portal, and all other calls in it. So the coroutine's result or exception is put into a list, where
the caller's thread finds it.

After a fork the child makes a portal of its own. It also keeps a reference to the parent's: its garbage collection would
wait for a thread that the child does not have.
"""

import builtins
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import anyio

from hocket._runtime.callers import warn_caller
from hocket._runtime.cancellation import is_in_trio, running_asyncio_loop
from hocket._runtime.fork import after_fork, leave_to_parent
from hocket._runtime.own_thread import start_thread
from hocket._runtime.worker_threads import lent_place
from hocket.errors import BlockingCallWarning, SyncInLoop

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

__all__ = ["holds_up_a_loop", "is_here", "run_in_portal"]

T = TypeVar("T")

GRACE = 5.0  # seconds that an interrupted call may take to clean up

_HELD_UP = "a sync verb holds up the event loop that runs in this thread until it returns; await its async twin"

_lock = threading.Lock()
_portal: "BlockingPortal | None" = None
_thread: threading.Thread | None = None


def _start() -> "BlockingPortal":
    from anyio.from_thread import BlockingPortal  # programs that only await need not load it

    global _portal, _thread
    with _lock:
        if _portal is None:
            ready = threading.Event()
            made: list[BlockingPortal] = []

            async def main() -> None:
                async with BlockingPortal() as portal:
                    made.append(portal)
                    ready.set()
                    await portal.sleep_until_stopped()

            _thread = start_thread("hocket", anyio.run, main)
            ready.wait()
            _portal = made[0]
        return _portal


@after_fork
def _start_anew() -> None:
    global _lock, _portal, _thread
    leave_to_parent(_portal, _thread)
    _lock, _portal, _thread = threading.Lock(), None, None


def is_here() -> bool:
    """Whether this code runs on the kept loop."""
    return threading.current_thread() is _thread


def run_in_portal(main: Callable[[], Awaitable[T]]) -> T:
    """Run ``main()`` on the kept loop, wait for it in this thread, and return or raise what it did.

    Context variables of the caller are seen by ``main``. Ctrl-C cancels it and waits for its end (5 s at most).

    An event loop that runs in the caller's thread stands still meanwhile: a `BlockingCallWarning` says so.

    Raises:
        SyncInLoop: called from the kept loop itself, where waiting would never end.
    """
    if is_here():
        raise SyncInLoop("a sync verb was called from code that runs on hocket's own event loop; await its async twin")
    if holds_up_a_loop():
        warn_caller(_HELD_UP, BlockingCallWarning)
    portal = _start()
    outcome: list[tuple[T | None, BaseException | None, TracebackType | None]] = []
    over = threading.Event()

    async def boxed() -> None:
        try:
            with lent_place():
                outcome.append((await main(), None, None))
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            outcome.append((None, error, error.__traceback__))
        finally:
            over.set()

    future = portal.start_task_soon(boxed)
    try:
        future.result()
    except BaseException:
        future.cancel()
        over.wait(GRACE)
        raise
    value, error, trace = outcome[0]
    if error is not None:
        try:
            raise error.with_traceback(trace)  # equal calls in flight share an error, and add to its traceback
        finally:
            outcome.clear()  # the traceback holds this frame
            del error, trace
    return value  # type: ignore[return-value]


def holds_up_a_loop() -> bool:
    """Whether an event loop runs in this thread, outside a notebook, where the cell waits anyway."""
    if hasattr(builtins, "__IPYTHON__"):
        return False
    return running_asyncio_loop() is not None or is_in_trio()
