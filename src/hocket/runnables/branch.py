"""Runnables that choose which other one answers: by conditions, or by name."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import ConfigDict, SkipValidation
from typing_extensions import TypedDict

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["RouterInput", "RouterRunnable", "RunnableBranch"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableBranch(RunnableWithRun[Input, Output], RunnableSerializable[Input, Output], Generic[Input, Output]):
    """Asks the first runnable whose condition holds for the input, or the last, which has none.

    Args:
        branches: pairs of a condition and a runnable, then a runnable; or what stands for them. A condition is asked
            only if none before it held.
        name: for handlers.

    Raises:
        InvalidInput: there is no pair, or something other than a pair before the last.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    branches: SkipValidation[list[tuple[Runnable[Input, Any], Runnable[Input, Output]]]]
    default: SkipValidation[Runnable[Input, Output]]

    def __init__(self, *branches: Any, name: str | None = None, default: Any = None, **given: Any) -> None:
        pairs = [*given.pop("branches", branches[:-1] if default is None else branches)]
        last = default if default is not None else branches[-1] if branches else None
        if not pairs or last is None:
            raise InvalidInput(
                "a RunnableBranch has at least one (condition, runnable) pair, and a runnable behind them"
            )
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InvalidInput(
                    f"a RunnableBranch takes (condition, runnable) pairs and a last runnable, not {pair!r}"
                )
        made = [(coerce_to_runnable(condition), coerce_to_runnable(runnable)) for condition, runnable in pairs]
        fields: dict[str, Any] = {"branches": made, "default": coerce_to_runnable(last), "name": name, **given}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if its branches do."""
        return True

    async def _chosen(
        self, runtime: Runtime, input: Input, config: RunnableConfig
    ) -> tuple[Runnable[Input, Output], RunnableConfig]:
        for number, (condition, runnable) in enumerate(self.branches, 1):
            if await condition._invoke(runtime, input, add_run_tag(config, "condition:{}", number), {}):
                return runnable, add_run_tag(config, "branch:{}", number)
        return self.default, add_run_tag(config, "branch:default")

    async def _run_whole(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> Output:
        runnable, config = await self._chosen(runtime, input, config)
        return await runnable._invoke(runtime, input, config, kwargs)

    async def _run_streamed(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        runnable, config = await self._chosen(runtime, input, config)
        await runnable._produce(runtime, input, config, kwargs, sink)

    @property
    def _all(self) -> list[Runnable[Any, Any]]:
        return [self.default, *(runnable for pair in self.branches for runnable in pair)]

    @property
    def _is_inline(self) -> bool:
        return all(runnable._is_inline for runnable in self._all)

    @property
    def _can_step(self) -> bool:
        return all(runnable._can_step for runnable in self._all)

    @property
    def _is_cumulative(self) -> bool:
        return all(runnable._is_cumulative for _, runnable in self.branches) and self.default._is_cumulative


class RouterInput(TypedDict):
    """What a `RouterRunnable` takes.

    Keys:
        key: the name of a runnable.
        input: what that gets.
    """

    key: str
    input: Any


class RouterRunnable(RunnableWithRun[RouterInput, Output], RunnableSerializable[RouterInput, Output], Generic[Output]):
    """Asks the runnable that the input names.

    Args:
        runnables: by name; runnables, or what stands for them.
        name: for handlers.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    runnables: SkipValidation[Mapping[str, Runnable[Any, Output]]]

    def __init__(self, runnables: Mapping[str, Any], *, name: str | None = None) -> None:
        made = {key: coerce_to_runnable(runnable) for key, runnable in runnables.items()}
        fields: dict[str, Any] = {"runnables": made, "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if its runnables do."""
        return True

    def _chosen(self, input: RouterInput) -> Runnable[Any, Output]:
        key: Any = cast("Mapping[str, Any]", input).get("key") if isinstance(input, Mapping) else None
        if key not in self.runnables:
            raise InvalidInput(f"no runnable is called {key!r}; there are {', '.join(sorted(self.runnables))}")
        return self.runnables[key]

    async def _run_whole(
        self, runtime: Runtime, input: RouterInput, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> Output:
        return await self._chosen(input)._invoke(runtime, input["input"], config, kwargs)

    async def _run_streamed(
        self, runtime: Runtime, input: RouterInput, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        await self._chosen(input)._produce(runtime, input["input"], config, kwargs, sink)

    @property
    def _can_step(self) -> bool:
        return all(runnable._can_step for runnable in self.runnables.values())
