"""Stores of values by key, to LangChain's and back. Values are converted where they are messages, documents and the like."""

from collections.abc import AsyncIterator, Iterator, Sequence

from langchain_core.stores import BaseStore as LCBaseStore

from hocket.interop.langchain.callables import Forwarding
from hocket.interop.langchain.data import data_from_langchain, data_to_langchain
from hocket.stores import BaseStore

__all__ = ["HocketStore", "LangChainStore"]


class HocketStore(LCBaseStore[str, object]):
    """A store of hocket's in LangChain. Made by `to_langchain`."""

    def __init__(self, store: BaseStore[str, object]) -> None:
        self.store = store

    def mget(self, keys: Sequence[str]) -> list[object | None]:
        """Return the value of each key."""
        return [data_to_langchain(value) for value in self.store.mget(keys)]

    async def amget(self, keys: Sequence[str]) -> list[object | None]:
        """Return the value of each key."""
        return [data_to_langchain(value) for value in await self.store.amget(keys)]

    def mset(self, key_value_pairs: Sequence[tuple[str, object]]) -> None:
        """Keep values."""
        self.store.mset([(key, data_from_langchain(value)) for key, value in key_value_pairs])

    async def amset(self, key_value_pairs: Sequence[tuple[str, object]]) -> None:
        """Keep values."""
        await self.store.amset([(key, data_from_langchain(value)) for key, value in key_value_pairs])

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys."""
        self.store.mdelete(keys)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Delete keys."""
        await self.store.amdelete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys."""
        return self.store.yield_keys(prefix=prefix)

    def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:  # pyright: ignore[reportIncompatibleMethodOverride]  # LangChain's yields
        """Yield the keys."""
        return self.store.ayield_keys(prefix=prefix)


class LangChainStore(Forwarding, BaseStore[str, object]):
    """A store of LangChain's in hocket: its sync half, which is in worker threads under an event loop.

    So it runs on trio, too. Made by `from_langchain`.
    """

    _original = "store"

    def __init__(self, store: LCBaseStore[str, object]) -> None:
        self.store = store

    def mget(self, keys: Sequence[str]) -> list[object | None]:
        """Return the value of each key."""
        return [data_from_langchain(value) for value in self.store.mget(keys)]

    def mset(self, key_value_pairs: Sequence[tuple[str, object]]) -> None:
        """Keep values."""
        self.store.mset([(key, data_to_langchain(value)) for key, value in key_value_pairs])

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys."""
        self.store.mdelete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys."""
        return iter(self.store.yield_keys(prefix=prefix))
