"""What composed runnables have in common: a verb of theirs is one coroutine over a runtime, with a run around it.

A subclass says what one call does (`_work`), and, where it can do better than to wait for its whole input, how it works
piece by piece (`_flow`), or how it hands out a result in pieces (`_pour`). Verbs, runs and their ends are here, once.
"""

import functools
from collections.abc import Awaitable, Coroutine
from typing import Any, ClassVar, Generic, TypeVar, cast

from hocket._runtime.runtime import ASYNC, BLOCKING, Runtime, drive
from hocket._runtime.stream import Sink
from hocket.runnables.base import Runnable
from hocket.runnables.chain_run import ChainRun, Tap, inside, is_watched
from hocket.runnables.config import RunnableConfig, ensure_config
from hocket.runnables.folding import Gathered
from hocket.runnables.stage import Gathering, Line, Stage, put_one

__all__ = ["Traced"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Traced(Runnable[Input, Output], Generic[Input, Output]):
    """A runnable every call of which is a run, made of runs of others, or of computing."""

    _run_type: ClassVar[str] = "chain"
    """What handlers are told that it is."""

    async def _work(self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any]) -> Output:
        """Make one call. ``config`` is that of the runs inside."""
        raise NotImplementedError

    async def _pour(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        """Make one call, and push what comes of it. By default in one piece, or what `_flow` makes of one piece."""
        if type(self)._flow is Traced._flow:
            await put_one(sink, await self._work(runtime, input, config, kwargs))
        else:
            line = Line[Input, Output]([functools.partial(self._flow, runtime, config, kwargs)], sink)
            await line.run(lambda head: put_one(head, input))

    def _flow(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        """Return how this works piece by piece. By default it waits for its whole input."""

        def work(input: Input, sink: Sink[Output]) -> Coroutine[Any, Any, None]:
            return self._pour(runtime, input, config, kwargs, sink)

        return Gathering(work, sink)

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
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any]
    ) -> Output:
        config = ensure_config(config)
        run = self._watched_run(runtime, config)
        if run is None:
            return await self._work(runtime, input, inside(config), kwargs)
        work = functools.partial(self._work, runtime, input, run.config_inside(), kwargs)
        return cast(Output, await run.around(input, work, bool))

    async def _produce(
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        config = ensure_config(config)
        run = self._watched_run(runtime, config)
        if run is None:
            await self._pour(runtime, input, inside(config), kwargs, sink)
            return
        tap, own = Tap(run, sink, cumulative=self._cumulative), run.config_inside()

        async def pour() -> Any:
            await self._pour(runtime, input, own, kwargs, tap)
            return tap.pieces.whole()

        await run.around(input, pour, lambda: sink.closed, tap.pieces.whole)

    def _stage(
        self, runtime: Runtime, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        config = ensure_config(config)
        run = self._watched_run(runtime, config)
        if run is None:
            return self._flow(runtime, inside(config), kwargs, sink)
        tap = Tap(run, sink, cumulative=self._cumulative)
        return _Watched(run, tap, self._flow(runtime, run.config_inside(), kwargs, tap))

    def _watched_run(self, runtime: Runtime, config: RunnableConfig) -> ChainRun | None:
        """Return the run of a call, if anybody watches."""
        if not is_watched(config):
            return None
        run = ChainRun(runtime, self.get_name(), config, self._run_type)
        return run if run.is_watched else None


class _Watched(Stage[Any, Any]):
    """A stage that is a run: started by its first piece, and ended once, whatever happens."""

    def __init__(self, run: ChainRun, tap: Tap, stage: Stage[Any, Any]) -> None:
        super().__init__(tap)
        self._run = run
        self._tap = tap
        self._stage = stage
        self._inputs = Gathered()
        self._has_started = False

    def expect_snapshots(self) -> None:
        self._inputs.cumulative = True
        self._stage.expect_snapshots()

    def put(self, item: Any) -> Awaitable[None] | None:
        self._inputs.add(item)
        return self._stage.put(item) if self._has_started else self._put_first(item)

    async def _put_first(self, item: Any) -> None:
        await self._start()
        waiting = self._stage.put(item)
        if waiting is not None:
            await waiting

    async def _start(self) -> None:
        self._has_started = True
        await self._run.start("")  # what goes in is told at the end

    async def close(self) -> None:
        try:
            if not self._has_started:
                await self._start()
            await self._stage.close()
            await self._run.end(self._tap.pieces.whole(), inputs=self._inputs.whole())
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
            await self._run.fail(error, closed=self.closed, so_far=self._tap.pieces.whole)
