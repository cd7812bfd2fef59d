"""The pieces of a stream, put together again: what a step gets that needs its input as a whole.

Text is joined, lists are extended, message chunks are folded (`hocket.messages`), mappings that say that they can be
added (`AddableDict`, what `RunnableParallel` streams) are put together key by key; all in linear time. Other pieces are
added with ``+``, and where that does not work, the last one counts.
"""

from collections.abc import AsyncIterable, Iterable
from typing import Any, TypeVar

from hocket.messages import BaseMessageChunk

__all__ = ["Accumulator", "AddableDict", "aadd", "add"]

T = TypeVar("T")


class AddableDict(dict[str, Any]):
    """A mapping of which there may be more to come: ``+`` adds key by key. None and missing keys add nothing."""

    def __add__(self, other: Any) -> "AddableDict":
        if not isinstance(other, dict):
            return NotImplemented
        return _together((self, other))

    def __radd__(self, other: Any) -> "AddableDict":
        return _together((other, self)) if isinstance(other, dict) else NotImplemented


class Accumulator:
    """PieceQueue of a stream, so far.

    Args:
        cumulative: whether each piece replaces those before it, instead of adding to them.
    """

    __slots__ = ("cumulative", "pieces")

    def __init__(self, *, cumulative: bool = False) -> None:
        self.pieces: list[Any] = []
        self.cumulative = cumulative

    def add(self, piece: Any) -> None:
        """Add one."""
        if self.cumulative:
            self.pieces.clear()
        self.pieces.append(piece)

    def total(self) -> Any:
        """Return what the pieces make; None if there are none."""
        return add(self.pieces)


def add(addables: Iterable[T]) -> T | None:
    """Return the sum of ``addables`` (see this module); None if there are none."""
    pieces: list[Any] = list(addables)
    if not pieces:
        return None
    first = pieces[0]
    if len(pieces) == 1:
        return first  # type: ignore[no-any-return]
    kinds = {type(piece) for piece in pieces}
    if kinds == {str}:
        return "".join(pieces)  # type: ignore[return-value]
    if kinds == {list}:
        return [item for piece in pieces for item in piece]  # type: ignore[return-value]
    if isinstance(first, BaseMessageChunk) and len(kinds) == 1:
        return first + pieces[1:]  # type: ignore[return-value]
    if isinstance(first, AddableDict) and all(issubclass(kind, dict) for kind in kinds):
        return _together(pieces)  # type: ignore[return-value]
    total = first
    for piece in pieces[1:]:
        try:
            total = total + piece
        except TypeError:
            total = piece
    return total  # type: ignore[no-any-return]


async def aadd(addables: AsyncIterable[T]) -> T | None:
    """Return the sum of ``addables``. See `add`."""
    return add([piece async for piece in addables])


def _together(mappings: Iterable[dict[str, Any]]) -> AddableDict:
    found: dict[str, list[Any]] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            held = found.setdefault(key, [])
            if value is not None:
                held.append(value)
    return AddableDict({key: add(values) for key, values in found.items()})
