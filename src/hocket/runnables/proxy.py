"""Runnables that stand for another one: every verb goes there, with arguments and config changed on the way."""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from pydantic import Field, SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.runnables.base import AnyRunnable, Runnable, RunnableWrapper
from hocket.runnables.batch import Batch, Configs
from hocket.runnables.config import RunnableConfig, merge_configs
from hocket.runnables.description import RunnableDescription
from hocket.runnables.stage import Stage

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hocket.runnables.graph import Graph

__all__ = ["CallTarget", "RunnableBinding", "RunnableProxy"]

Input = TypeVar("Input")
Output = TypeVar("Output")


_RUN_KEYS = (
    "callbacks",
    "tags",
    "metadata",
    "run_name",
    "run_id",
)  # keys of a config that `generate` has as parameters


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

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input of what this stands for, with that config."""
        target = self._resolve_target(config, {})
        return target.runnable.get_input_schema(target.config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output of what this stands for, with that config."""
        target = self._resolve_target(config, {})
        return target.runnable.get_output_schema(target.config)

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the graph of what this stands for, with that config."""
        target = self._resolve_target(config, {})
        return target.runnable.get_graph(target.config)

    @abstractmethod
    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, object]) -> CallTarget[Input, Output]:
        """Return where a call goes."""

    def _find_target(self) -> CallTarget[Input, Output]:
        """Return where a call ends that goes through proxies alone, with all that they bind."""
        target = self._resolve_target(None, {})
        while isinstance(target.runnable, RunnableProxy):
            target = target.runnable._resolve_target(target.config, target.kwargs)
        return target

    def _get_chosen(self) -> Runnable[Input, Output]:
        return self._find_target().runnable

    def _wrap_call(self, name: str, verb: Callable[..., object]) -> Callable[..., object]:
        """Return ``verb`` with what is bound; a call's own arguments win, its callbacks, tags and metadata are added."""
        target = self._find_target()
        signature = inspect.signature(verb)
        has_run = "callbacks" in signature.parameters

        @functools.wraps(verb)
        def call(*args: object, **kwargs: object) -> object:
            fixed = dict(target.kwargs)
            if has_run:
                of_call: dict[str, object] = {key: kwargs.pop(key) for key in _RUN_KEYS if key in kwargs}
                merged = merge_configs(target.config, of_call)
                fixed.update({key: value for key, value in merged.items() if key in _RUN_KEYS})
            positional = signature.bind_partial(*args).arguments
            return verb(*args, **{key: value for key, value in fixed.items() if key not in positional} | kwargs)

        return call

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
        self, mode: Mode, input: Input, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Output:
        target = self._resolve_target(config, kwargs)
        return await target.runnable._invoke(mode, input, target.config, target.kwargs)

    async def _produce(
        self,
        mode: Mode,
        input: Input,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[Output],
    ) -> None:
        target = self._resolve_target(config, kwargs)
        await target.runnable._produce(mode, input, target.config, target.kwargs, sink)

    def _make_stage(
        self, mode: Mode, config: RunnableConfig | None, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        target = self._resolve_target(config, kwargs)
        return target.runnable._make_stage(mode, target.config, target.kwargs, sink)

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
            return super().get_input_schema(config)
        return RunnableDescription[Input, Output].get_input_schema(self, config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output."""
        if self.custom_output_type is None:
            return super().get_output_schema(config)
        return RunnableDescription[Input, Output].get_output_schema(self, config)

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
