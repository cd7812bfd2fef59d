"""What can be called: the face that models have, and that prompts, parsers and chains will have too.

A runnable defines `ainvoke` (or `invoke`); everything else follows from it.
"""

import functools
import math
from abc import ABC
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from pydantic import ConfigDict

from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC, BLOCKING, Runtime
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.errors import InvalidHook, InvalidInput
from hocket.load.serializable import Serializable
from hocket.runnables.async_generator_stage import AsyncGeneratorStage
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.combining import Combining, built
from hocket.runnables.config import RunnableConfig, ensure_config
from hocket.runnables.stage import Stage, WholeInputStage, drain, put_one, transform_into

if TYPE_CHECKING:
    from hocket.runnables.configurable import AnyConfigurableField, ConfigurableField
    from hocket.runnables.event_views import EventStream

__all__ = ["Runnable", "RunnableSerializable"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Runnable(Combining[Input, Output], ABC, Generic[Input, Output]):
    """Something that turns an input into an output, once, many times at once, or piece by piece."""

    name: str | None

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name under which runs of this object are watched."""
        base = name or getattr(self, "name", None) or type(self).__name__
        return base if not suffix else f"{base}_{suffix}" if base[0].islower() else base + suffix.title()

    # -- one

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output. By default `invoke`, in a worker thread."""
        if type(self).invoke is Runnable.invoke:
            raise InvalidHook(f"{type(self).__name__} defines neither ainvoke nor invoke")
        return await ASYNC.call_sync(self.invoke, input, config, **kwargs)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output. By default `ainvoke`, on hocket's kept event loop."""
        return run_in_portal(functools.partial(self.ainvoke, input, config, **kwargs))

    async def _invoke(
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any]
    ) -> Output:
        """Turn one input into its output, on a runtime: what others call who run on it."""
        if runtime.is_async:
            return await self.ainvoke(input, config, **kwargs)
        return self.invoke(input, config, **kwargs)

    @property
    def _is_inline(self) -> bool:
        """Whether a call never waits, and takes no time to speak of: it is made where the caller is."""
        return False

    @property
    def _can_take_arguments(self) -> bool:
        """Whether arguments beside input and config mean anything: in a chain, the first step that takes any gets them."""
        return True

    # -- in pieces

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Stream[Output]:
        """Return the output in pieces, as they come. By default in one piece."""
        return Stream(functools.partial(self._produce, ASYNC, input, ensure_config(config), kwargs))

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> SyncStream[Output]:
        """Return the output in pieces, as they come: the sync face of `astream`."""
        stepped = self._can_step
        produce = functools.partial(self._produce, BLOCKING if stepped else ASYNC, input, ensure_config(config), kwargs)
        return SyncStream(produce, stepped=stepped)

    def atransform(
        self, input: AsyncIterable[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Stream[Output]:
        """Return the output of an input that comes in pieces, in pieces. What cannot begin before the end waits for it."""
        return Stream(functools.partial(transform_into, self, ASYNC, input, ensure_config(config), kwargs))

    def transform(
        self, input: Iterable[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> SyncStream[Output]:
        """Return the output of an input that comes in pieces, in pieces: the sync face of `atransform`."""
        stepped = self._can_step
        runtime = BLOCKING if stepped else ASYNC
        produce = functools.partial(transform_into, self, runtime, input, ensure_config(config), kwargs)
        return SyncStream(produce, stepped=stepped)

    async def _produce(
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        """Push the output into ``sink``, on a runtime: what others call who run on it."""
        if runtime.is_async and type(self).astream is not Runnable.astream:  # a class of the user's own
            await drain(runtime, self.astream(input, config, **kwargs), sink)
        elif type(self).stream is not Runnable.stream:
            await drain(runtime, self.stream(input, config, **kwargs), sink, in_thread=runtime.is_async)
        else:
            await put_one(sink, await self._invoke(runtime, input, config, kwargs))

    def _make_stage(
        self, runtime: Runtime, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        """Return this runnable at work in a stream, on a runtime. By default it waits for its whole input."""
        if runtime.is_async and type(self).atransform is not Runnable.atransform:
            return AsyncGeneratorStage(
                runtime, ensure_config(config), lambda pieces: self.atransform(pieces, config, **kwargs), sink
            )

        def work(input: Input, sink: Sink[Output]) -> Coroutine[Any, Any, None]:
            return self._produce(runtime, input, config, kwargs, sink)

        return WholeInputStage(work, sink)

    @property
    def _can_step(self) -> bool:
        """Whether a sync stream needs no event loop: on the blocking runtime, `_produce` and `_make_stage` never suspend."""
        return type(self).invoke is not Runnable.invoke

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
        """Return what happens in a streamed call, and in the calls inside it: starts, pieces, ends and errors.

        What is watched runs as it would otherwise: a model that is called, and not streamed, gives no pieces.

        Args:
            version: LangChain's ``"v2"`` is the only one.
            include_names, include_types, include_tags: give only events of runs with one of these names, kinds
                (`StreamEvent`) or tags.
            exclude_names, exclude_types, exclude_tags: and none of these.

        Raises:
            InvalidInput: another version is asked for.
        """
        if version != "v2":
            raise InvalidInput(f"version is {version!r}; astream_events knows 'v2', and its stream has typed views")
        include, exclude = (include_names, include_types, include_tags), (exclude_names, exclude_types, exclude_tags)
        return built("EventStream")(self, input, config, kwargs, built("EventFilter")(*include, *exclude))  # type: ignore[no-any-return]

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
    ) -> Any:
        """Turn many inputs into outputs, 100 at a time unless ``config["max_concurrency"]`` says otherwise.

        Args:
            inputs: any iterable or async iterable; pulled only as far as needed.
            config: for every item, or one for each.
            return_exceptions: put an item's exception in its place, instead of cancelling the rest and raising it.

        Returns:
            the outputs, in the order of the inputs.

        Raises:
            Exception: what the first item to fail raised, as itself.
        """
        return await self._make_batch(inputs, config, return_exceptions, kwargs).collect()

    def abatch_as_completed(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> Stream[tuple[int, Any]]:
        """Return pairs of an input's index and its output, as they come. See `abatch`.

        Memory stays flat: nothing is kept, and no more is in flight than the consumer takes, apart from a small buffer.
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
    ) -> Any:
        """Turn many inputs into outputs at once: the sync face of `abatch`. Sync code runs in worker threads."""
        return run_in_portal(
            functools.partial(self.abatch, inputs, config, return_exceptions=return_exceptions, **kwargs)
        )

    def batch_as_completed(
        self, inputs: Iterable[Input], config: Configs = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> Iterator[tuple[int, Any]]:
        """Return pairs of an input's index and its output, as they come: the sync face of `abatch_as_completed`."""
        return SyncStream(self._produce_outcomes(inputs, config, return_exceptions, kwargs), stepped=False)

    def _make_batch(
        self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]
    ) -> Batch[Any, Any]:
        """Return the batch behind all four verbs that make many calls."""
        call = functools.partial(self.ainvoke, **kwargs) if kwargs else self.ainvoke
        return Batch(call, inputs, config, return_exceptions=return_exceptions)

    def _produce_outcomes(self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]) -> Any:
        batch = self._make_batch(inputs, config, return_exceptions, kwargs)

        async def produce(sink: Sink[tuple[int, Any]]) -> None:
            await batch.run(sink.put)

        return produce

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        """Return how many attempts a call with these arguments may make of itself; infinite if nobody knows."""
        return math.inf


class RunnableSerializable(Serializable, Runnable[Input, Output]):
    """A runnable whose configuration is data."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str | None = None

    def configurable_fields(self, **kwargs: "AnyConfigurableField") -> "RunnableSerializable[Input, Output]":
        """Return this runnable with fields that a call may give, under ``config["configurable"]``.

        Args:
            kwargs: the fields by their names, each a `ConfigurableField`, or one with options.

        Raises:
            InvalidInput: there is no such field.
        """
        made = built("RunnableConfigurableFields")(default=self, fields={})
        return made.configurable_fields(**kwargs)  # type: ignore[no-any-return]

    def configurable_alternatives(
        self,
        which: "ConfigurableField",
        *,
        default_key: str = "default",
        prefix_keys: bool = False,
        **kwargs: "Runnable[Input, Output] | Callable[[], Runnable[Input, Output]]",
    ) -> "RunnableSerializable[Input, Output]":
        """Return a runnable that is this one or another, as a call says under ``config["configurable"]``.

        Args:
            which: the key under which it says so.
            default_key: the name of this one.
            prefix_keys: whether the keys of fields that are configurable in one of them start with
                ``"<which>==<name>/"``.
            kwargs: the others by their names; or functions that make them, called when they are chosen.
        """
        return built("RunnableConfigurableAlternatives")(  # type: ignore[no-any-return]
            which=which, default=self, alternatives=kwargs, default_key=default_key, prefix_keys=prefix_keys
        )
