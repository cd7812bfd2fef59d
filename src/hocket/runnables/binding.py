"""A runnable with arguments and config fixed beforehand."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import ConfigDict, Field, SkipValidation

from hocket._runtime.stream import Stream, SyncStream
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, ensure_config, merge_configs

__all__ = ["RunnableBinding"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableBinding(RunnableSerializable[Input, Output], Generic[Input, Output]):
    """Calls another runnable with more arguments; its attributes are the other's.

    Args:
        bound: the runnable.
        kwargs: arguments for every call; those of a call win.
        config: for every call; that of a call is merged over it.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    bound: SkipValidation[Runnable[Input, Output]]
    kwargs: dict[str, Any] = Field(default_factory=dict)
    config: RunnableConfig = Field(default_factory=lambda: cast(RunnableConfig, {}))

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A binding travels as data, if what it binds does."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.__dict__["bound"], name)

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of what is bound, unless the config has one."""
        return self.bound.get_name(suffix, name=name or self.name or self.config.get("run_name"))

    def bind(self, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return a binding with more arguments, over those it has."""
        return RunnableBinding(bound=self.bound, kwargs={**self.kwargs, **kwargs}, config=self.config)

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return a binding with more config, over what it has."""
        return RunnableBinding(bound=self.bound, kwargs=self.kwargs, config=merge_configs(self.config, config, kwargs))

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call `ainvoke` of what is bound."""
        return await self.bound.ainvoke(input, self._merged(config), **{**self.kwargs, **kwargs})

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call `invoke` of what is bound."""
        return self.bound.invoke(input, self._merged(config), **{**self.kwargs, **kwargs})

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Stream[Output]:
        """Call `astream` of what is bound."""
        return self.bound.astream(input, self._merged(config), **{**self.kwargs, **kwargs})

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> SyncStream[Output]:
        """Call `stream` of what is bound."""
        return self.bound.stream(input, self._merged(config), **{**self.kwargs, **kwargs})

    def _batch(self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]) -> Batch[Any, Any]:
        return self.bound._batch(inputs, self._merged_all(config), return_exceptions, {**self.kwargs, **kwargs})

    def _merged(self, config: RunnableConfig | None) -> RunnableConfig:
        return merge_configs(self.config, config) if self.config else ensure_config(config)

    def _merged_all(self, config: Configs) -> Configs:
        if config is None or isinstance(config, Mapping):
            return self._merged(config)
        return [self._merged(one) for one in config]


Runnable.binding_class = RunnableBinding
