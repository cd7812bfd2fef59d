"""A thread that does small jobs for tasks, one after another.

To read a row that SQLite has in memory takes five microseconds, and is no job for an event loop all the same: now and then
it takes a disk. A pool of threads would add fifty to each, and a thread of its own still thirty, for the loop's way to go to
sleep and be woken. So the loop first yields the processor once, and the thread, which waits for just that, has done by then
what is quick; that adds ten. It is for what is quick as a rule: a job that takes its time holds up those behind it.
"""

import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.detached import call_soon
from hocket._runtime.fork import after_fork
from hocket._runtime.own_thread import start_thread

if TYPE_CHECKING:
    import asyncio

__all__ = ["Worker"]

T = TypeVar("T")


class _Job(Generic[T]):
    """One job, and what came of it."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._result: T | None = None
        self._error: BaseException | None = None
        self._wake: Callable[[], object] | None = None
        self.is_done = False
        self.is_abandoned = False

    def do(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:  # raised where it is awaited
            self._error = error
        self.is_done = True
        if self._wake is not None:
            self._wake()

    def call_when_done(self, wake: Callable[[], object]) -> None:
        """Have ``wake`` called when the job is done, or twice, should that be now."""
        self._wake = wake
        if self.is_done:
            wake()

    def result(self) -> T:
        error, self._error = self._error, None
        if error is None:
            return cast(T, self._result)
        try:
            raise error
        finally:
            del error  # its traceback holds this frame


class Worker:
    """A thread of its own, which starts with the first job and ends when the object is gone.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reset()
        _workers.add(self)

    def reset(self) -> None:
        """Begin again, without a thread."""
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[[], T], patience: float) -> T:
        """Return or raise what ``function()`` does. It does not see the context variables of the caller.

        A caller that is cancelled, or has no more patience, leaves it behind; if it has not begun, it is not done.

        Args:
            function: the work.
            patience: seconds to wait for it.

        Raises:
            TimeoutError: it took longer.
        """
        if self._thread is None:
            self._start()
        job = _Job(function)
        self._jobs.put(job)
        if hasattr(os, "sched_yield"):
            os.sched_yield()
        if not job.is_done:
            try:
                await _wait(job, patience)
            finally:
                job.is_abandoned = True
            if not job.is_done:
                raise TimeoutError
        return job.result()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = start_thread(self.name, _work, self._jobs)
                weakref.finalize(self, self._jobs.put, None)


def _work(jobs: "queue.SimpleQueue[_Job[Any] | None]") -> None:
    while (job := jobs.get()) is not None:
        if not job.is_abandoned:
            job.do()
        del job  # else it would stay alive until the next one


async def _wait(job: _Job[Any], patience: float) -> None:
    """Wait until the job is done, or so many seconds."""
    token = current_token()
    loop: Any = token.native_token
    if not hasattr(loop, "create_future"):  # trio's
        is_over = anyio.Event()
        job.call_when_done(lambda: call_soon(token, is_over.set))
        with anyio.move_on_after(patience):
            await is_over.wait()
        return
    woken: asyncio.Future[None] = (
        loop.create_future()
    )  # with its timer a third of what an event in a cancel scope takes

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    timer = loop.call_later(patience, wake)
    job.call_when_done(lambda: call_soon(token, wake))
    try:
        await woken
    finally:
        timer.cancel()


_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


@after_fork
def _start_anew() -> None:
    for worker in list(_workers):
        worker.reset()
