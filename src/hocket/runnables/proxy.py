"""Runnables that stand for another one: every verb goes there, with arguments and config changed on the way."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ConfigDict

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig
from hocket.runnables.stage import Stage

__all__ = ["CallTarget", "RunnableProxy"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class CallTarget(NamedTuple):
    """Where a call goes.

    Attributes:
        runnable: the one that is called.
        config, kwargs: with what.
    """

    runnable: Runnable[Any, Any]
    config: RunnableConfig | None
    kwargs: dict[str, Any]


class RunnableProxy(RunnableSerializable[Input, Output], ABC, Generic[Input, Output]):
    """Stands for another runnable. It is no run of its own: handlers see that one's."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @abstractmethod
    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> CallTarget:
        """Return where a call goes."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it stands for does."""
        return True

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call `ainvoke` of the other."""
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        return await runnable.ainvoke(input, config, **kwargs)  # type: ignore[no-any-return]

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call `invoke` of the other."""
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        return runnable.invoke(input, config, **kwargs)  # type: ignore[no-any-return]

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Stream[Output]:
        """Call `astream` of the other."""
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        return runnable.astream(input, config, **kwargs)

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> SyncStream[Output]:
        """Call `stream` of the other."""
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        return runnable.stream(input, config, **kwargs)

    async def _invoke(
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any]
    ) -> Output:
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        return await runnable._invoke(runtime, input, config, kwargs)  # type: ignore[no-any-return]

    async def _produce(
        self, runtime: Runtime, input: Input, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        await runnable._produce(runtime, input, config, kwargs, sink)

    def _make_stage(
        self, runtime: Runtime, config: RunnableConfig | None, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        runnable, config, kwargs = self._resolve_target(config, kwargs)
        return runnable._make_stage(runtime, config, kwargs, sink)

    def _make_batch(
        self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]
    ) -> Batch[Any, Any]:
        if config is None or isinstance(config, Mapping):
            target = self._resolve_target(config, kwargs)
            return target.runnable._make_batch(inputs, target.config, return_exceptions, target.kwargs)
        return super()._make_batch(inputs, config, return_exceptions, kwargs)
