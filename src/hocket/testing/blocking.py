"""Is the event loop ever held up? A watchdog asks it.

A thread beside the loop posts a tiny callback to it, over and over, and measures how long the loop takes to run it: a
loop that is free does so at once. While one is overdue, what the loop's thread is doing at that moment is what holds it
up, so its stack is sampled then. Nothing runs in a task, so nothing is held open across the body and nothing
could cancel it.
"""

import asyncio
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from hocket._runtime.cancellation import is_in_trio
from hocket.errors import InvalidInput

__all__ = ["assert_no_blocking"]

# The loop is asked this many times within the limit, which makes a stall look shorter by a tenth of it at most.
ASKED_PER_LIMIT = 10

# Of the stack that was sampled, this many innermost frames are shown.
FRAMES_SHOWN = 6


def assert_no_blocking(limit: float = 0.1) -> AbstractAsyncContextManager[None]:
    """Return an async context manager that fails if its body holds up the event loop for longer than ``limit``.

        async with assert_no_blocking(limit=0.05):
            await model.ainvoke("Hello")

    At the end an ``AssertionError`` names the longest stall in milliseconds, the limit, and what the loop's thread was
    doing. Any other exception of the body goes its way, with the stall as a note. Time is real time, measured to within
    a tenth of ``limit``; a machine too busy to run the loop looks like a stall too, so leave room for it.

    Args:
        limit: the longest time in seconds that the loop may take to run a callback.

    Raises:
        InvalidInput: ``limit`` is not above 0.
        AssertionError: at the end, when the loop was held up for longer.
    """
    if not limit > 0:
        raise InvalidInput(f"`limit` is {limit!r}, but a loop always takes some time: give seconds above 0.")
    return _Watch(limit)


class _Watch(AbstractAsyncContextManager[None]):
    """The watchdog and its book: `_due` is when the next sign of life, from the loop or from the watchdog, should come.

    The watchdog's own signs count because one call that keeps the interpreter lock silences both.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._pause = limit / ASKED_PER_LIMIT
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._due = math.inf
        self._stack: list[str] = []
        self._longest = 0.0
        self._longest_stack: list[str] = []

    async def __aenter__(self) -> None:
        self._sign_of_life()
        watch = threading.Thread(
            target=self._watch, args=(_poster(), threading.get_ident()), name="hocket blocking watchdog", daemon=True
        )
        watch.start()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # The body may end in the very call that blocks, before the loop or the watchdog has had a chance to run.
        self._sign_of_life()
        self._stop.set()

        if self._longest > self._limit:
            message = self._describe()
            if error is None:
                raise AssertionError(message)
            error.add_note(message)

    def _watch(self, post: Callable[[Callable[[], None]], object], thread: int) -> None:
        while not self._stop.is_set():
            answered = threading.Event()
            self._sign_of_life()
            try:
                post(partial(self._answer, answered))
            except RuntimeError:  # the loop has ended
                return

            if not answered.wait(self._limit):
                self._stack = _sample(thread)
                while not answered.wait(self._pause) and not self._stop.is_set():
                    pass

            self._sign_of_life(next_in=self._pause)
            self._stop.wait(self._pause)

    def _answer(self, answered: threading.Event) -> None:
        self._sign_of_life()
        answered.set()

    def _sign_of_life(self, next_in: float = 0.0) -> None:
        with self._lock:
            now = time.perf_counter()
            if now - self._due > self._longest:
                self._longest, self._longest_stack = now - self._due, self._stack
            self._due, self._stack = now + next_in, []

    def _describe(self) -> str:
        place = "".join(self._longest_stack[-FRAMES_SHOWN:]) or (
            "  (unknown: no stack could be taken, as when one call keeps the interpreter lock all the while)\n"
        )
        return (
            f"The event loop was held up for {self._longest * 1000:.0f} ms (limit {self._limit * 1000:.0f} ms) at:\n"
            f"{place}"
            "Await instead of blocking, or move the call to a worker thread (`anyio.to_thread.run_sync`)."
        )


def _sample(thread: int) -> list[str]:
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    return traceback.format_stack(frame) if frame is not None else []


def _poster() -> Callable[[Callable[[], None]], object]:
    """Return the function that posts a callback to the running loop from any thread."""
    if is_in_trio():
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon
    loop = asyncio.get_running_loop()
    return lambda callback: loop.call_soon_threadsafe(callback)
