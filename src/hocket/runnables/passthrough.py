"""Runnables that pass their input on: as it is, with more in it, or a part of it."""

# A wrapper answers with the hooks of the runnable that it wraps:
# pyright: reportPrivateUsage=false

import enum
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, cast

from pydantic import ConfigDict, SkipValidation
from typing_extensions import TypeVar

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.errors import InvalidInput
from hocket.runnables.base import AnyRunnable, RunnableLike, RunnableSerializable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.folding import Accumulator, AddableDict, Values
from hocket.runnables.function import Function
from hocket.runnables.parallel import RunnableParallel
from hocket.runnables.stage import AnyStage, Stage, put_one
from hocket.runnables.with_run import RunnableWithRun

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hocket.runnables.graph import Graph

__all__ = ["RunnableAssign", "RunnablePassthrough", "RunnablePick"]

Input = TypeVar("Input", default=Any)
Output = TypeVar("Output")
Piece = TypeVar("Piece")
Change = TypeVar("Change")


class _Nothing(enum.Enum):
    NOTHING = enum.auto()


NOTHING: Final = _Nothing.NOTHING


class RunnablePassthrough(RunnableWithRun[Input, Input], RunnableSerializable[Input, Input], Generic[Input]):
    """Returns its input.

    Args:
        func: called with the whole input before that is passed on, or, in a stream, after its last piece.
        afunc: its async form, for async verbs.
        input_type: for readers.
        name: for handlers.

    Examples:
        >>> from hocket import RunnablePassthrough
        >>> RunnablePassthrough.assign(double=lambda fields: 2 * fields["x"]).invoke({"x": 3})
        {'x': 3, 'double': 6}
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    func: Callable[..., object] | None = None
    afunc: Callable[..., object] | None = None
    input_type: object = None

    def __init__(
        self,
        func: Callable[..., object] | None = None,
        afunc: Callable[..., Awaitable[object]] | None = None,
        *,
        input_type: object = None,
        name: str | None = None,
    ) -> None:
        fields: dict[str, Any] = {"func": func, "afunc": afunc, "input_type": input_type, "name": name}
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data."""
        return True

    @property
    def InputType(self) -> object:
        """The type of an input, as ``input_type`` says."""
        return Any if self.input_type is None else self.input_type

    @property
    def OutputType(self) -> object:
        """The type of an output: that of an input."""
        return self.InputType

    @classmethod
    def assign(  # type: ignore[override]  # LangChain's form: a method of the class
        cls, **kwargs: RunnableLike
    ) -> "RunnableAssign":
        """Return a runnable that adds to its input, a mapping, the outputs of others for it, each under its name."""
        return RunnableAssign(RunnableParallel(kwargs))

    async def _run_whole(self, mode: Mode, input: Input, config: RunnableConfig, kwargs: dict[str, object]) -> Input:
        function = self._get_function()
        if function is not None:
            await function.call(mode, input, config, kwargs)
        return input

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Input]
    ) -> Stage[Input, Input]:
        function = self._get_function()
        if function is None:
            return _ForwardingStage(sink)
        return _CallingStage(sink, lambda input: function.call(mode, input, config, kwargs))

    def _get_function(self) -> Function | None:
        function = self.func or self.afunc
        return None if function is None else Function.of(function, self.afunc if self.func is not None else None)

    @property
    def _is_inline(self) -> bool:
        return self.func is None and self.afunc is None

    @property
    def _can_step(self) -> bool:
        return self._is_inline or cast(Function, self._get_function()).can_step


class _ForwardingStage(Stage[Piece, Change]):
    """Passes each piece on, changed; of snapshots, only the last.

    Args:
        sink: takes the pieces.
        change: returns what is passed on of a piece, or `NOTHING`; by default the piece.
        empty: is passed on at the end, if nothing else was.
    """

    def __init__(
        self,
        sink: Sink[Change],
        change: Callable[[Piece], Change | _Nothing] | None = None,
        empty: Change | _Nothing = NOTHING,
    ) -> None:
        super().__init__(sink)
        self._change = change
        self._empty = empty
        self._last: Accumulator[Piece] | None = None

    def expect_snapshots(self) -> None:
        self._last = Accumulator(cumulative=True)

    def put(self, item: Piece) -> Awaitable[None] | None:
        if self._last is not None:
            self._last.add(item)
            return None
        changed = cast(Change, item) if self._change is None else self._change(item)
        if isinstance(changed, _Nothing):
            return None
        self._empty = NOTHING
        return self.sink.put(changed)

    async def close(self) -> None:
        changed: Change | _Nothing = NOTHING
        if self._last is not None:
            item = self._last.total()
            changed = cast(Change, item) if self._change is None else self._change(item)
        if isinstance(changed, _Nothing):
            changed = self._empty
        if not isinstance(changed, _Nothing):
            await put_one(self.sink, changed)


