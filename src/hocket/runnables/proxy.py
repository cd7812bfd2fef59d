"""Runnables that stand for another one: every verb goes there, with arguments and config changed on the way."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.runnables.base import Runnable, RunnableWrapper
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig
from hocket.runnables.stage import Stage

if TYPE_CHECKING:
    from hocket.runnables.graph import Graph

__all__ = ["CallTarget", "RunnableProxy"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class CallTarget(NamedTuple, Generic[Input, Output]):
    """Where a call goes.

    Attributes:
        runnable: the runnable that is called.
        config, kwargs: the config and the further arguments of that call.
    """

    runnable: Runnable[Input, Output]
    config: RunnableConfig | None
    kwargs: dict[str, object]


class RunnableProxy(RunnableWrapper[Input, Output], ABC, Generic[Input, Output]):
    """Stands for another runnable. It has no run of its own: handlers see that one's."""

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the graph of what this stands for."""
        return self._get_wrapped()[0].get_graph(config)

    @abstractmethod
    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, object]) -> CallTarget[Input, Output]:
        """Return where a call goes."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it stands for does."""
        return True

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call `ainvoke` of the other."""
        target = self._resolve_target(config, kwargs)
        return await target.runnable.ainvoke(input, target.config, **target.kwargs)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call `invoke` of the other."""
        target = self._resolve_target(config, kwargs)
        return target.runnable.invoke(input, target.config, **target.kwargs)

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Stream[Output]:
        """Call `astream` of the other."""
        target = self._resolve_target(config, kwargs)
        return target.runnable.astream(input, target.config, **target.kwargs)

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> SyncStream[Output]:
        """Call `stream` of the other."""
        target = self._resolve_target(config, kwargs)
        return target.runnable.stream(input, target.config, **target.kwargs)

    async def _invoke(
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Output:
        target = self._resolve_target(config, kwargs)
        return await target.runnable._invoke(runtime, input, target.config, target.kwargs)

    async def _produce(
        self,
        runtime: Runtime,
        input: Input,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[Output],
    ) -> None:
        target = self._resolve_target(config, kwargs)
        await target.runnable._produce(runtime, input, target.config, target.kwargs, sink)

    def _make_stage(
        self, runtime: Runtime, config: RunnableConfig | None, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        target = self._resolve_target(config, kwargs)
        return target.runnable._make_stage(runtime, target.config, target.kwargs, sink)

    def _make_batch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs,
        return_exceptions: bool,
        kwargs: dict[str, object],
    ) -> Batch[Input, Output]:
        if config is None or isinstance(config, Mapping):
            target = self._resolve_target(config, kwargs)
            return target.runnable._make_batch(inputs, target.config, return_exceptions, target.kwargs)
        return super()._make_batch(inputs, config, return_exceptions, kwargs)

    @property
    def _is_inline(self) -> bool:
        return self._get_wrapped()[0]._is_inline

    @property
    def _can_take_arguments(self) -> bool:
        return self._get_wrapped()[0]._can_take_arguments

    @property
    def _can_step(self) -> bool:
        return self._get_wrapped()[0]._can_step

    @property
    def _is_cumulative(self) -> bool:
        return self._get_wrapped()[0]._is_cumulative
