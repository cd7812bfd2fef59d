"""A stage that is written as an async generator: the generator pulls pieces, while the stream pushes them."""

import contextvars
import types
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Left, Sink
from hocket.runnables.config import RunnableConfig, set_config_context
from hocket.runnables.stage import Stage

__all__ = ["AsyncGeneratorStage", "PieceQueue"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class AsyncGeneratorStage(Stage[Input, Output]):
    """A stage that is written as a generator, which asks for its input.

    It is driven by hand, in the task that pushes: it runs until it asks for a piece that has not come, and goes on with
    the next `put`. What it waits for otherwise, the task waits for. It has a context of its own.

    Args:
        make: takes an async iterator over the pieces of the input, and returns one over those of the output.
    """

    def __init__(
        self,
        mode: Mode,
        config: RunnableConfig,
        make: Callable[[AsyncIterator[Input]], AsyncIterator[Output]],
        sink: Sink[Output],
    ) -> None:
        super().__init__(sink)
        self._mode = mode
        self._input: PieceQueue[Input] = PieceQueue()
        self._context = contextvars.copy_context()
        self._context.run(set_config_context(config).__enter__)
        self._output = self._context.run(make, self._input)
        self._step: Any = None
        self._is_over = False

    def expect_snapshots(self) -> None:
        """A generator gets the input in pieces."""

    def put(self, item: Input) -> Awaitable[None] | None:
        if self._is_over:
            return None
        self._input.pieces.append(item)
        return self._advance()

    async def close(self) -> None:
        self._input.is_over = True
        await self._advance()

    async def abort(self, error: BaseException) -> None:
        if not self._is_over:
            self._is_over = True
            await self._mode.finish_within_grace(self._leave())

    async def _leave(self) -> None:
        with suppress(Exception, Left):
            if self._step is not None:
                await types.coroutine(self._resume)(Left())
        close = getattr(self._output, "aclose", None)
        if close is not None:
            await close()

    @types.coroutine
    def _advance(self) -> Generator[Any, Any, None]:
        """Run the generator until it needs a piece, or ends; push what it yields."""
        while not self._is_over:
            if self._step is None:
                self._step = self._output.__anext__().__await__()
            try:
                item = yield from self._resume(None)  # pyright: ignore[reportUnknownVariableType]  # an `Output`, or `_PIECE_NEEDED`
            except StopAsyncIteration:
                self._is_over = True
                return
            except BaseException:
                self._is_over = True
                raise
            if item is _PIECE_NEEDED:
                return
            waiting = self.sink.put(item)  # pyright: ignore[reportUnknownArgumentType]  # as above
            if waiting is not None:
                yield from waiting.__await__()

    def _resume(self, error: BaseException | None) -> Generator[Any, Any, Any]:
        """Run the generator to its next piece and return that, or `_PIECE_NEEDED` if it needs one first."""
        run, step = self._context.run, self._step
        try:
            asked = run(step.send, None) if error is None else run(step.throw, error)
            while asked is not _PIECE_NEEDED:
                try:
                    answer = yield asked
                except BaseException as struck:
                    asked = run(step.throw, struck)
                else:
                    asked = run(step.send, answer)
        except StopIteration as end:
            self._step = None
            return end.value
        except BaseException:
            self._step = None
            raise
        return _PIECE_NEEDED


class _PieceNeeded:
    """Asks the driver of a generator for a piece."""

    def __await__(self) -> Generator[Any, None, None]:
        yield self


_PIECE_NEEDED = _PieceNeeded()


class PieceQueue(Generic[Input]):
    """An async iterator over the pieces that have come and were not asked for yet."""

    def __init__(self, pieces: Iterable[Input] = (), *, is_over: bool = False) -> None:
        self.pieces: deque[Input] = deque(pieces)
        self.is_over = is_over

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Input:
        while not self.pieces:
            if self.is_over:
                raise StopAsyncIteration
            await _PIECE_NEEDED
        return self.pieces.popleft()
