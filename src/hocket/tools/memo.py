"""What was computed for a function or a class, kept as long as it lives."""

from collections.abc import Callable
from types import FunctionType
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Memo"]

T = TypeVar("T")


class Memo(Generic[T]):
    """Remembers one value for each function or class, weakly. A value must not refer to its key: it would keep it."""

    def __init__(self) -> None:
        self._held: WeakKeyDictionary[FunctionType | type[object], T] = WeakKeyDictionary()

    def get(self, key: object, make: Callable[[], T]) -> T:
        """Return the value of ``key``, made at the first time; at every time, if it is no function and no class."""
        if not isinstance(key, FunctionType | type):
            return make()
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = make()
        return held
