"""Runnables that hand their input on: as it is, with more in it, or a part of it."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import ConfigDict, SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import RunnableSerializable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.folding import Accumulator, AddableDict
from hocket.runnables.function import Function
from hocket.runnables.parallel import RunnableParallel
from hocket.runnables.stage import Stage, put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["RunnableAssign", "RunnablePassthrough", "RunnablePick"]

Input = TypeVar("Input")

NOTHING: Any = object()


class RunnablePassthrough(RunnableWithRun[Input, Input], RunnableSerializable[Input, Input], Generic[Input]):
    """Gives its input.

    Args:
        func: called with the input as a whole, before it goes on, or, in a stream, after its last piece.
        afunc: its async form, for async verbs.
        input_type: for readers.
        name: for handlers.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    func: Callable[..., Any] | None = None
    afunc: Callable[..., Any] | None = None
    input_type: Any = None

    def __init__(
        self,
        func: Callable[..., Any] | None = None,
        afunc: Callable[..., Awaitable[Any]] | None = None,
        *,
        input_type: Any = None,
        name: str | None = None,
    ) -> None:
        fields: dict[str, Any] = {"func": func, "afunc": afunc, "input_type": input_type, "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data."""
        return True

    @classmethod
    def assign(cls, **kwargs: Any) -> "RunnableAssign":  # type: ignore[override]
        """Return a runnable that adds to its input, a mapping, what others make of it, each under its name."""
        return RunnableAssign(RunnableParallel(kwargs))

    async def _run_whole(self, runtime: Runtime, input: Input, config: RunnableConfig, kwargs: dict[str, Any]) -> Input:
        function = self._function()
        if function is not None:
            await function.call(runtime, input, config, kwargs)
        return input

    def _make_inner_stage(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Input]
    ) -> Stage[Input, Input]:
        function = self._function()
        if function is None:
            return _Forwarding(sink)
        return _Showing(sink, lambda whole: function.call(runtime, whole, config, kwargs))

    def _function(self) -> Function | None:
        given = self.func or self.afunc
        return None if given is None else Function.of(given, self.afunc if self.func is not None else None)

    @property
    def _is_inline(self) -> bool:
        return self.func is None and self.afunc is None

    @property
    def _can_step(self) -> bool:
        return self._is_inline or cast(Function, self._function()).can_step


class _Forwarding(Stage[Any, Any]):
    """Hands on each piece, changed; of snapshots, only the last.

    Args:
        sink: takes the pieces.
        empty: is handed on at the end, if nothing else was.
    """

    def __init__(self, sink: Sink[Any], empty: Any = NOTHING) -> None:
        super().__init__(sink)
        self._empty = empty
        self._last: Accumulator | None = None

    def expect_snapshots(self) -> None:
        self._last = Accumulator(cumulative=True)

    def change(self, item: Any) -> Any:
        """Return what is handed on of a piece; `NOTHING` if nothing is."""
        return item

    def put(self, item: Any) -> Awaitable[None] | None:
        if self._last is not None:
            self._last.add(item)
            return None
        changed = self.change(item)
        if changed is NOTHING:
            return None
        self._empty = NOTHING
        return self.sink.put(changed)

    async def close(self) -> None:
        changed = NOTHING if self._last is None else self.change(self._last.total())
        if changed is NOTHING:
            changed = self._empty
        if changed is not NOTHING:
            await put_one(self.sink, changed)


class _Showing(_Forwarding):
    """Hands on each piece, and shows the whole to a function."""

    def __init__(self, sink: Sink[Any], show: Callable[[Any], Awaitable[Any]]) -> None:
        super().__init__(sink)
        self._show = show
        self._pieces = Accumulator()

    def expect_snapshots(self) -> None:
        super().expect_snapshots()
        self._pieces.cumulative = True

    def put(self, item: Any) -> Awaitable[None] | None:
        self._pieces.add(item)
        return super().put(item)

    async def close(self) -> None:
        await super().close()
        await self._show(self._pieces.total())


