"""Runnables that choose which other one answers: by conditions, or by name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from pydantic import ConfigDict, SkipValidation
from typing_extensions import TypedDict

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import AnyRunnable, Runnable, RunnableSerializable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.description import join_specs
from hocket.runnables.with_run import RunnableWithRun

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RouterInput", "RouterRunnable", "RunnableBranch"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunnableBranch(RunnableWithRun[Input, Output], RunnableSerializable[Input, Output], Generic[Input, Output]):
    """Calls the first runnable whose condition holds for the input, or else the last, which has none.

    Args:
        branches: pairs of a condition and a runnable, then a runnable; functions and mappings stand for runnables
            (`coerce_to_runnable`). A condition is evaluated only if none before it holds.
        name: for handlers.

    Raises:
        InvalidInput: there is no pair, or something other than a pair before the last.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    _waits_for_input: ClassVar[bool] = True

    branches: SkipValidation[list[tuple[Runnable[Input, object], Runnable[Input, Output]]]]
    default: SkipValidation[Runnable[Input, Output]]

    def __init__(self, *branches: object, name: str | None = None, default: object = None, **fields: Any) -> None:
        pairs: list[object] = [*fields.pop("branches", branches[:-1] if default is None else branches)]
        last = default if default is not None else branches[-1] if branches else None
        if not pairs or last is None:
            raise InvalidInput(
                "a RunnableBranch has at least one (condition, runnable) pair, and a runnable behind them"
            )
        fields |= {"branches": [_read_pair(pair) for pair in pairs], "default": coerce_to_runnable(last), "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if its branches do."""
        return True

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input: that of the first runnable that says one."""
        said = next((one for one in self._all if one.InputType is not Any), None)
        return super().get_input_schema(config) if said is None else said.get_input_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``."""
        return join_specs(self._all)

    async def _choose(
        self, mode: Mode, input: Input, config: RunnableConfig
    ) -> tuple[Runnable[Input, Output], RunnableConfig]:
        for number, (condition, runnable) in enumerate(self.branches, 1):
            if await condition._invoke(mode, input, add_run_tag(config, "condition:{}", number), {}):
                return runnable, add_run_tag(config, "branch:{}", number)
        return self.default, add_run_tag(config, "branch:default")

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        runnable, config = await self._choose(mode, input, config)
        return await runnable._invoke(mode, input, config, kwargs)

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        runnable, config = await self._choose(mode, input, config)
        await runnable._produce(mode, input, config, kwargs, sink)

    @property
    def _all(self) -> list[AnyRunnable]:
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


def _read_pair(pair: object) -> tuple[AnyRunnable, AnyRunnable]:
    if isinstance(pair, tuple | list) and len(cast("Sequence[object]", pair)) == 2:
        condition, runnable = cast("Sequence[object]", pair)
        return coerce_to_runnable(condition), coerce_to_runnable(runnable)
    raise InvalidInput(f"a RunnableBranch takes (condition, runnable) pairs and a last runnable, not {pair!r}")


class RouterInput(TypedDict):
    """The input of a `RouterRunnable`.

    Keys:
        key: the name of a runnable.
        input: the input of that one.
    """

    key: str
    input: Any


class RouterRunnable(RunnableWithRun[RouterInput, Output], RunnableSerializable[RouterInput, Output], Generic[Output]):
    """Calls the runnable that the input names. It has no run of its own: handlers see that one's.

    Args:
        runnables: by name; functions and mappings stand for runnables (`coerce_to_runnable`).
        name: of this runnable.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    _waits_for_input: ClassVar[bool] = True

    runnables: SkipValidation[Mapping[str, Runnable[Any, Output]]]

    def __init__(self, runnables: Mapping[str, object], *, name: str | None = None) -> None:
        steps = {key: coerce_to_runnable(runnable) for key, runnable in runnables.items()}
        fields: dict[str, Any] = {"runnables": steps, "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if its runnables do."""
        return True

    def _choose(self, input: RouterInput) -> Runnable[Any, Output]:
        key = cast("Mapping[str, str]", input).get("key", "") if isinstance(input, Mapping) else ""  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        if key not in self.runnables:
            raise InvalidInput(f"no runnable is called {key!r}; there are {', '.join(sorted(self.runnables))}")
        return self.runnables[key]

    async def _invoke(
        self, mode: Mode, input: RouterInput, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Output:
        return await self._choose(input)._invoke(mode, input["input"], config, kwargs)

    async def _stream_whole(
        self,
        mode: Mode,
        config: RunnableConfig,
        kwargs: dict[str, object],
        input: RouterInput,
        sink: Sink[Output],
    ) -> None:
        await self._choose(input)._produce(mode, input["input"], config, kwargs, sink)

    @property
    def _can_step(self) -> bool:
        return all(runnable._can_step for runnable in self.runnables.values())
