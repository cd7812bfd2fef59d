"""A runnable with arguments and config fixed beforehand."""

import functools
import inspect
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import Field, SkipValidation

from hocket.runnables.base import Runnable
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.proxy import CallTarget, RunnableProxy

__all__ = ["RunnableBinding"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableBinding(RunnableProxy[Input, Output], Generic[Input, Output]):
    """Calls another runnable with more arguments; its attributes are the other's.

    Args:
        bound: the runnable.
        kwargs: arguments for every call; those of a call win.
        config: for every call; that of a call is merged over it.
        custom_input_type, custom_output_type: types that say more than those of ``bound``; for readers alone.
    """

    bound: SkipValidation[Runnable[Input, Output]]
    kwargs: dict[str, Any] = Field(default_factory=dict)
    config: RunnableConfig = Field(default_factory=lambda: cast(RunnableConfig, {}))
    custom_input_type: Any = Field(default=None, exclude=True)
    custom_output_type: Any = Field(default=None, exclude=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        attribute = getattr(self.__dict__["bound"], name)
        if not inspect.ismethod(attribute):
            return attribute

        @functools.wraps(attribute)
        def call(*args: Any, **kwargs: Any) -> Any:
            made = attribute(*args, **kwargs)
            return self._rebind(made) if isinstance(made, Runnable) else made

        return call

    def _rebind(self, made: Any) -> Any:
        """Return what a method of the other one made of it, ``bind_tools`` for one, with what is bound here, too."""
        if isinstance(made, RunnableBinding):
            kwargs, config = {**self.kwargs, **made.kwargs}, merge_configs(self.config, made.config)
            return made.model_copy(update={"kwargs": kwargs, "config": config})
        if hasattr(type(made), "_map_each"):
            return made._map_each(self._rebind)
        return self.model_copy(update={"bound": made})

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of what is bound, unless the config has one."""
        return self.bound.get_name(suffix, name=name or self.name or self.config.get("run_name"))

    def bind(self, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return a binding with more arguments, over those it has."""
        return self.model_copy(update={"kwargs": {**self.kwargs, **kwargs}})

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return a binding with more config, over what it has."""
        return self.model_copy(update={"config": merge_configs(self.config, config, kwargs)})

    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> CallTarget:
        return CallTarget(self.bound, self._merge_config(config), {**self.kwargs, **kwargs})

    def _make_batch(
        self, inputs: Any, config: Configs, return_exceptions: bool, kwargs: dict[str, Any]
    ) -> Batch[Any, Any]:
        merged: Configs
        if config is None or isinstance(config, Mapping):
            merged = self._merge_config(config)
        else:
            merged = [self._merge_config(one) or {} for one in config]
        return self.bound._make_batch(inputs, merged, return_exceptions, {**self.kwargs, **kwargs})

    @property
    def _is_inline(self) -> bool:
        return self.bound._is_inline

    @property
    def _can_take_arguments(self) -> bool:
        return self.bound._can_take_arguments

    @property
    def _can_step(self) -> bool:
        return self.bound._can_step

    @property
    def _is_cumulative(self) -> bool:
        return self.bound._is_cumulative

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        return self.bound._get_max_attempts({**self.kwargs, **params})

    def _merge_config(self, config: RunnableConfig | None) -> RunnableConfig | None:
        return merge_configs(self.config, config) if self.config else config
