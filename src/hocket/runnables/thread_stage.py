"""A stage that is written as a sync generator: it runs in a thread of its own, in turns with the stream.

A sync generator can only wait for a piece by blocking its thread. That thread must not be one of a pool: with enough such
streams all of the pool's threads would wait for pieces, and the code that makes the pieces would wait for a thread.
"""

import _thread
import contextvars
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Left, Sink
from hocket._runtime.wait_queue import Waiter
from hocket.runnables.config import RunnableConfig, set_config_context
from hocket.runnables.stage import Stage, put_one

__all__ = ["ThreadStage"]

Input = TypeVar("Input")
Output = TypeVar("Output")

BOUND = 64  # pieces that the thread is ahead of the stream, at most


class ThreadStage(Stage[Input, Output]):
    """A sync generator at work in a stream of either kind.

    Args:
        make: takes an iterator over the pieces of the input, and returns one over those of the output.
    """

    def __init__(
        self,
        mode: Mode,
        config: RunnableConfig,
        make: Callable[[Iterator[Input]], Iterable[Output]],
        sink: Sink[Output],
    ) -> None:
        super().__init__(sink)
        self._make = make
        self._waiter = Waiter(mode)
        self._context = contextvars.copy_context()
        self._context.run(set_config_context(config).__enter__)
        self._inputs: deque[Input] = deque()
        self._outputs: deque[Output] = deque()
        self._turn = threading.Event()  # of the thread: there is a piece, or room, or the end
        self._has_started = self._asks = self._has_all = self._is_left = self._is_over = False
        self._failure: BaseException | None = None

    # -- in the stream

    def expect_snapshots(self) -> None:
        """A generator gets the input in pieces."""

    def put(self, item: Input) -> Awaitable[None] | None:
        self._inputs.append(item)
        return self._run_thread()

    async def close(self) -> None:
        self._has_all = True
        await self._run_thread()

    async def abort(self, error: BaseException) -> None:
        self._is_left = True
        self._turn.set()

    async def _run_thread(self) -> None:
        """Let the thread run until it asks for a piece, or ends, and push what it makes."""
        self._asks = False
        if self._has_started:
            self._turn.set()
        else:
            self._has_started = True
            _thread.start_new_thread(self._context.run, (self._run,))  # Thread.start() would wait for it
        while True:
            over, asks = self._is_over, self._asks  # looked at first: what it made before that is there
            while self._outputs:
                piece = self._outputs.popleft()
                if len(self._outputs) == BOUND - 1:
                    self._turn.set()
                await put_one(self.sink, piece)
            if over:
                if self._failure is not None:
                    failure, self._failure = self._failure, None
                    raise failure
                return
            if asks and not self._inputs and not self._has_all:
                return
            await self._waiter.wait()

    # -- in the thread

    def _run(self) -> None:
        try:
            for piece in self._make(self._input()):
                self._outputs.append(piece)
                self._waiter.wake()
                while len(self._outputs) >= BOUND and not self._is_left:
                    self._wait()
                if self._is_left:
                    break
        except BaseException as error:  # raised where the stream is
            self._failure = error
        finally:
            self._is_over = True
            self._waiter.wake()

    def _input(self) -> Iterator[Input]:
        while True:
            if self._is_left:
                raise Left
            if self._inputs:
                self._asks = False
                yield self._inputs.popleft()
                continue
            if self._has_all:
                return
            self._asks = True
            self._waiter.wake()
            self._wait()

    def _wait(self) -> None:
        self._turn.wait()
        self._turn.clear()
