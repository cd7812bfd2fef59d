"""A runnable with arguments and config fixed beforehand."""

import functools
import inspect
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic import Field, SkipValidation

from hocket.runnables.base import AnyRunnable, Runnable, RunnableWrapper
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.proxy import CallTarget, RunnableProxy

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RunnableBinding"]

Input = TypeVar("Input")
Output = TypeVar("Output")

_RUN_KEYS = (
    "callbacks",
    "tags",
    "metadata",
    "run_name",
    "run_id",
)  # keys of a config that `generate` has as parameters


class RunnableBinding(RunnableProxy[Input, Output], Generic[Input, Output]):
    """Calls another runnable with more arguments; its attributes are the other's.

    Args:
        bound: the runnable.
        kwargs: arguments for every call; those of a call win.
        config: for every call; that of a call is merged over it.
        custom_input_type, custom_output_type: types that say more than those of ``bound``; for readers only.
    """

    bound: SkipValidation[Runnable[Input, Output]]
    kwargs: dict[str, Any] = Field(default_factory=dict)
    config: RunnableConfig = Field(default_factory=lambda: cast(RunnableConfig, {}))
    custom_input_type: object = Field(default=None, exclude=True)
    custom_output_type: object = Field(default=None, exclude=True)

    def _get_wrapped(self) -> list[Runnable[Input, Output]]:
        return [self.bound]

    @property
    def InputType(self) -> object:
        """The type of an input: what `with_types` said, or that of what is bound."""
        return self.bound.InputType if self.custom_input_type is None else self.custom_input_type

    @property
    def OutputType(self) -> object:
        """The type of an output: what `with_types` said, or that of what is bound."""
        return self.bound.OutputType if self.custom_output_type is None else self.custom_output_type

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input."""
        if self.custom_input_type is None:
            return self.bound.get_input_schema(merge_configs(self.config, config))
        from hocket.runnables.type_schemas import make_schema

        return make_schema(self.get_name("Input"), self.custom_input_type)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output."""
        if self.custom_output_type is None:
            return self.bound.get_output_schema(merge_configs(self.config, config))
        from hocket.runnables.type_schemas import make_schema

        return make_schema(self.get_name("Output"), self.custom_output_type)

    def _map_wrapped(self, change: Callable[[Runnable[Input, Output]], AnyRunnable]) -> AnyRunnable:
        return self._rebind(change(self.bound))

    def _rebind(self, runnable: AnyRunnable) -> AnyRunnable:
        """Return ``runnable``, which a method of the bound one has made, with what is bound here, too."""
        if isinstance(runnable, RunnableBinding):
            kwargs, config = {**self.kwargs, **runnable.kwargs}, merge_configs(self.config, runnable.config)
            return runnable.model_copy(update={"kwargs": kwargs, "config": config})
        if isinstance(runnable, RunnableWrapper) and not isinstance(runnable, RunnableProxy):
            return runnable._map_wrapped(self._rebind)
        return self.model_copy(update={"bound": runnable})

    def _wrap_call(self, name: str, verb: Callable[..., object]) -> Callable[..., object]:
        """Return ``verb`` with what is bound; a call's own arguments win, its callbacks, tags and metadata are added."""
        signature = inspect.signature(verb)
        has_run = "callbacks" in signature.parameters

        @functools.wraps(verb)
        def call(*args: object, **kwargs: object) -> object:
            fixed: dict[str, object] = {**self.kwargs}
            if has_run:
                of_call: dict[str, object] = {key: kwargs.pop(key) for key in _RUN_KEYS if key in kwargs}
                merged = merge_configs(self._merge_config(None), of_call)
                fixed.update({key: value for key, value in merged.items() if key in _RUN_KEYS})
            positional = signature.bind_partial(*args).arguments
            return verb(*args, **{key: value for key, value in fixed.items() if key not in positional} | kwargs)

        return call

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of what is bound, unless the config has one."""
        return self.bound.get_name(suffix, name=name or self.name or self.config.get("run_name"))

    def bind(self, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return a binding with more arguments, over those it has."""
        return self.model_copy(update={"kwargs": {**self.kwargs, **kwargs}})

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> "RunnableBinding[Input, Output]":
        """Return a binding with more config, over what it has."""
        return self.model_copy(update={"config": merge_configs(self.config, config, kwargs)})

    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, object]) -> CallTarget[Input, Output]:
        return CallTarget(self.bound, self._merge_config(config), {**self.kwargs, **kwargs})

    def _make_batch(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs,
        return_exceptions: bool,
        kwargs: dict[str, object],
    ) -> Batch[Input, Output]:
        merged: Configs
        if config is None or isinstance(config, Mapping):
            merged = self._merge_config(config)
        else:
            merged = [self._merge_config(one) or {} for one in config]
        return self.bound._make_batch(inputs, merged, return_exceptions, {**self.kwargs, **kwargs})

    def _get_max_attempts(self, params: Mapping[str, object]) -> float:
        return self.bound._get_max_attempts({**self.kwargs, **params})

    def _merge_config(self, config: RunnableConfig | None) -> RunnableConfig | None:
        return merge_configs(self.config, config) if self.config else config
