"""Stores of values by key, which take and give many at once. LangChain's names.

A store of one's own defines ``mget``, ``mset``, ``mdelete`` and ``yield_keys``; the async verbs follow, in worker threads.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Generic, TypeVar

from hocket._databases.writes import finish_write
from hocket._runtime.definitions import Twins
from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput

__all__ = ["BaseStore", "ByteStore", "InMemoryBaseStore", "InMemoryByteStore", "InMemoryStore", "InvalidKeyException"]

K = TypeVar("K")
V = TypeVar("V")


class InvalidKeyException(InvalidInput):
    """A store does not take such a key."""


class BaseStore(Twins, ABC, Generic[K, V]):
    """A store of values by key."""

    @abstractmethod
    def mget(self, keys: Sequence[K]) -> list[V | None]:
        """Return the value of each key; None: there is none."""

    async def amget(self, keys: Sequence[K]) -> list[V | None]:
        """Do as `mget`, under an event loop."""
        return await ASYNC.call_sync(self.mget, keys)

    @abstractmethod
    def mset(self, key_value_pairs: Sequence[tuple[K, V]]) -> None:
        """Keep values by their keys, instead of those they had."""

    async def amset(self, key_value_pairs: Sequence[tuple[K, V]]) -> None:
        """Do as `mset`, under an event loop."""
        await finish_write(lambda: ASYNC.call_sync(self.mset, key_value_pairs))

    @abstractmethod
    def mdelete(self, keys: Sequence[K]) -> None:
        """Delete keys and their values; one that is not there is no error."""

    async def amdelete(self, keys: Sequence[K]) -> None:
        """Do as `mdelete`, under an event loop."""
        await finish_write(lambda: ASYNC.call_sync(self.mdelete, keys))

    @abstractmethod
    def yield_keys(self, *, prefix: str | None = None) -> Iterator[K]:
        """Yield the keys, or those that begin with ``prefix``."""

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[K]:
        """Do as `yield_keys`, under an event loop. The keys are read when the first one is asked for."""
        for key in await ASYNC.call_sync(lambda: list(self.yield_keys(prefix=prefix))):
            yield key


ByteStore = BaseStore[str, bytes]
"""A store of bytes."""


class InMemoryBaseStore(BaseStore[str, V], Generic[V]):
    """A store in the memory of this process.

    Attributes:
        store: the values by key.
    """

    def __init__(self) -> None:
        self.store: dict[str, V] = {}

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        """Return the value of each key; None: there is none."""
        return [self.store.get(key) for key in keys]

    async def amget(self, keys: Sequence[str]) -> list[V | None]:
        """Do as `mget`; no thread is needed."""
        return self.mget(keys)

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Keep values by their keys, instead of those they had."""
        self.store.update(key_value_pairs)

    async def amset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Do as `mset`; no thread is needed."""
        self.mset(key_value_pairs)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys and their values; one that is not there is no error."""
        for key in keys:
            self.store.pop(key, None)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Do as `mdelete`; no thread is needed."""
        self.mdelete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys, or those that begin with ``prefix``. They may be deleted meanwhile."""
        yield from [key for key in [*self.store] if key.startswith(prefix or "")]

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """Do as `yield_keys`; no thread is needed."""
        for key in self.yield_keys(prefix=prefix):
            yield key


class InMemoryStore(InMemoryBaseStore[Any]):
    """A store of anything in the memory of this process.

    Examples:
        >>> store = InMemoryStore()
        >>> store.mset([("a", 1), ("b", 2)])
        >>> store.mget(["a", "c"])
        [1, None]
    """


class InMemoryByteStore(InMemoryBaseStore[bytes]):
    """A store of bytes in the memory of this process: a cache of `CacheBackedEmbeddings`, for one."""
