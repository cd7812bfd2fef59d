"""A runnable called with each item of a list."""

import functools
from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

from pydantic import ConfigDict, SkipValidation

from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC, Runtime
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.batch import Batch
from hocket.runnables.config import RunnableConfig
from hocket.runnables.with_run import RunnableWithRun

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

    async def _run_whole(
        self, runtime: Runtime, input: Iterable[Input], config: RunnableConfig, kwargs: dict[str, object]
    ) -> list[Output]:
        if self.bound._is_inline and not runtime.is_async:
            return [await self.bound._invoke(runtime, item, config, kwargs) for item in input]
        if not runtime.is_async:
            return run_in_portal(functools.partial(self._run_whole, ASYNC, input, config, kwargs))

        async def call(item: Input, _: RunnableConfig) -> Output:
            return await self.bound._invoke(runtime, item, config, kwargs)

        limit: RunnableConfig = {"max_concurrency": config.get("max_concurrency")}
        return await Batch(call, input, limit, return_exceptions=False).collect()

    @property
    def _is_inline(self) -> bool:
        return self.bound._is_inline

    @property
    def _can_take_arguments(self) -> bool:
        return self.bound._can_take_arguments
