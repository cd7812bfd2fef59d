"""A stage that is written as a sync generator: it runs in a thread of its own, in turns with the stream.

It cannot be suspended where it asks for a piece, unless its thread is. That must be none of a pool's: enough of such
streams would wait for pieces in all of its threads, and what makes the pieces, for a thread.
"""

import _thread
import contextvars
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Left, Sink
from hocket._runtime.wait_queue import Waiter
from hocket.runnables.config import RunnableConfig, set_config_context
from hocket.runnables.stage import Stage, put_one

__all__ = ["ThreadStage"]

Output = TypeVar("Output")

BOUND = 64  # pieces that the thread is ahead of the stream, at most


class ThreadStage(Stage[Any, Output]):
    """A sync generator at work in a stream of either kind.

    Args:
        make: takes an iterator over the pieces of the input, and returns one over those of the output.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: RunnableConfig,
        make: Callable[[Iterator[Any]], Iterable[Output]],
        sink: Sink[Output],
    ) -> None:
        super().__init__(sink)
        self._make = make
        self._waiter = Waiter(runtime)
        self._context = contextvars.copy_context()
        self._context.run(set_config_context(config).__enter__)
        self._pieces: deque[Any] = deque()
        self._made: deque[Output] = deque()
        self._turn = threading.Event()  # of the thread: there is a piece, or room, or the end
        self._has_started = self._asks = self._has_all = self._is_left = self._is_over = False
        self._failure: BaseException | None = None

    # -- in the stream

    def expect_snapshots(self) -> None:
        """A generator sees what comes."""

    def put(self, item: Any) -> Awaitable[None] | None:
        self._pieces.append(item)
        return self._go()

    async def close(self) -> None:
        self._has_all = True
        await self._go()

    async def abort(self, error: BaseException) -> None:
        self._is_left = True
        self._turn.set()

    async def _go(self) -> None:
        """Let the thread run until it asks for a piece, or ends, and push what it makes."""
        self._asks = False
        if self._has_started:
            self._turn.set()
        else:
            self._has_started = True
            _thread.start_new_thread(self._context.run, (self._run,))  # Thread.start() would wait for it
        while True:
            over, asks = self._is_over, self._asks  # looked at first: what it made before that is there
            while self._made:
                piece = self._made.popleft()
                if len(self._made) == BOUND - 1:
                    self._turn.set()
                await put_one(self.sink, piece)
            if over:
                if self._failure is not None:
                    failure, self._failure = self._failure, None
                    raise failure
                return
            if asks and not self._pieces and not self._has_all:
                return
            await self._waiter.wait()

    # -- in the thread

    def _run(self) -> None:
        try:
            for piece in self._make(self._input()):
                self._made.append(piece)
                self._waiter.wake()
                while len(self._made) >= BOUND and not self._is_left:
                    self._wait()
                if self._is_left:
                    break
        except BaseException as error:  # raised where the stream is
            self._failure = error
        finally:
            self._is_over = True
            self._waiter.wake()

    def _input(self) -> Iterator[Any]:
        while True:
            if self._is_left:
                raise Left
            if self._pieces:
                self._asks = False
                yield self._pieces.popleft()
                continue
            if self._has_all:
                return
            self._asks = True
            self._waiter.wake()
            self._wait()

    def _wait(self) -> None:
        self._turn.wait()
        self._turn.clear()
