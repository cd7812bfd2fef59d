"""The last things of several owners, so that none of them can push out those of another."""

from typing import Generic, TypeVar

__all__ = ["FairShare"]

T = TypeVar("T")


class FairShare(Generic[T]):
    """Keeps so many things of all owners together. Beyond that, who has the most loses the oldest of its own.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: dict[str | None, dict[object, T]] = {}

    def put(self, owner: str | None, key: object, thing: T) -> None:
        """Keep a thing as the newest of its owner's, in place of an older one of this key."""
        things = self._things.setdefault(owner, {})
        things.pop(key, None)
        things[key] = thing
        if sum(map(len, self._things.values())) > self._most:
            largest = max(self._things.values(), key=len)
            del largest[next(iter(largest))]

    def find(self, owner: str | None, key: object) -> T | None:
        """Return a thing; None: it is not kept."""
        return self._things.get(owner, {}).get(key)

    def list_of(self, owner: str | None) -> list[T]:
        """Return all things of an owner, the newest last."""
        return [*self._things.get(owner, {}).values()]
