"""What the virtual clock must know of an event loop: when it is at rest, and how to do something on it.

The clock says *what* comes next as a generator of needs (a tick of the loop, or the loop at rest) and a loop meets
them, so that the rules of time are written once and know nothing of asyncio or trio.

On asyncio the needs are met by plain callbacks and not by a task: a test that counts tasks must not find one of ours.

A loop is not at rest while one of its worker threads works. asyncio's are found among the living threads (anyio keeps
the idle ones of each loop in a deque), trio's are counted by ``trio.testing``. But a worker may itself be waiting for
the loop, for the reader of a full buffer perhaps, and would then wait for ever: one that does nothing but wait for a
lock, for a while, is at rest as a blocked task is.
"""

import asyncio
import enum
import itertools
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Protocol

from hocket._runtime.cancellation import is_in_trio

__all__ = ["Loop", "Need", "loop_here"]

# A chain of callbacks (bytes arrive, a protocol feeds a reader, a future is set, its task is woken) leaves every task
# blocked for a tick or two before one of them runs, so a loop is at rest only when it looks so several times running.
QUIET_ROUNDS = 3

# How often, in real seconds, to look again at worker threads, and how many times running they must be seen to wait. A
# thread that was just notified looks as if it waited until it gets the processor.
THREAD_POLL = 0.001
PATIENCE = 20

# The code in which a thread waits for another one: file and function.
WAITING = {
    ("threading.py", "wait"),
    ("threading.py", "join"),
    ("threading.py", "_wait_for_tstate_lock"),
    ("_threads.py", "_send_message_to_trio"),
}

HAS_WORK = (("queue.py", "get"), ("_asyncio.py", "run"))
"""Where anyio's worker waits for work. One that is there and is none of the idle ones was given some just now."""


class Need(enum.Enum):
    """What the clock waits for before its next step."""

    TICK = enum.auto()
    """The tasks that are ready have had a turn."""
    REST = enum.auto()
    """Every task is blocked and no worker thread is at work."""


class Steps(Protocol):
    """The clock's side: yields a need, is resumed when it is met, ends when there is nothing to do on ``loop``."""

    def __call__(self, loop: "Loop") -> Iterator[Need]: ...


class Loop(ABC):
    """One event loop that somebody sleeps on."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._patience = PATIENCE
        self.blocked_threads = 0
        """Worker threads of this loop that wait for the clock: known, so no patience is needed for them."""

    @abstractmethod
    def start(self) -> None:
        """Carry out the clock's steps, unless that is under way. Call it in the loop's own thread."""

    @abstractmethod
    def poke(self) -> None:
        """Do the same from any thread.

        Raises:
            RuntimeError: the loop is closed.
        """

    @abstractmethod
    def _count_working(self) -> int:
        """Return how many worker threads of this loop have something to do."""

    @abstractmethod
    def _list_workers(self) -> list[threading.Thread]:
        """Return these threads, as far as they can be told from others."""

    def _are_threads_resting(self) -> bool:
        """Tell whether no worker thread can get on without this loop; to be asked again and again."""
        working = self._count_working()
        if working <= self.blocked_threads:
            return True
        waiting = sum(_is_waiting(thread) for thread in self._list_workers())
        self._patience = self._patience - 1 if waiting >= working else PATIENCE
        return self._patience <= 0


class AsyncioLoop(Loop):
    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self._loop = asyncio.get_running_loop()
        self._running: Iterator[Need] | None = None

    def start(self) -> None:
        if self._running is None:
            self._running = self._steps(self)
            self._advance()

    def poke(self) -> None:
        self._loop.call_soon_threadsafe(self.start)

    def _advance(self) -> None:
        need = next(self._running, None) if self._running else None
        if need is None:
            self._running = None
        elif need is Need.TICK:
            self._loop.call_soon(self._advance)
        else:
            self._patience = PATIENCE
            self._loop.call_soon(self._look, QUIET_ROUNDS)

    def _look(self, rounds: int) -> None:
        if not self._are_tasks_blocked():
            self._patience = PATIENCE
            self._loop.call_soon(self._look, QUIET_ROUNDS)
        elif rounds > 1:
            self._loop.call_soon(self._look, rounds - 1)
        elif self._are_threads_resting():
            self._advance()
        else:
            self._loop.call_later(THREAD_POLL, self._look, 1)

    def _are_tasks_blocked(self) -> bool:
        if not getattr(self._loop, "_ready", True):  # nothing is to run, so of a thousand tasks none needs a look
            return True
        # A blocked task waits for a future that is not done; any other runs at the next tick.
        waiters: list[Any] = [getattr(task, "_fut_waiter", None) for task in asyncio.all_tasks(self._loop)]
        return not any(waiter is None or waiter.done() for waiter in waiters)

    def _count_working(self) -> int:
        return len(self._list_workers())

    def _list_workers(self) -> list[threading.Thread]:
        # By attributes that anyio does not document; without them no worker would be seen.
        threads: list[Any] = [thread for thread in threading.enumerate() if hasattr(thread, "idle_workers")]
        return [thread for thread in threads if thread.loop is self._loop and thread not in thread.idle_workers]


class TrioLoop(Loop):
    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        import trio.lowlevel
        import trio.testing

        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._running = False

    def start(self) -> None:
        if not self._running:
            self._running = True
            self._trio.lowlevel.spawn_system_task(self._run, name="hocket virtual clock")

    def poke(self) -> None:
        self._token.run_sync_soon(self.start)

    async def _run(self) -> None:
        try:
            for need in self._steps(self):
                if need is Need.TICK:
                    await self._trio.lowlevel.checkpoint()
                else:
                    await self._rest()
        finally:
            self._running = False

    async def _rest(self) -> None:
        self._patience = PATIENCE
        await self._trio.testing.wait_all_tasks_blocked()
        # A test that waits for the same moment was woken together with this task: let it act first.
        await self._trio.testing.wait_all_tasks_blocked()
        while not self._are_threads_resting():
            await self._trio.testing.wait_all_tasks_blocked(THREAD_POLL)

    def _count_working(self) -> int:
        return self._trio.testing.active_thread_count()

    def _list_workers(self) -> list[threading.Thread]:
        # trio runs them all from one file, and keeps the idle ones in another.
        return [
            thread for thread in threading.enumerate() if any(file == "_threads.py" for file, _ in _read_stack(thread))
        ]


def _is_waiting(thread: threading.Thread) -> bool:
    """Tell whether ``thread`` waits for another one; a tool that watches locks may add a frame on top."""
    places = _read_stack(thread)
    return any(place in WAITING for place in places[:2]) and HAS_WORK not in itertools.pairwise(places)


def _read_stack(thread: threading.Thread) -> list[tuple[str, str]]:
    """Return what ``thread`` is in the middle of, innermost first: file and function."""
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore[reportPrivateUsage]
    places: list[tuple[str, str]] = []
    while frame is not None:
        places.append((PurePath(frame.f_code.co_filename).name, frame.f_code.co_name))
        frame = frame.f_back
    return places


def loop_here(loops: dict[object, Loop], steps: Steps) -> Loop:
    """Return the loop that runs in this thread out of ``loops``, entered there when it is new.

    Raises:
        RuntimeError: no loop runs in this thread.
    """
    if is_in_trio():
        import trio

        key: object = trio.lowlevel.current_trio_token()
        kind: type[Loop] = TrioLoop
    else:
        key, kind = asyncio.get_running_loop(), AsyncioLoop

    if key not in loops:
        loops[key] = kind(steps)
    return loops[key]
