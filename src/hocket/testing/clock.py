"""A clock for tests: an hour passes in no time.

Everything in hocket that waits (rate limiters, deadlines, delays between attempts, the pauses of a scripted model) asks
the clock that ``virtual_clock`` puts underneath. A test that needs a minute to pass lets the clock *jump*: as soon as
every task of the event loop is blocked and at least one of them waits for this clock, time leaps to the earliest
deadline. Nothing sleeps for real.

    async def test_the_limiter_lets_two_through_at_once() -> None:
        with virtual_clock() as clock:
            await ask_ten_times(model)
            assert clock.now() == 4.0

What a jump takes into account, and what it cannot see:

- It waits for tasks that can run, for data that has arrived at a socket of this loop, and for anyio's worker threads
  (``anyio.to_thread.run_sync``) while they work. A worker thread that itself waits for this clock does not hold it up,
  nor does one that has waited for another thread, its loop's perhaps, for 20 real milliseconds.
- It does not see data still under way, a server in another process or thread, threads started any other way (such as
  ``asyncio.to_thread`` and the executor in which asyncio looks up host names) or another event loop at work.
- A real sleep (``anyio.sleep``, ``asyncio.sleep``) is a blocked task like any other: time jumps past it.

Where such things are in flight, use ``virtual_clock(autojump=False)`` and move time by hand with ``advance``.

There is one order of waking over all loops and threads: by deadline, and first come, first served among equals. So only
the loop whose sleeper comes next may move time; it hands over to the next one's. Tasks of one loop find the time at
their deadline exactly; where several loops share the clock, another may have moved it on by then.
"""

import heapq
import itertools
import math
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import anyio.from_thread
import anyio.lowlevel

from hocket._runtime import clock as seam
from hocket.errors import InvalidInput
from hocket.testing._loops import Loop, Need, loop_here

__all__ = ["VirtualClock", "virtual_clock"]

_NEW_YEAR = 1_767_225_600.0


@dataclass(order=True)
class _Sleeper:
    """One sleep; the one that ends first is the least."""

    deadline: float
    number: int
    wake: Callable[[], None] = field(compare=False)
    loop: Loop | None = field(compare=False)
    is_thread: bool = field(compare=False)
    waiting: bool = field(default=True, compare=False)