class _OfMappings(RunnableWithRun[Any, Any], RunnableSerializable[Any, Any]):
    """What `RunnableAssign` and `RunnablePick` have in common: they take mappings."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it holds does."""
        return True

    def _checked(self, input: Any) -> Mapping[str, Any]:
        if not isinstance(input, Mapping):
            raise InvalidInput(f"{self.get_name()} takes a mapping, not {type(input).__name__}")
        return cast("Mapping[str, Any]", input)

    @property
    @abstractmethod
    def _keys(self) -> list[str]:
        """The keys that it is about."""

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name for handlers: by default it lists the keys."""
        return super().get_name(suffix, name=name or self.name or f"{type(self).__name__}<{','.join(self._keys)}>")


class RunnableAssign(_OfMappings):
    """Adds to its input, a mapping, what others make of it. A stream gives the input's keys first.

    Args:
        mapper: makes the additions.
        name: for handlers.
    """

    mapper: SkipValidation[RunnableParallel[Any]]

    def __init__(self, mapper: RunnableParallel[Any], *, name: str | None = None) -> None:
        fields: dict[str, Any] = {"mapper": mapper, "name": name}
        super().__init__(**fields)

    @property
    def _keys(self) -> list[str]:
        return list(self.mapper.steps__)

    async def _run_whole(
        self, runtime: Runtime, input: Any, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        given = self._checked(input)
        return {**given, **await self.mapper._invoke(runtime, input, config, kwargs)}

    def _make_inner_stage(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Any]
    ) -> Stage[Any, Any]:
        def others(piece: Any) -> Any:
            kept = AddableDict((key, value) for key, value in self._checked(piece).items() if key not in keys)
            return kept or NOTHING

        keys = self.mapper.steps__
        return _Assigning(sink, others, self.mapper._make_stage(runtime, config, kwargs, sink))

    @property
    def _is_inline(self) -> bool:
        return self.mapper._is_inline

    @property
    def _can_step(self) -> bool:
        return self.mapper._can_step


class _Changing(_Forwarding):
    """Hands on what a function makes of each piece."""

    def __init__(self, sink: Sink[Any], change: Callable[[Any], Any], empty: Any = NOTHING) -> None:
        super().__init__(sink, empty)
        self._change = change

    def change(self, item: Any) -> Any:
        return self._change(item)


class _Assigning(_Changing):
    """Hands on what is not replaced, and feeds the stage that makes the rest."""

    def __init__(self, sink: Sink[Any], change: Callable[[Any], Any], mapper: Stage[Any, Any]) -> None:
        super().__init__(sink, change)
        self._mapper = mapper

    def expect_snapshots(self) -> None:
        super().expect_snapshots()
        self._mapper.expect_snapshots()

    def put(self, item: Any) -> Awaitable[None] | None:
        waiting = super().put(item)
        return self._mapper.put(item) if waiting is None else self._put_later(waiting, item)

    async def _put_later(self, waiting: Awaitable[None], item: Any) -> None:
        await waiting
        await put_one(self._mapper, item)

    async def close(self) -> None:
        await super().close()
        await self._mapper.close()

    async def abort(self, error: BaseException) -> None:
        await self._mapper.abort(error)


class RunnablePick(_OfMappings):
    """Gives, of its input, a mapping, the value of one key (None if it is missing), or a mapping of those that are there.

    Args:
        keys: one, or a list.
        name: for handlers.
    """

    keys: str | list[str]

    def __init__(self, keys: str | list[str], *, name: str | None = None) -> None:
        fields: dict[str, Any] = {"keys": keys, "name": name}
        super().__init__(**fields)

    @property
    def _keys(self) -> list[str]:
        return [self.keys] if isinstance(self.keys, str) else self.keys

    async def _run_whole(self, runtime: Runtime, input: Any, config: RunnableConfig, kwargs: dict[str, Any]) -> Any:
        given = self._checked(input)
        if isinstance(self.keys, str):
            return given.get(self.keys)
        return {key: given[key] for key in self.keys if key in given}

    def _make_inner_stage(
        self, runtime: Runtime, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Any]
    ) -> Stage[Any, Any]:
        def part(piece: Any) -> Any:
            given = self._checked(piece)
            if isinstance(self.keys, str):
                return given.get(self.keys, NOTHING)
            return AddableDict({key: given[key] for key in self.keys if key in given}) or NOTHING

        return _Changing(sink, part, None if isinstance(self.keys, str) else AddableDict())

    @property
    def _is_inline(self) -> bool:
        return True
