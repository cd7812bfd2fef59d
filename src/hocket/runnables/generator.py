"""Generator functions as runnables that work piece by piece."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Generic, TypeVar, cast

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.runnables.async_generator_stage import AsyncGeneratorStage, PieceQueue
from hocket.runnables.config import RunnableConfig
from hocket.runnables.function import Function
from hocket.runnables.stage import Stage
from hocket.runnables.thread_stage import ThreadStage
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["RunnableGenerator"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableGenerator(RunnableWithRun[Input, Output], Generic[Input, Output]):
    """A generator function as a runnable: it takes an iterator over the pieces of the input, and yields those of the output.

    An async one works as the pieces come, within the stream's own task: it must wait for its input itself, not in tasks
    of its own, and hold no timeout and no cancel scope while it does. A sync one works in a thread of its own.

    Args:
        transform: takes the iterator; and ``config`` and ``run_manager``, if it has such parameters.
        atransform: its async form, for async verbs. A function that is async may be given as ``transform``.
        name: for handlers; by default that of the function.

    Raises:
        InvalidHook: ``transform`` is no function, or ``atransform`` is not async.
    """

    def __init__(
        self,
        transform: Callable[..., Iterator[Output]] | Callable[..., AsyncIterator[Output]],
        atransform: Callable[..., AsyncIterator[Output]] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self._function = Function.of(transform, atransform)
        self.name: str | None = name or self._function.name

    def __repr__(self) -> str:
        return f"RunnableGenerator({self.name or '...'})"

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        output = await self._function.call(mode, self._iterate_one(mode, input), config, kwargs)
        return cast(Output, output)

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        await self._function.stream_into(mode, self._iterate_one(mode, input), config, kwargs, sink)

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        generate = self._function.bind_arguments(mode, config, kwargs)
        if self._function.get_form(mode) is self._function.asynchronous:
            return AsyncGeneratorStage(
                mode, config, cast("Callable[[AsyncIterator[Input]], AsyncIterator[Output]]", generate), sink
            )
        return ThreadStage(mode, config, cast("Callable[[Iterator[Input]], Iterator[Output]]", generate), sink)

    def _iterate_one(self, mode: Mode, input: Input) -> AsyncIterator[Input] | Iterator[Input]:
        """Return an iterator over one piece, of the kind that the function takes."""
        if self._function.get_form(mode) is self._function.asynchronous:
            return PieceQueue((input,), is_over=True)
        return iter((input,))

    @property
    def _can_step(self) -> bool:
        return self._function.can_step
