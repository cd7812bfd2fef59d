"""Stores of values by key: those in memory, one of one's own under an event loop, and one behind a cache of embeddings."""

from collections.abc import Iterator, Sequence

from hocket.embeddings import CacheBackedEmbeddings, DeterministicFakeEmbedding
from hocket.stores import BaseStore, InMemoryByteStore, InMemoryStore


class Files(BaseStore[str, bytes]):
    """A store that has the sync verbs alone."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self.kept.get(key) for key in keys]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        self.kept.update(key_value_pairs)

    def mdelete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.kept.pop(key, None)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        yield from (key for key in self.kept if key.startswith(prefix or ""))


async def test_the_async_verbs_follow_from_the_sync_ones() -> None:
    for store in (Files(), InMemoryByteStore()):
        await store.amset([("a/1", b"x"), ("a/2", b"y"), ("b", b"z")])
        assert await store.amget(["a/1", "c"]) == [b"x", None]
        assert sorted([str(key) async for key in store.ayield_keys(prefix="a/")]) == ["a/1", "a/2"]
        await store.amdelete(["a/1", "nothing"])
        assert store.mget(["a/1", "a/2"]) == [None, b"y"]


def test_keys_may_be_deleted_while_they_are_read() -> None:
    store = InMemoryStore()
    store.mset([(str(number), number) for number in range(3)])
    for key in store.yield_keys():
        store.mdelete([key])
    assert list(store.yield_keys()) == []


async def test_a_byte_store_keeps_vectors() -> None:
    store = InMemoryByteStore()
    model = CacheBackedEmbeddings(DeterministicFakeEmbedding(size=3), store, namespace="m")
    first = await model.aembed_documents(["tea", "milk"])
    assert len(list(store.yield_keys(prefix="m"))) == 2
    assert await model.aembed_documents(["milk", "tea"]) == first[::-1]
