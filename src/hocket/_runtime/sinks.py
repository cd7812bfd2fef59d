"""Sinks, which take the items of a producer, and sinks in front of others; see `hocket._runtime.stream`."""

from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

__all__ = ["MappingSink", "RelaySink", "Sink"]

S = TypeVar("S")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Where a producer hands its items to."""

    @property
    def closed(self) -> bool:
        """Whether the consumer has left on its own account: the cancellation that follows is not a failure."""
        ...

    def put(self, item: T_contra) -> Awaitable[None] | None:
        """Hand over one item. What is returned must be awaited, unless None: the consumer has to catch up first."""
        ...


class RelaySink(Generic[T]):
    """A sink in front of another one, without its `put`: subclasses say what becomes of an item."""

    def __init__(self, sink: Sink[T]) -> None:
        self._sink = sink

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed


class MappingSink(RelaySink[T], Generic[S, T]):
    """A sink in front of another one, which gets what ``change`` makes of each item."""

    def __init__(self, sink: Sink[T], change: Callable[[S], T]) -> None:
        super().__init__(sink)
        self._change = change

    def put(self, item: S) -> Awaitable[None] | None:
        """Hand over an item."""
        return self._sink.put(self._change(item))
