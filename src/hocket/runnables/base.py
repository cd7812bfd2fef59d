"""What can be called: the face that models have, and that prompts, parsers and chains will have too.

A runnable defines `ainvoke` (or `invoke`); everything else follows from it.
"""

import functools
from abc import ABC
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, overload

from pydantic import ConfigDict

from hocket._runtime.portal import on_portal
from hocket._runtime.runtime import ASYNC
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.errors import InvalidHook
from hocket.load.serializable import Serializable
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, merge_configs

if TYPE_CHECKING:
    from hocket.runnables.binding import RunnableBinding

__all__ = ["Runnable", "RunnableSerializable"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Runnable(ABC, Generic[Input, Output]):
    """Something that turns an input into an output, once, many times at once, or piece by piece."""

    name: str | None

    binding_class: ClassVar[type[Any]]
    """What `bind` and `with_config` return; set by `hocket.runnables.binding`, which is built on this module."""

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name under which runs of this object are watched."""
        base = name or getattr(self, "name", None) or type(self).__name__
        return base if not suffix else f"{base}_{suffix}" if base[0].islower() else base + suffix.title()

    # -- one

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output. By default `invoke`, in a worker thread."""
        if type(self).invoke is Runnable.invoke:
            raise InvalidHook(f"{type(self).__name__} defines neither ainvoke nor invoke")
        return await ASYNC.sync(self.invoke, input, config, **kwargs)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into its output. By default `ainvoke`, on hocket's kept event loop."""
        return on_portal(functools.partial(self.ainvoke, input, config, **kwargs))

    # -- in pieces

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Stream[Output]:
        """Return the output in pieces, as they come. By default in one piece."""
        return Stream(functools.partial(self._produce, input, config, kwargs))

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> SyncStream[Output]:
        """Return the output in pieces, as they come: the sync face of `astream`."""
        return SyncStream(functools.partial(self._produce, input, config, kwargs), stepped=False)

    async def _produce(
        self, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        waiting = sink.put(await self.ainvoke(input, config, **kwargs))
        if waiting is not None:
            await waiting

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
        outcomes: dict[int, Any] = {}
        batch = self._batch(inputs, config, return_exceptions, kwargs)
        await batch.run(lambda outcome: outcomes.__setitem__(*outcome))
        return [outcomes[index] for index in range(len(outcomes))]

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
        return Stream(self._outcomes(inputs, config, return_exceptions, kwargs))

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
        return on_portal(functools.partial(self.abatch, inputs, config, return_exceptions=return_exceptions, **kwargs))

    def batch_as_completed(
        self, inputs: Iterable[Input], config: Configs = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> Iterator[tuple[int, Any]]:
        """Return pairs of an input's index and its output, as they come: the sync face of `abatch_as_completed`."""
        return SyncStream(self._outcomes(inputs, config, return_exceptions, kwargs), stepped=False)

    def _batch(self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]) -> Batch[Any, Any]:
        """Return the batch behind all four verbs that make many calls."""
        call = functools.partial(self.ainvoke, **kwargs) if kwargs else self.ainvoke
        return Batch(call, inputs, config, return_exceptions=return_exceptions)

    def _outcomes(self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]) -> Any:
        batch = self._batch(inputs, config, return_exceptions, kwargs)

        async def produce(sink: Sink[tuple[int, Any]]) -> None:
            await batch.run(sink.put)

        return produce

    # -- with something fixed

    def bind(self, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return this runnable with arguments that every call gets; those of a call come over them."""
        return self.binding_class(bound=self, kwargs=kwargs)  # type: ignore[no-any-return]

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return this runnable with a config that every call gets; that of a call comes over it."""
        return self.binding_class(bound=self, config=merge_configs(config, kwargs))  # type: ignore[no-any-return]


class RunnableSerializable(Serializable, Runnable[Input, Output]):
    """A runnable whose configuration is data."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str | None = None
