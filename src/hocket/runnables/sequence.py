"""Runnables one behind the other."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, Field, SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.stage import Stage, StreamPipeline
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["RunnableSequence"]

Input = TypeVar("Input")
Output = TypeVar("Output")

Build = Callable[[Sink[Any]], Stage[Any, Any]]


class RunnableSequence(RunnableWithRun[Input, Output], RunnableSerializable[Input, Output], Generic[Input, Output]):
    """A chain: each step gets what the one before it gives. Made by ``a | b``.

    A stream flows through all steps that can work piece by piece; others wait for the whole of their input. Arguments
    of a call go to the first step that takes any.

    Args:
        steps: at least two runnables, or what stands for them; chains among them that have no name are taken apart.
        name: for handlers.
        first, middle, last: the steps, instead (LangChain's form).

    Raises:
        InvalidInput: there are fewer than two.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    first: SkipValidation[Runnable[Input, Any]]
    middle: SkipValidation[list[Runnable[Any, Any]]] = Field(default_factory=list[Runnable[Any, Any]])
    last: SkipValidation[Runnable[Any, Output]]

    def __init__(
        self,
        *steps: Any,
        name: str | None = None,
        first: Any = None,
        middle: list[Any] | None = None,
        last: Any = None,
    ) -> None:
        given = steps or [step for step in (first, *(middle or ()), last) if step is not None]
        flat = [one for step in given for one in _taken_apart(coerce_to_runnable(step))]
        if len(flat) < 2:
            raise InvalidInput(f"a RunnableSequence has at least 2 steps, not {len(flat)}")
        fields: dict[str, Any] = {"first": flat[0], "middle": flat[1:-1], "last": flat[-1], "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A chain travels as data, if its steps do."""
        return True

    @property
    def steps(self) -> list[Runnable[Any, Any]]:
        """The steps, in order."""
        return [self.first, *self.middle, self.last]

    async def _run_whole(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> Output:
        value: Any = input
        for step, given, own in self._asked(config, kwargs):
            value = await step._invoke(runtime, value, own, given)
        return value  # type: ignore[no-any-return]

    async def _run_streamed(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> None:
        first, given, own = next(self._asked(config, kwargs))
        line = StreamPipeline[Any, Output](self._builders(runtime, config, kwargs)[1:], sink)
        self._expect(line.stages)
        await line.run(functools.partial(first._produce, runtime, input, own, given))

    def _make_inner_stage(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        line = StreamPipeline[Input, Output](self._builders(runtime, config, kwargs), sink)
        self._expect(line.stages[1:])
        return line

    def _builders(self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any]) -> list[Build]:
        return [
            functools.partial(step._make_stage, runtime, own, given) for step, given, own in self._asked(config, kwargs)
        ]

    def _expect(self, stages: list[Stage[Any, Any]]) -> None:
        """Tell stages, all behind the first, what kind of pieces come from the step before."""
        for step, stage in zip(self.steps, stages, strict=False):
            if step._is_cumulative:
                stage.expect_snapshots()

    def _asked(
        self, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> Iterator[tuple[Runnable[Any, Any], dict[str, Any], RunnableConfig]]:
        """Give each step, with its arguments and its config."""
        steps = self.steps
        taker = next((step for step in steps if step._can_take_arguments), steps[0]) if kwargs else None
        for number, step in enumerate(steps, 1):
            given: dict[str, Any] = {}
            if step is taker:
                given, taker = kwargs, None
            yield step, given, add_run_tag(config, "seq:step:{}", number)

    @property
    def _is_inline(self) -> bool:
        return all(step._is_inline for step in self.steps)

    @property
    def _can_step(self) -> bool:
        return all(step._can_step for step in self.steps)

    @property
    def _is_cumulative(self) -> bool:
        return self.last._is_cumulative


def _taken_apart(step: Runnable[Any, Any]) -> list[Runnable[Any, Any]]:
    return step.steps if isinstance(step, RunnableSequence) and step.name is None else [step]
