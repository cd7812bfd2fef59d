"""Runnables one behind the other; and what goes into several runnables together, a chain or a mapping, and comes out."""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import AnyRunnable, Runnable, RunnableSerializable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.description import join_specs
from hocket.runnables.passthrough import RunnableAssign, RunnablePick
from hocket.runnables.stage import AnyStage, Stage, StageBuilder, StreamPipeline
from hocket.runnables.type_schemas import Fields, get_object_fields, make_object_schema, make_schema
from hocket.runnables.with_run import RunnableWithRun

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hocket.runnables.graph import Graph

__all__ = ["RunnableSequence", "join_input_schemas", "join_output_schemas"]

Input = TypeVar("Input")
Output = TypeVar("Output")


_Step = tuple[AnyRunnable, dict[str, object], RunnableConfig]
"""A step of one call, with its arguments and its config."""


class RunnableSequence(RunnableWithRun[Input, Output], RunnableSerializable[Input, Output], Generic[Input, Output]):
    """A chain: each step gets the output of the one before it. Made by ``a | b``.

    A stream flows through all steps that can work piece by piece; others wait for their whole input. Arguments of a call
    go to the first step that takes any.

    Args:
        steps: at least two runnables, or functions and mappings (`coerce_to_runnable`). The steps of a chain that has no
            name become steps of this one.
        name: for handlers.
        first, middle, last: the steps, instead (LangChain's form).

    Raises:
        InvalidInput: there are fewer than two.
        TypeError: a step stands for no runnable.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    first: SkipValidation[Runnable[Input, Any]]
    middle: SkipValidation[list[AnyRunnable]] = Field(default_factory=list[AnyRunnable])
    last: SkipValidation[Runnable[Any, Output]]

    def __init__(
        self,
        *steps: object,
        name: str | None = None,
        first: object = None,
        middle: Sequence[object] | None = None,
        last: object = None,
    ) -> None:
        parts = steps or [step for step in (first, *(middle or ()), last) if step is not None]
        flat = [step for part in parts for step in _flatten(coerce_to_runnable(part))]
        if len(flat) < 2:
            raise InvalidInput(f"a RunnableSequence has at least 2 steps, not {len(flat)}")
        fields: dict[str, Any] = {"first": flat[0], "middle": flat[1:-1], "last": flat[-1], "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A chain travels as data, if its steps do."""
        return True

    @property
    def steps(self) -> list[AnyRunnable]:
        """The steps, in order."""
        return [self.first, *self.middle, self.last]

    @property
    def InputType(self) -> object:
        """The type of an input: the first step's."""
        return self.first.InputType

    @property
    def OutputType(self) -> object:
        """The type of an output: the last step's."""
        return self.last.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input: the first step's, and what it passes on to the others."""
        from hocket.runnables.sequence import join_input_schemas

        return join_input_schemas(self.steps, self.get_name("Input"), config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output: the last step's, and what it passes on from the others."""
        from hocket.runnables.sequence import join_output_schemas

        return join_output_schemas(self.steps, self.get_name("Output"), config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``."""
        return join_specs(self.steps)

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the steps as a graph."""
        from hocket.runnables.graph import chain_graphs

        return chain_graphs(self.steps, config)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        """Return what Jupyter draws: the graph."""
        return {**self.get_graph().make_mime_bundle(), "text/plain": repr(self)}

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Output:
        value: Any = input
        for step, step_kwargs, step_config in self._plan(config, kwargs):
            value = await step._invoke(mode, value, step_config, step_kwargs)
        return cast(Output, value)

    async def _run_streamed(
        self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> None:
        first, first_kwargs, first_config = next(self._plan(config, kwargs))
        pipeline: StreamPipeline[Any, Output] = StreamPipeline(self._make_builders(mode, config, kwargs)[1:], sink)
        self._announce_snapshots(pipeline.stages)
        await pipeline.run(functools.partial(first._produce, mode, input, first_config, first_kwargs))

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Output]
    ) -> Stage[Input, Output]:
        pipeline: StreamPipeline[Input, Output] = StreamPipeline(self._make_builders(mode, config, kwargs), sink)
        self._announce_snapshots(pipeline.stages[1:])
        return pipeline

    def _make_builders(self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object]) -> list[StageBuilder]:
        return [
            functools.partial(step._make_stage, mode, step_config, step_kwargs)
            for step, step_kwargs, step_config in self._plan(config, kwargs)
        ]

    def _announce_snapshots(self, stages: list[AnyStage]) -> None:
        # Each stage, from the second step on, has to know whether the pieces before it add up or replace each other.
        for step, stage in zip(self.steps, stages, strict=False):
            if step._is_cumulative:
                stage.expect_snapshots()

    def _plan(self, config: RunnableConfig, kwargs: dict[str, object]) -> Iterator[_Step]:
        steps = self.steps
        taker = next((step for step in steps if step._can_take_arguments), steps[0]) if kwargs else None
        for number, step in enumerate(steps, 1):
            own: dict[str, object] = {}
            if step is taker:
                own, taker = kwargs, None
            yield step, own, add_run_tag(config, "seq:step:{}", number)

    @property
    def _is_inline(self) -> bool:
        return all(step._is_inline for step in self.steps)

    @property
    def _can_step(self) -> bool:
        return all(step._can_step for step in self.steps)

    @property
    def _is_cumulative(self) -> bool:
        return self.last._is_cumulative


def _flatten(step: AnyRunnable) -> list[AnyRunnable]:
    return step.steps if isinstance(step, RunnableSequence) and step.name is None else [step]


def join_input_schemas(steps: Sequence[AnyRunnable], name: str, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of a chain's input: the first step's. Where that adds to a mapping, the others need the rest."""
    first, *rest = steps
    schema = first.get_input_schema(config)
    if not rest or not isinstance(first, RunnableAssign):
        return schema
    needed = get_object_fields(join_input_schemas(rest, name, config))
    own = get_object_fields(schema)
    if needed is None:
        return schema
    passed = {key: field for key, field in needed.items() if key not in first.mapper.steps__}
    return make_object_schema(name, {**(own or {}), **passed})


def join_output_schemas(steps: Sequence[AnyRunnable], name: str, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of a chain's output: the last step's. Where that adds to a mapping, or picks of it, with the rest."""
    *before, last = steps
    if before and isinstance(last, RunnableAssign | RunnablePick):
        fields = get_object_fields(join_output_schemas(before, name, config))
        if fields is not None and isinstance(last, RunnableAssign):
            return make_object_schema(
                name, {**fields, **(get_object_fields(last.mapper.get_output_schema(config)) or {})}
            )
        if fields is not None and isinstance(last, RunnablePick):
            return _pick_fields(last.keys, fields, name)
    return last.get_output_schema(config)


def _pick_fields(keys: str | list[str], fields: Fields, name: str) -> type[BaseModel]:
    if isinstance(keys, str):
        return make_schema(name, fields[keys][0] if keys in fields else Any)
    return make_object_schema(name, {key: fields[key] for key in keys if key in fields})
