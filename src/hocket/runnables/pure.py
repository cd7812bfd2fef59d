"""Steps that compute and never wait: prompts and parsers.

Both verbs of such a step are one coroutine that does not suspend, so that the sync verb is stepped in the caller's own
thread and the async one never leaves the loop's: there is no hop to a thread, per call or per piece.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import RunnableSerializable
from hocket.runnables.config import RunnableConfig, refuse_config_keys
from hocket.runnables.stage import Stage, push, put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["Incremental", "PureRunnable"]

Input = TypeVar("Input")
Output = TypeVar("Output")
Piece_contra = TypeVar("Piece_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)


class Incremental(Protocol[Piece_contra, Output_co]):
    """One run over an input that comes in pieces. What it does costs the length of the input, in all."""

    def feed(self, piece: Piece_contra, /) -> Iterable[Output_co]:
        """Take the next piece, and return what it adds to the output: nothing, one thing, or several."""
        ...

    def close(self) -> Iterable[Output_co]:
        """Return what the end of the input adds to the output; refuse an input that is not whole."""
        ...


class PureRunnable(RunnableWithRun[Input, Output], RunnableSerializable[Input, Output], ABC, Generic[Input, Output]):
    """A runnable that computes its output from its input, without waiting for anything.

    Args beside the input and the config would change nothing, and are refused (`InvalidInput`).
    """

    @abstractmethod
    async def _compute(self, runtime: Runtime, input: Input) -> Output:
        """Compute the output. On the blocking runtime this must not suspend."""

    def _incremental(self) -> Incremental[Any, Output] | None:
        """Return what computes the output piece by piece, for one run; None: it takes the whole input."""
        return None

    @property
    def _is_inline(self) -> bool:
        return True

    @property
    def _can_take_arguments(self) -> bool:
        return False

    async def _run_whole(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, object]
    ) -> Output:
        self._refuse(kwargs)
        return await self._compute(runtime, input)

    def _make_inner_stage(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        self._refuse(kwargs)
        incremental = self._incremental()
        return (
            super()._make_inner_stage(runtime, config, kwargs, sink)
            if incremental is None
            else _Incremental(incremental, sink)
        )

    async def _run_streamed(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        if self._incremental() is None:
            await put_one(sink, await self._run_whole(runtime, input, config, kwargs))
        else:
            await super()._run_streamed(runtime, input, config, kwargs, sink)

    def _refuse(self, kwargs: dict[str, object]) -> None:
        if kwargs:
            refuse_config_keys(kwargs)
            raise InvalidInput(f"{self.get_name()} takes an input and a config; it has no use for {', '.join(kwargs)}")


class _Incremental(Stage[Any, Output]):
    """An `Incremental` at work in a stream."""

    def __init__(self, incremental: Incremental[Any, Output], sink: Sink[Output]) -> None:
        super().__init__(sink)
        self._incremental = incremental

    def put(self, item: Any) -> Awaitable[None] | None:
        return push(iter(self._incremental.feed(item)), self.sink)

    async def close(self) -> None:
        waiting = push(iter(self._incremental.close()), self.sink)
        if waiting is not None:
            await waiting
