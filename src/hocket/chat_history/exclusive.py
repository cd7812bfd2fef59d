"""One run of a conversation at a time.

Two things keep runs apart. Within a process they stand in line, first come first served, over all its threads and event
loops. The first run in that line then tries for the store's own lock, which other processes see, again and again with
pauses that grow to a tenth of a second. So a process asks for it once, however many of its tasks wait.

A lock on a server may be lost while it is held: the server restarts, or this process stands still for too long. So it is
renewed in the background, and when that fails, the holder's block is cancelled. Redis keeps the lock for some seconds more.
PostgreSQL does not when the connection breaks: for as long as it takes until the next renewal two may have it.

This is a class and no async generator, which may not hold a cancel scope while its body runs.
"""

import collections
import random
import threading
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Protocol

import anyio

from hocket._databases.writes import finish_write
from hocket._runtime.cancellation import current_task_id
from hocket._runtime.detached import Detached, spawn
from hocket._runtime.fork import after_fork
from hocket._runtime.mode import ASYNC
from hocket._runtime.wait_queue import Waiter
from hocket.errors import HistoryBusy, HistoryLockLost, HistoryUnavailable, HocketError, InvalidInput

__all__ = ["Exclusive", "ProcessLock"]

FIRST_PAUSE = 0.002
LAST_PAUSE = 0.1
RELEASE = 5.0
"""Seconds that the release may take before it is cancelled, which takes 5 more at most."""


class ProcessLock(Protocol):
    """A lock on a conversation that other processes see. Each object is for one hold.

    Attributes:
        lease: seconds after the last renewal at which somebody else may have it; None: it cannot be lost.
        interval: seconds between two renewals.
    """

    lease: float | None
    interval: float

    async def attempt(self) -> bool:
        """Take it, unless somebody else has it; whether it was taken."""
        ...

    async def renew(self) -> bool:
        """Keep it; whether it still is ours."""
        ...

    async def release(self) -> None:
        """Give it back, or give up the attempts; also after an attempt whose end nobody saw."""
        ...


class Exclusive(AbstractAsyncContextManager[None, None]):
    """One hold of a conversation, to be entered once. See `BaseChatMessageHistory.exclusive`.

    Args:
        history: how errors name the conversation.
        key: of the conversation, in this process.
        timeout: seconds to wait; None: as long as it takes.
        lock: keeps other processes out; None: nothing does.

    Raises:
        InvalidInput: the timeout is not a number of at least 0.
    """

    def __init__(
        self, history: object, key: Hashable, timeout: float | None = None, lock: ProcessLock | None = None
    ) -> None:
        _check_timeout(timeout)
        self._history = history
        self._key = key
        self._timeout = timeout
        self._lock = lock
        self._task: int | None = None
        self._waiter: Waiter | None = None
        self._renewed_at = 0.0
        self._has_tried = False
        self._is_lost = False
        self._scope: anyio.CancelScope | None = None
        self._renewing: Detached | None = None

    async def __aenter__(self) -> None:
        if self._task is not None:
            raise InvalidInput("this exclusive() has been entered before; call exclusive() for each block")
        self._task = current_task_id()
        if self._join_line() and self._lock is None:
            return
        try:
            await self._wait()
        except BaseException:
            await self._leave()
            raise
        if self._lock is not None and self._lock.lease is not None:
            self._scope = anyio.CancelScope()
            self._scope.__enter__()
            self._renewing = spawn(self._keep_renewing)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_ended = error is None
        try:
            if self._renewing is not None:
                self._renewing.cancel()
            if self._scope is not None:
                is_ended = bool(self._scope.__exit__(kind, error, trace)) or is_ended
        finally:
            await self._leave()
        if self._is_lost and is_ended:
            raise HistoryLockLost(
                f"{self._history!r:.200}: this run was stopped, since it no longer has the conversation to itself: the lock "
                "was lost on the server, or could not be renewed in time. Read the history again before you go on"
            )

    # -- waiting

    async def _wait(self) -> None:
        began_at = anyio.current_time()
        deadline = float("inf") if self._timeout is None else began_at + self._timeout
        if self._waiter is not None:
            with anyio.CancelScope(deadline=deadline):
                while not self._waiter.admitted:
                    await self._waiter.wait()
            if not self._waiter.admitted:
                raise self._busy("another run in this process")
        if self._lock is not None and not await self._attempt(self._lock):
            with anyio.CancelScope(deadline=deadline) as patience:
                await self._keep_trying(self._lock)
            if patience.cancelled_caught:
                raise self._busy("another process, or another address of this store,")

    async def _keep_trying(self, lock: ProcessLock) -> None:
        pause = FIRST_PAUSE
        while True:
            await anyio.sleep(pause * random.uniform(0.5, 1))
            if await self._attempt(lock):
                return
            pause = min(pause * 2, LAST_PAUSE)

    async def _attempt(self, lock: ProcessLock) -> bool:
        self._has_tried = True
        self._renewed_at = anyio.current_time()
        return await finish_write(lock.attempt)

    def _busy(self, holder: str) -> HistoryBusy:
        return HistoryBusy(
            f"{self._history!r:.200}: {holder} has the conversation, and still had it after {self._timeout:g} s; "
            "exclusive(timeout=...) waits longer, or without an end with None"
        )

    # -- holding

    async def _keep_renewing(self) -> None:
        lock = self._lock
        if lock is None or lock.lease is None:
            return
        until = lock.lease - lock.interval  # so that the block is left before somebody else can have the lock
        with anyio.CancelScope(deadline=self._renewed_at + until) as patience:
            while True:
                await anyio.sleep(lock.interval)
                sent_at = anyio.current_time()
                try:
                    if not await lock.renew():
                        break
                except HistoryUnavailable:
                    continue
                except HocketError:
                    break
                patience.deadline = sent_at + until
        self._is_lost = True
        if self._scope is not None:
            self._scope.cancel()

    async def _leave(self) -> None:
        """Give all back, however the caller is cancelled. A server that fails forgets the lock by itself."""
        try:
            if self._lock is not None and self._has_tried:
                with anyio.move_on_after(RELEASE, shield=True), suppress(HocketError):
                    await self._lock.release()
        finally:
            self._leave_line()

    # -- the line of this process

    def _join_line(self) -> bool:
        """Stand in line; whether this is the first.

        Raises:
            InvalidInput: the first is of the same task.
        """
        with _changing:
            line = _lines.get(self._key)
            if line is None:
                _lines[self._key] = collections.deque((self,))
                return True
            if line[0]._task == self._task:
                raise InvalidInput(
                    f"{self._history!r:.200}: this task has the conversation to itself already, and would wait for itself; "
                    "leave the block of exclusive() before, or pass on what is to be done inside it"
                )
            self._waiter = Waiter(ASYNC)
            line.append(self)
            return False

    def _leave_line(self) -> None:
        with _changing:
            line = _lines.get(self._key)
            if line is None or self not in line:  # a forked child
                return
            was_first = line[0] is self
            line.remove(self)
            if not line:
                del _lines[self._key]
            elif was_first and (waiter := line[0]._waiter) is not None:
                waiter.admitted = True
                waiter.wake()


_lines: dict[Hashable, collections.deque[Exclusive]] = {}  # the first of each has the conversation
_changing = threading.RLock()  # a waiter of a dead loop gives up when it is collected, which may be in here


def _check_timeout(timeout: object) -> None:
    if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
        raise InvalidInput(f"timeout is {timeout!r}; it must be a number of seconds of at least 0, or None")


@after_fork
def _start_anew() -> None:
    global _lines, _changing
    _lines, _changing = {}, threading.RLock()
