"""The calls of a runnable: one input or many, whole outputs or pieces, async or sync.

A subclass defines `ainvoke` (or `invoke`); every other verb follows from it.
"""

import functools
import math
from abc import ABC
from collections.abc import AsyncIterable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, cast, overload

from hocket._runtime.definitions import Twins, has_own_definition
from hocket._runtime.mode import ASYNC, BLOCKING, Mode
from hocket._runtime.portal import run_in_portal
from hocket._runtime.stream import Producer, Sink, Stream, SyncStream
from hocket.errors import InvalidHook, InvalidInput
from hocket.runnables.async_generator_stage import AsyncGeneratorStage
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, ensure_config
from hocket.runnables.stage import Stage, WholeInputStage, drain, put_one, transform_into

if TYPE_CHECKING:
    from hocket.runnables.event_views import EventStream

__all__ = ["RunnableVerbs"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableVerbs(Twins, ABC, Generic[Input, Output]):
    """The calls of a `Runnable`: once, many times at once, or piece by piece."""

    name: str | None

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name under which runs of this object are watched."""
        base = name or getattr(self, "name", None) or type(self).__name__
        return base if not suffix else f"{base}_{suffix.lower()}" if base[0].islower() else base + suffix.title()

    def _defines(self, verb: str) -> bool:
        """Whether the class has a verb of its own."""
        return has_own_definition(type(self), RunnableVerbs, verb)

    # -- one

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output. By default `invoke`, in a worker thread."""
        if not self._defines("invoke"):
            raise InvalidHook(f"{type(self).__name__} defines neither ainvoke nor invoke")
        return await ASYNC.call_sync(self.invoke, input, config, **kwargs)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output. By default `ainvoke`, on hocket's kept event loop."""
        return run_in_portal(functools.partial(self.ainvoke, input, config, **kwargs))

    async def _invoke(
        self, mode: Mode, input: Input, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Output:
        """Turn one input into its output, in a mode. Other runnables in that mode call this."""
        if mode.is_async:
            return await self.ainvoke(input, config, **kwargs)
        return self.invoke(input, config, **kwargs)

    _call_verbs: ClassVar[frozenset[str]] = frozenset()
    """Further public methods of a class that take the arguments of a call: a `RunnableWrapper` gives them what is bound."""

    @property
    def _is_inline(self) -> bool:
        """Whether a call never waits and takes microseconds, so that no worker thread is needed."""
        return False

    @property
    def _can_take_arguments(self) -> bool:
        """Whether a call takes arguments beside input and config. In a chain the first step that does gets them."""
        return True

    # -- in pieces

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Stream[Output]:
        """Return the output as a stream of pieces. By default it is one piece."""
        return Stream(functools.partial(self._produce, ASYNC, input, ensure_config(config), kwargs))

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> SyncStream[Output]:
        """Return the output as a stream of pieces: the sync face of `astream`."""
        stepped = self._can_step
        produce = functools.partial(self._produce, BLOCKING if stepped else ASYNC, input, ensure_config(config), kwargs)
        return SyncStream(produce, stepped=stepped)

    def atransform(
        self, input: AsyncIterable[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Stream[Output]:
        """Stream the output of an input that is itself a stream. A step that needs its whole input waits for the end."""
        return Stream(functools.partial(transform_into, self, ASYNC, input, ensure_config(config), kwargs))

    def transform(
        self, input: Iterable[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> SyncStream[Output]:
        """Stream the output of an input that is itself a stream: the sync face of `atransform`."""
        stepped = self._can_step
        mode = BLOCKING if stepped else ASYNC
        produce = functools.partial(transform_into, self, mode, input, ensure_config(config), kwargs)
        return SyncStream(produce, stepped=stepped)

    async def _produce(
        self,
        mode: Mode,
        input: Input,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[Output],
    ) -> None:
        """Push the output into ``sink``, in a mode. Other runnables in that mode call this."""
        if mode.is_async and self._defines("astream"):
            await drain(mode, self.astream(input, config, **kwargs), sink)
        elif self._defines("stream"):
            await drain(mode, self.stream(input, config, **kwargs), sink, in_thread=mode.is_async)
        else:
            await put_one(sink, await self._invoke(mode, input, config, kwargs))

    def _make_stage(
        self, mode: Mode, config: RunnableConfig | None, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        """Return the stage that runs this runnable inside a stream. By default it waits for its whole input."""
        if mode.is_async and self._defines("atransform"):
            return AsyncGeneratorStage(
                mode, ensure_config(config), lambda pieces: self.atransform(pieces, config, **kwargs), sink
            )

        def work(input: Input, sink: Sink[Output]) -> Coroutine[object, object, None]:
            return self._produce(mode, input, config, kwargs, sink)

        return WholeInputStage(work, sink)

    @property
    def _can_step(self) -> bool:
        """Whether a sync stream needs no event loop: in the blocking mode, `_produce` and `_make_stage` never suspend."""
        return self._defines("invoke")

    @property
    def _is_cumulative(self) -> bool:
        """Whether each piece of the output replaces those before it, instead of adding to them."""
        return False

    def astream_events(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v2"] = "v2",
        include_names: Sequence[str] | None = None,
        include_types: Sequence[str] | None = None,
        include_tags: Sequence[str] | None = None,
        exclude_names: Sequence[str] | None = None,
        exclude_types: Sequence[str] | None = None,
        exclude_tags: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> "EventStream[Output]":
        """Return the events of a streamed call and of the calls inside it: starts, pieces, ends and errors.

        Watching changes nothing: a model that is called, and not streamed, has no events of pieces.

        Args:
            version: LangChain's ``"v2"`` is the only one.
            include_names, include_types, include_tags: only events of runs with one of these names, kinds (`StreamEvent`)
                or tags.
            exclude_names, exclude_types, exclude_tags: no events of runs with one of these.

        Raises:
            InvalidInput: ``version`` is another one.
        """
        if version != "v2":
            raise InvalidInput(f"version is {version!r}; astream_events knows 'v2', and its stream has typed views")
        include, exclude = (include_names, include_types, include_tags), (exclude_names, exclude_types, exclude_tags)
        from hocket.runnables.event_views import EventStream
        from hocket.runnables.stream_events import EventFilter

        return EventStream(self, input, config, kwargs, EventFilter(*include, *exclude))

    # -- many

    @overload
    async def abatch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: Literal[False] = False,
        **kwargs: Any,
    ) -> list[Output]: ...
    @overload
    async def abatch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: bool,
        **kwargs: Any,
    ) -> list[Output | Exception]: ...
    async def abatch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output] | list[Output | Exception]:
        """Turn many inputs into outputs, 100 at a time unless ``config["max_concurrency"]`` says otherwise.

        Args:
            inputs: any iterable or async iterable; pulled only as far as needed.
            config: for every item, or one for each.
            return_exceptions: put an item's exception in its place, instead of cancelling the rest and raising it.

        Returns:
            the outputs, in the order of the inputs.

        Raises:
            Exception: what the first item to fail raised, as itself, with a note of the item's index; one of hocket's own
                has the index as `batch_index`, too.
        """
        return await self._make_batch(inputs, config, return_exceptions, kwargs).collect()

    @overload
    def abatch_as_completed(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: Literal[False] = False,
        **kwargs: Any,
    ) -> Stream[tuple[int, Output]]: ...
    @overload
    def abatch_as_completed(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: bool,
        **kwargs: Any,
    ) -> Stream[tuple[int, Output | Exception]]: ...
    def abatch_as_completed(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> Stream[tuple[int, Output]] | Stream[tuple[int, Output | Exception]]:
        """Return pairs of an input's index and its output, in the order in which the calls end. See `abatch`.

        Memory stays flat: outputs are not kept, and the calls run ahead of the consumer by a small buffer only.
        """
        return Stream(self._produce_outcomes(inputs, config, return_exceptions, kwargs))

    @overload
    def batch(
        self,
        inputs: Iterable[Input],
        config: Configs = None,
        *,
        return_exceptions: Literal[False] = False,
        **kwargs: Any,
    ) -> list[Output]: ...
    @overload
    def batch(
        self, inputs: Iterable[Input], config: Configs = None, *, return_exceptions: bool, **kwargs: Any
    ) -> list[Output | Exception]: ...
    def batch(
        self, inputs: Iterable[Input], config: Configs = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Output] | list[Output | Exception]:
        """Turn many inputs into outputs at once: the sync face of `abatch`. Sync code runs in worker threads."""
        return run_in_portal(
            functools.partial(self.abatch, inputs, config, return_exceptions=return_exceptions, **kwargs)
        )

    @overload
    def batch_as_completed(
        self,
        inputs: Iterable[Input],
        config: Configs = None,
        *,
        return_exceptions: Literal[False] = False,
        **kwargs: Any,
    ) -> Iterator[tuple[int, Output]]: ...
    @overload
    def batch_as_completed(
        self, inputs: Iterable[Input], config: Configs = None, *, return_exceptions: bool, **kwargs: Any
    ) -> Iterator[tuple[int, Output | Exception]]: ...
    def batch_as_completed(
        self, inputs: Iterable[Input], config: Configs = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> Iterator[tuple[int, Output]] | Iterator[tuple[int, Output | Exception]]:
        """Return pairs of an input's index and its output: the sync face of `abatch_as_completed`."""
        return SyncStream(self._produce_outcomes(inputs, config, return_exceptions, kwargs), stepped=False)

    def _make_batch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs,
        return_exceptions: bool,
        kwargs: dict[str, object],
    ) -> Batch[Input, Output]:
        """Return the batch behind the four verbs that make many calls."""
        call = functools.partial(self.ainvoke, **cast("dict[str, Any]", kwargs)) if kwargs else self.ainvoke
        return Batch(call, inputs, config, return_exceptions=return_exceptions, tells_index=True)

    def _produce_outcomes(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs,
        return_exceptions: bool,
        kwargs: dict[str, object],
    ) -> Producer[tuple[int, Output]]:
        batch = self._make_batch(inputs, config, return_exceptions, kwargs)

        async def produce(sink: Sink[tuple[int, Output]]) -> None:
            await batch.run(sink.put)

        return produce

    def _get_max_attempts(self, params: Mapping[str, object]) -> float:
        """Return how many attempts a call with these arguments may make of itself; infinite if that is unknown."""
        return math.inf
