"""The pieces of a stream, put together again, for a step that needs its whole input.

Text is joined, lists are extended, message chunks are folded (`hocket.messages`), and an `AddableDict`, which
`RunnableParallel` streams, is merged key by key; all in linear time. Other pieces are added with ``+``; where that does not
work, the last one counts. Events are no parts of an output: the last one has it.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from hocket.messages import BaseMessageChunk

__all__ = ["Accumulator", "AddableDict", "OutputEvent", "Values", "aadd", "add"]

T = TypeVar("T")


Values = dict[str, Any]
"""What several runnables have given, each under its name."""


class OutputEvent(ABC):
    """A piece of a stream that tells what happens, and is no part of the output."""

    __slots__ = ()

    @property
    @abstractmethod
    def output(self) -> object:
        """The output of the stream, which the last event has; None before."""


class AddableDict(dict[str, Any]):
    """A mapping of which there may be more to come: ``+`` adds key by key. None and missing keys add nothing."""

    def __add__(self, other: object) -> "AddableDict":
        return _merge_mappings((self, cast("dict[str, object]", other))) if isinstance(other, dict) else NotImplemented

    def __radd__(self, other: object) -> "AddableDict":
        return _merge_mappings((cast("dict[str, object]", other), self)) if isinstance(other, dict) else NotImplemented


class Accumulator(Generic[T]):
    """The pieces of a stream so far.

    Args:
        cumulative: whether each piece replaces those before it, instead of adding to them.
    """

    __slots__ = ("cumulative", "pieces")

    def __init__(self, *, cumulative: bool = False) -> None:
        self.pieces: list[T] = []
        self.cumulative: bool = cumulative

    def add(self, piece: T) -> None:
        """Add one."""
        if self.cumulative:
            self.pieces.clear()
        self.pieces.append(piece)

    def total(self) -> T:
        """Return the sum of the pieces; None if there are none."""
        return cast(T, add(self.pieces))


def add(addables: Iterable[T]) -> T | None:
    """Return the sum of ``addables`` (see this module); None if there are none."""
    pieces: list[Any] = list(addables)
    if not pieces:
        return None
    if isinstance(pieces[-1], OutputEvent):
        return cast(T, pieces[-1].output)
    return cast(T, pieces[0] if len(pieces) == 1 else _sum(pieces))


def _sum(pieces: list[Any]) -> object:
    first = pieces[0]
    kinds: set[type[object]] = {type(piece) for piece in pieces}
    if kinds == {str}:
        return "".join(pieces)
    if kinds == {list}:
        return [item for piece in pieces for item in piece]
    if isinstance(first, BaseMessageChunk) and len(kinds) == 1:
        return first + pieces[1:]
    if isinstance(first, AddableDict) and all(issubclass(kind, dict) for kind in kinds):
        return _merge_mappings(pieces)
    total = first
    for piece in pieces[1:]:
        try:
            total = total + piece
        except TypeError:
            total = piece
    return cast(object, total)


async def aadd(addables: AsyncIterable[T]) -> T | None:
    """Return the sum of ``addables``. See `add`."""
    return add([piece async for piece in addables])


def _merge_mappings(mappings: Iterable[Mapping[str, object]]) -> AddableDict:
    values_by_key: dict[str, list[object]] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            values = values_by_key.setdefault(key, [])
            if value is not None:
                values.append(value)
    return AddableDict({key: add(values) for key, values in values_by_key.items()})
