"""Runnables side by side."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, overload

import anyio
from pydantic import ConfigDict, SkipValidation
from typing_extensions import TypeVar

from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.portal import run_in_portal
from hocket._runtime.sinks import MappingSink, RelaySink, Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import Runnable, RunnableLike, RunnableSerializable
from hocket.runnables.batch import Batch
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.description import join_specs
from hocket.runnables.folding import AddableDict, Values
from hocket.runnables.stage import AnyStage, Stage, put_one
from hocket.runnables.with_run import RunnableWithRun

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hocket.runnables.graph import Graph

__all__ = ["RunnableMap", "RunnableParallel"]

Input = TypeVar("Input", default=Any)
Job = TypeVar("Job")
Result = TypeVar("Result")

# A function that takes the pieces of its input says nothing about the input itself.
_GeneratorFunction = Callable[[Any], Iterator[object] | AsyncIterator[object]]
_Branch = Runnable[Input, Any] | Callable[[Input], object]


class RunnableParallel(RunnableWithRun[Input, Values], RunnableSerializable[Input, Values], Generic[Input]):
    """Calls several runnables with one input, at once, and returns a mapping of their outputs, in their order.

    The first to fail cancels the others. A stream passes on the branches' pieces as they come, as mappings of one key.
    ``config["max_concurrency"]`` limits how many branches run at once. Under a sync verb they run at once, too, on hocket's
    kept event loop and its threads, if more than one of them may wait: prompts and parsers never do.

    Args:
        steps__: the branches by name: runnables, functions or mappings (`coerce_to_runnable`).
        name: for handlers.
        kwargs: further branches.

    Examples:
        >>> from hocket import RunnableParallel
        >>> RunnableParallel(double=lambda x: 2 * x, square=lambda x: x * x).invoke(3)
        {'double': 6, 'square': 9}
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    steps__: SkipValidation[Mapping[str, Runnable[Input, Any]]]

    @overload
    def __init__(
        self: "RunnableParallel[Any]",
        steps__: Mapping[str, _GeneratorFunction] | None = None,
        *,
        name: str | None = None,
        **kwargs: _GeneratorFunction,
    ) -> None: ...
    @overload
    def __init__(
        self, steps__: Mapping[str, _Branch[Input]] | None = None, *, name: str | None = None, **kwargs: _Branch[Input]
    ) -> None: ...
    @overload
    def __init__(
        self, steps__: Mapping[str, RunnableLike] | None = None, *, name: str | None = None, **kwargs: RunnableLike
    ) -> None: ...
    def __init__(
        self, steps__: Mapping[str, RunnableLike] | None = None, *, name: str | None = None, **kwargs: RunnableLike
    ) -> None:
        branches = {key: coerce_to_runnable(branch) for key, branch in {**(steps__ or {}), **kwargs}.items()}
        if not branches:
            raise InvalidInput("a RunnableParallel has at least one branch")
        fields: dict[str, Any] = {"steps__": branches, "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if its branches do."""
        return True

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name for handlers: by default it lists the branches."""
        return super().get_name(suffix, name=name or self.name or f"RunnableParallel<{','.join(self.steps__)}>")

    @property
    def InputType(self) -> object:
        """The type of an input: that of the first branch that says one."""
        said = (branch.InputType for branch in self.steps__.values())
        return next((one for one in said if one is not Any), Any)

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input: an object with what each branch needs, if all take objects."""
        from hocket.runnables.type_schemas import get_object_fields, make_object_schema

        schemas = [branch.get_input_schema(config) for branch in self.steps__.values()]
        fields = [get_object_fields(schema) for schema in schemas]
        if any(one is None for one in fields):
            return super().get_input_schema(config)
        joined = {key: field for one in fields if one is not None for key, field in one.items()}
        return make_object_schema(self.get_name("Input"), joined)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output: an object with what each branch gives."""
        from hocket.runnables.type_schemas import make_object_schema

        outputs = {key: (branch.OutputType, ...) for key, branch in self.steps__.items()}
        return make_object_schema(self.get_name("Output"), outputs)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``."""
        return join_specs(self.steps__.values())

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the branches as a graph, side by side."""
        from hocket.runnables.graph import join_graphs

        ends = (self.get_input_schema(config), self.get_output_schema(config))
        return join_graphs(self.steps__.values(), *ends, config)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        """Return what Jupyter draws: the graph."""
        return {**self.get_graph().make_mime_bundle(), "text/plain": repr(self)}

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Values:
        async def call(branch: tuple[str, Runnable[Input, Any]]) -> object:
            return await branch[1]._invoke(mode, input, add_run_tag(config, "map:key:{}", branch[0]), kwargs)

        if not mode.is_async and not self._can_step:
            return run_in_portal(functools.partial(self._run_whole, ASYNC, input, config, kwargs))
        outputs = await self._run_jobs(call, list(self.steps__.items()), config)
        return dict(zip(self.steps__, outputs, strict=True))

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Values]
    ) -> Stage[Input, Values]:
        merge = _Merge(sink, is_async=mode.is_async)
        stages: list[AnyStage] = [
            branch._make_stage(mode, add_run_tag(config, "map:key:{}", key), kwargs, _name_pieces(key, merge))
            for key, branch in self.steps__.items()
        ]

        async def close_all() -> None:
            await self._run_jobs(lambda stage: stage.close(), stages, config)

        return _ParallelStage(stages, close_all, sink)

    async def _run_jobs(
        self, work: Callable[[Job], Awaitable[Result]], jobs: Sequence[Job], config: RunnableConfig
    ) -> list[Result]:
        """Do ``jobs``, one for each branch, at once if more than one may wait; the first to fail cancels the others."""
        if self._waiting_branches < 2:
            return [await work(job) for job in jobs]
        limit: RunnableConfig = {"max_concurrency": config.get("max_concurrency")}
        return await Batch[Job, Result](lambda job, _: work(job), jobs, limit, return_exceptions=False).collect()

    @property
    def _waiting_branches(self) -> int:
        """How many branches may wait."""
        return sum(not branch._is_inline for branch in self.steps__.values())

    @property
    def _is_inline(self) -> bool:
        return not self._waiting_branches

    @property
    def _can_step(self) -> bool:
        return self._waiting_branches < 2 and all(branch._can_step for branch in self.steps__.values())


RunnableMap = RunnableParallel
"""LangChain's other name of `RunnableParallel`."""


class _ParallelStage(Stage[Input, Values]):
    """The stages of all branches, as one."""

    def __init__(
        self,
        stages: Sequence[AnyStage],
        close_all: Callable[[], Awaitable[None]],
        sink: Sink[Values],
    ) -> None:
        super().__init__(sink)
        self._stages = stages
        self._close_all = close_all

    def expect_snapshots(self) -> None:
        for stage in self._stages:
            stage.expect_snapshots()

    def put(self, item: Input) -> Awaitable[None] | None:
        stages = iter(self._stages)
        for stage in stages:
            waiting = stage.put(item)
            if waiting is not None:
                return self._put_rest(waiting, stages, item)
        return None

    async def _put_rest(self, waiting: Awaitable[None], stages: Iterator[AnyStage], item: Input) -> None:
        await waiting
        for stage in stages:
            await put_one(stage, item)

    async def close(self) -> None:
        await self._close_all()

    async def abort(self, error: BaseException) -> None:
        for stage in self._stages:
            await stage.abort(error)


class _Merge(RelaySink[Values]):
    """Takes the pieces of all branches one at a time: the sink behind it is not made for several tasks."""

    def __init__(self, sink: Sink[Values], *, is_async: bool) -> None:
        super().__init__(sink)
        self._lock = anyio.Lock(fast_acquire=True) if is_async else None

    def put(self, item: AddableDict) -> Awaitable[None] | None:
        """Hand over a piece, when it is its turn."""
        lock = self._lock
        if lock is None:
            return self._sink.put(item)
        if lock.locked():
            return self._wait_and_put(lock, item)
        waiting = self._sink.put(item)
        if waiting is None:
            return None
        lock.acquire_nowait()
        return self._release_after(lock, waiting)

    async def _wait_and_put(self, lock: anyio.Lock, item: AddableDict) -> None:
        async with lock:
            waiting = self._sink.put(item)
            if waiting is not None:
                await waiting

    async def _release_after(self, lock: anyio.Lock, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        finally:
            lock.release()


def _name_pieces(key: str, merge: _Merge) -> MappingSink[object, AddableDict]:
    """Return a sink for the pieces of one branch, which puts them under its name."""
    return MappingSink(merge, lambda piece: AddableDict({key: piece}))
