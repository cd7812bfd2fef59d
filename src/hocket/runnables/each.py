"""A runnable called with each item of a list."""

import functools
from collections.abc import Iterable
from types import GenericAlias
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import ConfigDict, SkipValidation

from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.portal import run_in_portal
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.batch import Batch
from hocket.runnables.config import RunnableConfig
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.with_run import RunnableWithRun

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hocket.runnables.graph import Graph

__all__ = ["RunnableEach"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableEach(
    RunnableWithRun[Iterable[Input], list[Output]],
    RunnableSerializable[Iterable[Input], list[Output]],
    Generic[Input, Output],
):
    """Calls a runnable with each item of its input, at once, and returns a list of the outputs, in order.

    The first item to fail cancels the others. 100 run at once, or as many as ``config["max_concurrency"]`` says.

    Args:
        bound: the runnable.
        name: for handlers.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    bound: SkipValidation[Runnable[Input, Output]]

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it calls does."""
        return True

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name for handlers: by default it tells what is called."""
        return super().get_name(suffix, name=name or self.name or f"RunnableEach<{self.bound.get_name()}>")

    @property
    def InputType(self) -> object:
        """The type of an input: a list of what is called takes."""
        return GenericAlias(list, (self.bound.InputType,))

    @property
    def OutputType(self) -> object:
        """The type of an output: a list of what is called gives."""
        return GenericAlias(list, (self.bound.OutputType,))

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input: a list."""
        from hocket.runnables.type_schemas import make_schema

        return make_schema(self.get_name("Input"), GenericAlias(list, (self.bound.get_input_schema(config),)))

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output: a list."""
        from hocket.runnables.type_schemas import make_schema

        return make_schema(self.get_name("Output"), GenericAlias(list, (self.bound.get_output_schema(config),)))

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``."""
        return self.bound.config_specs

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the graph of what is called."""
        return self.bound.get_graph(config)

    async def _run_whole(
        self, mode: Mode, input: Iterable[Input], config: RunnableConfig, kwargs: dict[str, object]
    ) -> list[Output]:
        if self.bound._is_inline and not mode.is_async:
            return [await self.bound._invoke(mode, item, config, kwargs) for item in input]
        if not mode.is_async:
            return run_in_portal(functools.partial(self._run_whole, ASYNC, input, config, kwargs))

        async def call(item: Input, _: RunnableConfig) -> Output:
            return await self.bound._invoke(mode, item, config, kwargs)

        limit: RunnableConfig = {"max_concurrency": config.get("max_concurrency")}
        return await Batch(call, input, limit, return_exceptions=False).collect()

    @property
    def _is_inline(self) -> bool:
        return self.bound._is_inline

    @property
    def _can_take_arguments(self) -> bool:
        return self.bound._can_take_arguments
