"""Runnables side by side."""

import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import anyio
from pydantic import ConfigDict, SkipValidation

from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC, Runtime
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.batch import Batch
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.folding import AddableDict
from hocket.runnables.stage import Stage, put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["RunnableMap", "RunnableParallel"]

Input = TypeVar("Input")
Job = TypeVar("Job")


class RunnableParallel(
    RunnableWithRun[Input, dict[str, Any]], RunnableSerializable[Input, dict[str, Any]], Generic[Input]
):
    """Gives one input to several runnables, at once, and a mapping of their outputs, in their order.

    The first to fail cancels the others. A stream gives each branch's pieces as they come, as mappings of one key.
    ``config["max_concurrency"]`` limits how many branches run at once. Under a sync verb they run at once, too, on hocket's
    kept event loop and its threads; unless all but one are done in no time, as prompts and parsers are.

    Args:
        steps__: the branches by name: runnables, or what stands for them.
        name: for handlers.
        kwargs: further branches.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    steps__: SkipValidation[Mapping[str, Runnable[Input, Any]]]

    def __init__(self, steps__: Mapping[str, Any] | None = None, *, name: str | None = None, **kwargs: Any) -> None:
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

    async def _run_whole(
        self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        async def call(branch: tuple[str, Runnable[Input, Any]]) -> Any:
            return await branch[1]._invoke(runtime, input, add_run_tag(config, "map:key:{}", branch[0]), kwargs)

        if not runtime.is_async and not self._can_step:
            return run_in_portal(functools.partial(self._run_whole, ASYNC, input, config, kwargs))
        outputs = await self._at_once(call, list(self.steps__.items()), config)
        return dict(zip(self.steps__, outputs, strict=True))

    def _make_inner_stage(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[dict[str, Any]]
    ) -> Stage[Input, dict[str, Any]]:
        merge = _Merge(sink, is_async=runtime.is_async)
        stages: list[Stage[Input, Any]] = [
            branch._make_stage(runtime, add_run_tag(config, "map:key:{}", key), kwargs, _Keyed(key, merge))
            for key, branch in self.steps__.items()
        ]
        return _Parallel(stages, functools.partial(self._at_once, config=config), sink)

    async def _at_once(
        self, do: Callable[[Job], Awaitable[Any]], jobs: Sequence[Job], config: RunnableConfig
    ) -> list[Any]:
        """Do all of ``jobs``, one for each branch, at once if any of them may wait; the first to fail ends the others."""
        if self._waiting < 2:
            return [await do(job) for job in jobs]
        limit: RunnableConfig = {"max_concurrency": config.get("max_concurrency")}
        return await Batch[Job, Any](lambda job, _: do(job), jobs, limit, return_exceptions=False).collect()

    @property
    def _waiting(self) -> int:
        """How many branches may wait."""
        return sum(not branch._is_inline for branch in self.steps__.values())

    @property
    def _is_inline(self) -> bool:
        return not self._waiting

    @property
    def _can_step(self) -> bool:
        return self._waiting < 2 and all(branch._can_step for branch in self.steps__.values())


RunnableMap = RunnableParallel


class _Parallel(Stage[Any, Any]):
    """The stages of all branches, as one."""

    def __init__(
        self,
        stages: list[Stage[Any, Any]],
        at_once: Callable[[Callable[[Any], Awaitable[Any]], Sequence[Any]], Awaitable[Any]],
        sink: Sink[Any],
    ) -> None:
        super().__init__(sink)
        self._stages = stages
        self._at_once = at_once

    def expect_snapshots(self) -> None:
        for stage in self._stages:
            stage.expect_snapshots()

    def put(self, item: Any) -> Awaitable[None] | None:
        stages = iter(self._stages)
        for stage in stages:
            waiting = stage.put(item)
            if waiting is not None:
                return self._put_rest(waiting, stages, item)
        return None

    async def _put_rest(self, waiting: Awaitable[None], stages: Iterator[Stage[Any, Any]], item: Any) -> None:
        await waiting
        for stage in stages:
            await put_one(stage, item)

    async def close(self) -> None:
        await self._at_once(lambda stage: stage.close(), self._stages)

    async def abort(self, error: BaseException) -> None:
        for stage in self._stages:
            await stage.abort(error)


class _Merge:
    """Takes the pieces of all branches, one after another: what is behind it is not made for several tasks."""

    def __init__(self, sink: Sink[Any], *, is_async: bool) -> None:
        self._sink = sink
        self._lock = anyio.Lock(fast_acquire=True) if is_async else None

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed

    def put(self, item: Any) -> Awaitable[None] | None:
        """Hand over a piece, when it is its turn."""
        lock = self._lock
        if lock is None:
            return self._sink.put(item)
        if lock.locked():
            return self._in_turn(lock, item)
        waiting = self._sink.put(item)
        if waiting is None:
            return None
        lock.acquire_nowait()
        return self._held(lock, waiting)

    async def _in_turn(self, lock: anyio.Lock, item: Any) -> None:
        async with lock:
            waiting = self._sink.put(item)
            if waiting is not None:
                await waiting

    async def _held(self, lock: anyio.Lock, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        finally:
            lock.release()


class _Keyed:
    """Takes the pieces of one branch, and puts its name on them."""

    __slots__ = ("_key", "_merge")

    def __init__(self, key: str, merge: _Merge) -> None:
        self._key = key
        self._merge = merge

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._merge.closed

    def put(self, item: Any) -> Awaitable[None] | None:
        """Hand over a piece."""
        return self._merge.put(AddableDict({self._key: item}))