class VirtualClock:
    """Time that stands still until it jumps or is advanced. Safe to use from several loops and threads at once.

    Most tests get one from ``virtual_clock``, which also puts it in use.

    Args:
        start: what ``now`` says at first, in seconds.
        autojump: whether time jumps by itself to the next deadline once everybody waits.
    """

    def __init__(self, start: float = 0.0, autojump: bool = True) -> None:
        self.autojump = autojump
        self._now = float(start)
        self._numbers = itertools.count()
        self._sleepers: list[_Sleeper] = []
        self._loops: dict[object, Loop] = {}
        # Held for a few instructions only, and never while anything is woken.
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<VirtualClock now={self._now:g} autojump={self.autojump}>"

    def now(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def time(self) -> float:
        """Return the date as seconds since 1970: this clock's time, counted from the start of the year 2026 in UTC."""
        return _NEW_YEAR + self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until ``seconds`` of virtual time have passed; for none or fewer, let the other tasks have a turn.

        Raises:
            InvalidInput: ``seconds`` is not a number.
        """
        if _check_seconds(seconds) <= 0:
            await anyio.lowlevel.checkpoint()
            return

        woken = anyio.Event()
        sleeper = self._add(seconds, woken.set, is_thread=False)
        try:
            await woken.wait()
        finally:
            self._discard(sleeper)

    def block(self, seconds: float) -> None:
        """Wait in this thread until ``seconds`` of virtual time have passed.

        In a worker thread of an event loop (``anyio.to_thread.run_sync``) this is one more sleeper of that loop. In any
        other thread nobody can tell whether everything else is at rest, so with ``autojump`` time passes at once, past
        the deadlines of tasks that sleep meanwhile; without it the thread waits for ``advance`` in another thread.

        Raises:
            InvalidInput: ``seconds`` is not a number.
        """
        if _check_seconds(seconds) <= 0:
            return

        woken = threading.Event()
        try:
            anyio.from_thread.run_sync(lambda: self._add(seconds, woken.set, is_thread=True))
        except RuntimeError:  # anyio: not a worker thread, or its loop has ended
            if self.autojump:
                self._pass(seconds)
                return
            self._push(seconds, woken.set, None, is_thread=True)

        woken.wait()

    def advance(self, seconds: float) -> None:
        """Move time forward by ``seconds``; from any thread, with or without ``autojump``.

        Those whose deadline has come are woken in order, but run only when the caller lets them, and then find the new
        time: follow it with ``await anyio.wait_all_tasks_blocked()``, and advance in steps where a task sleeps again.

        Raises:
            InvalidInput: ``seconds`` is negative or not a number: time does not go back.
        """
        if _check_seconds(seconds) < 0:
            raise InvalidInput(f"`advance` was given {seconds!r} seconds, but time does not go back: give 0 or more.")
        self._pass(seconds)

    def _add(self, seconds: float, wake: Callable[[], None], *, is_thread: bool) -> _Sleeper:
        """Enter a sleeper of the loop that runs in this thread."""
        loop = loop_here(self._loops, self._steps)
        sleeper = self._push(seconds, wake, loop, is_thread=is_thread)
        loop.start()
        return sleeper

    def _push(self, seconds: float, wake: Callable[[], None], loop: Loop | None, *, is_thread: bool) -> _Sleeper:
        with self._lock:
            sleeper = _Sleeper(self._now + seconds, next(self._numbers), wake, loop, is_thread)
            heapq.heappush(self._sleepers, sleeper)
            if loop is not None:
                loop.blocked_threads += is_thread
        return sleeper

    def _discard(self, sleeper: _Sleeper) -> None:
        """Forget a sleeper that was woken or cancelled; its successor may belong to another loop."""
        if sleeper.waiting:
            sleeper.waiting = False
            self._hand_over()

    def _pass(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds
        self._hand_over()

    def _steps(self, loop: Loop) -> Iterator[Need]:
        """Wake the sleepers of ``loop`` one at a time, for as long as the next one is its own."""
        while (head := self._head()) is not None and head.loop is loop:
            if head.deadline <= self._now:
                self._wake(head)
                yield Need.TICK
            elif self.autojump and math.isfinite(head.deadline):
                yield Need.REST
                if self._head() is head:
                    with self._lock:
                        self._now = max(self._now, head.deadline)
            else:
                return
        self._hand_over()

    def _hand_over(self) -> None:
        """Have the loop or the thread of the next sleeper look at the time."""
        while (head := self._head()) is not None:
            if head.loop is None:
                if head.deadline > self._now:
                    return
                self._wake(head)
            else:
                try:
                    head.loop.poke()
                except RuntimeError:  # its loop is closed: nobody waits any more
                    head.waiting = False
                else:
                    return

    def _head(self) -> _Sleeper | None:
        """Return the sleep that ends next."""
        with self._lock:
            while self._sleepers and not self._sleepers[0].waiting:
                heapq.heappop(self._sleepers)
            return self._sleepers[0] if self._sleepers else None

    def _wake(self, sleeper: _Sleeper) -> None:
        with self._lock:
            if not sleeper.waiting:
                return
            sleeper.waiting = False
            if sleeper.loop is not None:
                sleeper.loop.blocked_threads -= sleeper.is_thread
        sleeper.wake()

    def _release_threads(self) -> None:
        """Wake every thread that still waits: once the clock is out of use nobody else might, and exit would hang."""
        with self._lock:
            threads = [sleeper for sleeper in self._sleepers if sleeper.is_thread]
        for sleeper in threads:
            self._wake(sleeper)


@contextmanager
def virtual_clock(start: float = 0.0, autojump: bool = True) -> Generator[VirtualClock]:
    """Put a virtual clock in use for the whole process, and the one before it back at the end.

    A plain ``with`` works in sync and async tests, on asyncio and trio. What it can and cannot see is told at the top
    of this module.

    Args:
        start: the time at first, in seconds.
        autojump: whether time jumps by itself to the next deadline once everybody waits.
    """
    clock = VirtualClock(start, autojump=autojump)
    before = seam.use(clock)
    try:
        yield clock
    finally:
        seam.use(before)
        clock._release_threads()  # pyright: ignore[reportPrivateUsage]


def _check_seconds(seconds: float) -> float:
    if math.isnan(seconds):
        raise InvalidInput("A virtual clock was asked to wait nan seconds: give a number.")
    return seconds