class _CallingStage(_ForwardingStage[Piece, Piece]):
    """Passes each piece on, and calls a function with the whole."""

    def __init__(self, sink: Sink[Piece], function: Callable[[Piece], Awaitable[object]]) -> None:
        super().__init__(sink)
        self._function = function
        self._pieces: Accumulator[Piece] = Accumulator()

    def expect_snapshots(self) -> None:
        super().expect_snapshots()
        self._pieces.cumulative = True

    def put(self, item: Piece) -> Awaitable[None] | None:
        self._pieces.add(item)
        return super().put(item)

    async def close(self) -> None:
        await super().close()
        await self._function(self._pieces.total())


class _MappingRunnable(RunnableWithRun[Values, Output], RunnableSerializable[Values, Output], Generic[Output]):
    """A runnable that takes mappings."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data, if what it holds does."""
        return True

    def _check_input(self, input: object) -> Mapping[str, object]:
        if not isinstance(input, Mapping):
            raise InvalidInput(f"{self.get_name()} takes a mapping, not {type(input).__name__}")
        return cast("Mapping[str, object]", input)

    @property
    @abstractmethod
    def _keys(self) -> list[str]:
        """The keys that it adds or takes out."""

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name for handlers: by default it lists the keys."""
        return super().get_name(suffix, name=name or self.name or f"{type(self).__name__}<{','.join(self._keys)}>")


class RunnableAssign(_MappingRunnable[Values]):
    """Adds the outputs of others to its input, a mapping. A stream begins with the input's keys.

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

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an input: a mapping that has what the added values are made of."""
        from hocket.runnables.type_schemas import get_object_fields, make_object_schema

        needed = get_object_fields(self.mapper.get_input_schema(config))
        return (
            super().get_input_schema(config) if needed is None else make_object_schema(self.get_name("Input"), needed)
        )

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Return the pydantic model of an output: the input's fields, and the added ones."""
        from hocket.runnables.type_schemas import get_object_fields, make_object_schema

        added = get_object_fields(self.mapper.get_output_schema(config)) or {}
        given = get_object_fields(self.get_input_schema(config)) or {}
        return make_object_schema(self.get_name("Output"), {**given, **added})

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a call may set under ``config["configurable"]``."""
        return self.mapper.config_specs

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """Return the added values, and the input that is passed on, as a graph."""
        graph = self.mapper.get_graph(config)
        first, last = graph.first_node(), graph.last_node()
        passed: AnyRunnable = RunnablePassthrough()
        node = graph.add_node(passed)
        if first is not None and last is not None:
            graph.add_edge(first, node)
            graph.add_edge(node, last)
        return graph

    async def _run_whole(
        self, mode: Mode, input: object, config: RunnableConfig, kwargs: dict[str, object]
    ) -> dict[str, object]:
        values = self._check_input(input)
        return {**values, **await self.mapper._invoke(mode, input, config, kwargs)}

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Values]
    ) -> Stage[Values, Values]:
        def take_others(piece: object) -> AddableDict | _Nothing:
            others = {key: value for key, value in self._check_input(piece).items() if key not in keys}
            return AddableDict(others) if others else NOTHING

        keys = self.mapper.steps__
        return _AssigningStage(sink, take_others, self.mapper._make_stage(mode, config, kwargs, sink))

    @property
    def _is_inline(self) -> bool:
        return self.mapper._is_inline

    @property
    def _can_step(self) -> bool:
        return self.mapper._can_step


class _AssigningStage(_ForwardingStage[Values, Values]):
    """Passes on the keys that are not replaced, and feeds the stage that makes the rest."""

    def __init__(
        self, sink: Sink[Values], change: Callable[[object], AddableDict | _Nothing], mapper: AnyStage
    ) -> None:
        super().__init__(sink, change)
        self._mapper = mapper

    def expect_snapshots(self) -> None:
        super().expect_snapshots()
        self._mapper.expect_snapshots()

    def put(self, item: Values) -> Awaitable[None] | None:
        waiting = super().put(item)
        return self._mapper.put(item) if waiting is None else self._put_later(waiting, item)

    async def _put_later(self, waiting: Awaitable[None], item: Values) -> None:
        await waiting
        await put_one(self._mapper, item)

    async def close(self) -> None:
        await super().close()
        await self._mapper.close()

    async def abort(self, error: BaseException) -> None:
        await self._mapper.abort(error)


class RunnablePick(_MappingRunnable[Any]):
    """Takes out of its input, a mapping, the value of one key (None if it is missing), or a mapping of several keys.

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

    async def _run_whole(self, mode: Mode, input: object, config: RunnableConfig, kwargs: dict[str, object]) -> object:
        values = self._check_input(input)
        if isinstance(self.keys, str):
            return values.get(self.keys)
        return {key: values[key] for key in self.keys if key in values}

    def _make_inner_stage(
        self, mode: Mode, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[object]
    ) -> Stage[Values, Any]:
        def take(piece: object) -> object:
            values = self._check_input(piece)
            if isinstance(self.keys, str):
                return values.get(self.keys, NOTHING)
            return AddableDict({key: values[key] for key in self.keys if key in values}) or NOTHING

        empty = None if isinstance(self.keys, str) else AddableDict()
        return _ForwardingStage(sink, take, empty)

    @property
    def _is_inline(self) -> bool:
        return True
