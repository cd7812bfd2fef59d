"""Composed runnables: each verb is one coroutine in a mode, with a run around it.

A subclass says how one call is made (`_run_whole`). Where it can do better than wait for its whole input, it also says
how it works piece by piece (`_make_inner_stage`), or how one call pushes its output in pieces (`_run_streamed`).

Both verbs of a step that computes and never waits, as prompts and parsers do, are one coroutine that does not suspend,
so that the sync verb is stepped in the caller's own thread and the async one never leaves the loop's: there is no hop
to a thread, per call or per piece.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.chain_run import ChainRun, StreamObserver, child_config, is_watched
from hocket.runnables.config import RunnableConfig, ensure_config, refuse_config_keys
from hocket.runnables.folding import Accumulator
from hocket.runnables.stage import Stage, StreamPipeline, WholeInputStage, push, put_one

__all__ = ["Incremental", "PureRunnable", "RunnableWithRun"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableWithRun(Runnable[Input, Output], Generic[Input, Output]):
    """A runnable each call of which is a run of its own. It calls other runnables, or computes."""

    _run_type: ClassVar[str] = "chain"
    """The kind of run, for handlers."""

    _is_whole: ClassVar[bool] = False
    """Whether a stream of it is a call whose output is one piece: handlers hear of its input and output, and no pieces."""

    _waits_for_input: ClassVar[bool] = False
    """Whether a run of it begins when all of its input has come, so that handlers hear of the input at once."""

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        """Make one call. ``config`` is that of the runs inside."""
        raise NotImplementedError

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        """Make one call and push its output. By default in one piece, or through an overridden `_make_inner_stage`."""
        if type(self)._make_inner_stage is RunnableWithRun._make_inner_stage:  # pyright: ignore[reportUnknownMemberType]  # only compared
            await put_one(sink, await self._run_whole(mode, input, config, kwargs))
        else:
            line = StreamPipeline[Input, Output](
                [functools.partial(self._make_inner_stage, mode, config, kwargs)], sink
            )
            await line.run(lambda head: put_one(head, input))

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        """Return the stage that does the work inside the run. By default it waits for its whole input."""

        def work(input: Input, sink: Sink[Output]) -> Awaitable[None]:
            return self._run_streamed(mode, input, config, kwargs, sink)

        return WholeInputStage(work, sink)

    @property
    def _can_step(self) -> bool:
        return True

    # -- verbs, each once

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output."""
        return await self._invoke(ASYNC, input, config, kwargs)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output: the sync face of `ainvoke`. What is sync runs in this thread."""
        return drive(self._invoke(BLOCKING, input, config, kwargs))

    async def _invoke(
        self, mode: Mode, input: Input, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Output:
        config = ensure_config(config)
        run = self._open_run(mode, config)
        if run is None:
            return await self._run_whole(mode, input, child_config(config), kwargs)
        work = functools.partial(self._run_whole, mode, input, run.config_inside(), kwargs)
        return await run.execute(input, work, bool)

    async def _produce(
        self,
        mode: Mode,
        input: Input,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[Output],
    ) -> None:
        config = ensure_config(config)
        put = self._put_whole if self._is_whole else self._stream_whole
        await put(mode, config, kwargs, input, sink)

    async def _stream_whole(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], input: Input, sink: Sink[Output]
    ) -> None:
        """Stream the output of a whole input."""
        run = self._open_run(mode, config)
        if run is None:
            await self._run_streamed(mode, input, child_config(config), kwargs, sink)
            return
        observer, config = StreamObserver(run, sink, cumulative=self._is_cumulative), run.config_inside()

        async def stream() -> Output:
            await self._run_streamed(mode, input, config, kwargs, observer)
            return observer.pieces.total()

        await run.execute(input, stream, lambda: sink.closed, observer.pieces.total)

    def _make_stage(
        self, mode: Mode, config: RunnableConfig | None, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        config = ensure_config(config)
        if self._is_whole:
            return WholeInputStage(functools.partial(self._put_whole, mode, config, kwargs), sink)
        if self._waits_for_input:
            return WholeInputStage(functools.partial(self._stream_whole, mode, config, kwargs), sink)
        run = self._open_run(mode, config)
        if run is None:
            return self._make_inner_stage(mode, child_config(config), kwargs, sink)
        observer = StreamObserver(run, sink, cumulative=self._is_cumulative)
        return _ObservedStage(run, observer, self._make_inner_stage(mode, run.config_inside(), kwargs, observer))

    async def _put_whole(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], input: Input, sink: Sink[Output]
    ) -> None:
        await put_one(sink, await self._invoke(mode, input, config, kwargs))

    def _open_run(self, mode: Mode, config: RunnableConfig) -> ChainRun | None:
        """Return the run of a call, if a handler listens."""
        if not is_watched(config):
            return None
        run = ChainRun(mode, self.get_name(), config, self._run_type)
        return run if run.is_watched else None


class _ObservedStage(Stage[Input, Output]):
    """A stage that is a run: started by its first piece, and ended once, whatever happens."""

    def __init__(self, run: ChainRun, observer: StreamObserver[Output], stage: Stage[Input, Output]) -> None:
        super().__init__(observer)
        self._run = run
        self._observer = observer
        self._stage = stage
        self._inputs: Accumulator[Input] = Accumulator()
        self._has_started = False

    def expect_snapshots(self) -> None:
        self._inputs.cumulative = True
        self._stage.expect_snapshots()

    def put(self, item: Input) -> Awaitable[None] | None:
        self._inputs.add(item)
        return self._stage.put(item) if self._has_started else self._put_first(item)

    async def _put_first(self, item: Input) -> None:
        await self._start()
        waiting = self._stage.put(item)
        if waiting is not None:
            await waiting

    async def _start(self) -> None:
        self._has_started = True
        await self._run.start("")  # `end` tells the whole input

    async def close(self) -> None:
        try:
            if not self._has_started:
                await self._start()
            await self._stage.close()
            await self._run.end(self._observer.pieces.total(), inputs=self._inputs.total())
        except BaseException as error:
            await self._fail(error)
            raise

    async def abort(self, error: BaseException) -> None:
        try:
            await self._stage.abort(error)
        finally:
            await self._fail(error)

    async def _fail(self, error: BaseException) -> None:
        if self._has_started:
            await self._run.fail(error, closed=self.closed, partial_output=self._observer.pieces.total)


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
    async def _compute(self, mode: Mode, input: Input) -> Output:
        """Compute the output. In the blocking mode this must not suspend."""

    def _incremental(self) -> Incremental[Any, Output] | None:
        """Return what computes the output piece by piece, for one run; None: it takes the whole input."""
        return None

    @property
    def _is_inline(self) -> bool:
        return True

    @property
    def _can_take_arguments(self) -> bool:
        return False

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        self._refuse(kwargs)
        return await self._compute(mode, input)

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        self._refuse(kwargs)
        incremental = self._incremental()
        return (
            super()._make_inner_stage(mode, config, kwargs, sink)
            if incremental is None
            else _Incremental(incremental, sink)
        )

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        if self._incremental() is None:
            await put_one(sink, await self._run_whole(mode, input, config, kwargs))
        else:
            await super()._run_streamed(mode, input, config, kwargs, sink)

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
