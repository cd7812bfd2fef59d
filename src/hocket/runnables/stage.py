"""Steps at work in a stream.

Streams are pushed: a producer puts its pieces into a sink. A step of a chain is therefore a *stage*: a sink for the pieces
of its input that pushes pieces of its output into the sink behind it. All stages of a chain run in one task, that of the
stream: no task, queue or thread for each step; cancelling or leaving the stream reaches all of them at once.

A stage that fails must not throw into the stage that feeds it: a model whose answer a parser refuses has done its work,
and must neither count as failed nor be tried again. So between two stages is a `Link`, which keeps the failure, and tells
the feeder that its consumer has left.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from hocket._runtime.clock import Turns
from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.stream import Left, Sink
from hocket._runtime.thread_stream import from_thread
from hocket.runnables.config import RunnableConfig
from hocket.runnables.folding import Accumulator

__all__ = [
    "AnyStage",
    "Link",
    "Stage",
    "StageBuilder",
    "StageMaker",
    "StreamPipeline",
    "WholeInputStage",
    "collect",
    "drain",
    "push",
    "put_one",
    "transform_into",
]

In = TypeVar("In")
Out = TypeVar("Out")


class Stage(ABC, Generic[In, Out]):
    """A step at work in a stream. After `close` or `abort`, whichever comes first, nothing more happens to it.

    Attributes:
        sink: takes the pieces of the output.
    """

    def __init__(self, sink: Sink[Out]) -> None:
        self.sink = sink

    @property
    def closed(self) -> bool:
        """Whether nobody takes the output any more, for no fault of this stage."""
        return self.sink.closed

    @abstractmethod
    def put(self, item: In) -> Awaitable[None] | None:
        """Take a piece of the input. What is returned must be awaited, unless None, before the next one."""

    def expect_snapshots(self) -> None:
        """Each piece of the input will replace those before it, instead of adding to them."""

    async def close(self) -> None:
        """The input has ended: push what is left."""

    async def abort(self, error: BaseException) -> None:
        """The stream ends early, with ``error``: let go of what is held, and push nothing."""


async def put_one(sink: Sink[Out], item: Out) -> None:
    """Put one piece, and wait until there may be another."""
    waiting = sink.put(item)
    if waiting is not None:
        await waiting


async def drain(
    mode: Mode, pieces: AsyncIterable[Out] | Iterable[Out], sink: Sink[Out], *, in_thread: bool = False
) -> None:
    """Put all of ``pieces``, and close the iterator, if it can be closed.

    Args:
        mode: the one that this runs in.
        pieces: an iterator of either kind.
        sink: takes them.
        in_thread: whether a sync iterator may wait, and so runs in a worker thread.
    """
    if in_thread and not isinstance(pieces, AsyncIterable):

        def work(put: Callable[[Out], bool]) -> None:
            try:
                any(put(piece) for piece in pieces)  # until `put` says that the consumer has left
            finally:
                getattr(pieces, "close", bool)()

        await from_thread(work, sink.put)
        return
    try:
        if isinstance(pieces, AsyncIterable):
            turns = Turns()
            async for piece in pieces:
                await put_one(sink, piece)
                await turns.share()
        else:
            for piece in pieces:
                await put_one(sink, piece)
    finally:
        if isinstance(pieces, AsyncIterable):
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await mode.finish_within_grace(close())
        else:
            getattr(pieces, "close", bool)()


async def collect(pieces: AsyncGenerator[Out, None]) -> list[Out]:
    """Return all that a generator yields, and close it, however that ends."""
    collected, turns = list[Out](), Turns()
    try:
        async for piece in pieces:
            collected.append(piece)
            await turns.share()
    finally:
        await ASYNC.finish_within_grace(pieces.aclose())
    return collected


AnyStage = Stage[Any, Any]
"""A stage in the middle of a chain: what it takes is what the one before gives."""

StageBuilder = Callable[[Sink[Any]], AnyStage]
"""Makes a stage that pushes into the given sink."""


class StageMaker(Protocol[In, Out]):
    """A runnable, as far as a stream needs it."""

    def _make_stage(
        self, mode: Mode, config: RunnableConfig | None, kwargs: dict[str, object], sink: Sink[Out]
    ) -> Stage[In, Out]: ...


async def transform_into(
    runnable: StageMaker[In, Out],
    mode: Mode,
    input: AsyncIterable[In] | Iterable[In],
    config: RunnableConfig,
    kwargs: dict[str, object],
    sink: Sink[Out],
) -> None:
    """Push the output of ``runnable`` for an input whose pieces are the items of ``input``."""
    in_thread = mode.is_async and not isinstance(input, AsyncIterable)
    build = functools.partial(runnable._make_stage, mode, config, kwargs)  # pyright: ignore[reportPrivateUsage]  # `StageMaker` is for this
    pipeline: StreamPipeline[In, Out] = StreamPipeline([build], sink)
    await pipeline.run(lambda head: drain(mode, input, head, in_thread=in_thread))


def push(pieces: Iterator[Out], sink: Sink[Out]) -> Awaitable[None] | None:
    """Put all of ``pieces``. What is returned must be awaited, unless None."""
    for piece in pieces:
        waiting = sink.put(piece)
        if waiting is not None:
            return _push_rest(waiting, pieces, sink)
    return None


async def _push_rest(waiting: Awaitable[None], pieces: Iterator[Out], sink: Sink[Out]) -> None:
    await waiting
    for piece in pieces:
        more = sink.put(piece)
        if more is not None:
            await more


class WholeInputStage(Stage[In, Out]):
    """The stage of a step that needs its whole input: collects the pieces, and starts work at the end.

    Args:
        work: takes the whole input and the sink.
        sink: takes the pieces of the output.
    """

    def __init__(self, work: Callable[[In, Sink[Out]], Awaitable[None]], sink: Sink[Out]) -> None:
        super().__init__(sink)
        self._run_whole = work
        self._pieces: Accumulator[In] = Accumulator()

    def expect_snapshots(self) -> None:
        self._pieces.cumulative = True

    def put(self, item: In) -> None:
        self._pieces.add(item)

    async def close(self) -> None:
        await self._run_whole(self._pieces.total(), self.sink)


class Link(Generic[In]):
    """The sink between two stages: passes pieces to the next stage, and keeps that one's failure from the stage before."""

    __slots__ = ("failure", "stage")

    def __init__(self, stage: Stage[In, Any]) -> None:
        self.stage: Stage[In, Any] = stage
        self.failure: Exception | None = None

    @property
    def closed(self) -> bool:
        """Whether the consumer has left: nobody takes the output of the stage, or that has failed."""
        return self.failure is not None or self.stage.closed

    def put(self, item: In) -> Awaitable[None] | None:
        if self.failure is not None:
            raise Left
        try:
            waiting = self.stage.put(item)
        except Exception as error:
            self.failure = error
            raise Left from error
        return None if waiting is None else self._guard(waiting)

    async def _guard(self, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except Exception as error:
            self.failure = error
            raise Left from error


class StreamPipeline(Stage[In, Out]):
    """Stages one behind the other, as one.

    Args:
        builders: make the stages, in the order of the stream, each given its sink.
        sink: takes the pieces that the last one pushes.

    Attributes:
        stages: in the order of the stream.
    """

    def __init__(self, builders: Sequence[StageBuilder], sink: Sink[Out]) -> None:
        super().__init__(sink)
        self.stages: list[AnyStage] = []
        self._links: list[Link[Any]] = []
        behind: Sink[Any] = sink
        for build in reversed(builders):
            self.stages.append(build(behind))
            behind = Link(self.stages[-1])
            self._links.append(behind)
        self.stages.reverse()
        self._head = behind

    def expect_snapshots(self) -> None:
        self.stages[0].expect_snapshots()

    def put(self, item: In) -> Awaitable[None] | None:
        try:
            waiting = self._head.put(item)
        except Left:
            self._raise_failure()
            raise
        return None if waiting is None else self._guard(waiting)

    async def _guard(self, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except Left:
            self._raise_failure()
            raise

    async def close(self) -> None:
        try:
            for stage in self.stages:
                await stage.close()
        except Left:
            self._raise_failure()
            raise

    async def abort(self, error: BaseException) -> None:
        struck: BaseException | None = None
        for stage in self.stages:
            try:
                await stage.abort(error)
            except Exception:  # it ends early anyhow
                pass
            except BaseException as again:  # cancelled once more: the other stages are told all the same
                struck = struck or again
        if struck is not None:
            raise struck

    async def run(self, source: Callable[[Sink[In]], Awaitable[None]]) -> None:
        """Run ``source``, which pushes into the first stage, and then end the stages, from the first to the last.

        Raises:
            BaseException: what went wrong first, as itself; the stages have been told.
        """
        try:
            try:
                await source(self._head)
            except BaseException as error:
                if isinstance(error, Left | Exception | BaseExceptionGroup):  # a cancellation is mightier
                    self._raise_failure()
                raise
            self._raise_failure()  # a source may go on when its consumer has left
            await self.close()
        except BaseException as error:
            await self.abort(error)
            raise

    def _raise_failure(self) -> None:
        """Raise what a stage has failed with, if one has."""
        for link in self._links:
            if link.failure is not None:
                raise link.failure
