"""Stores of values by key: those in memory, one of one's own under an event loop, and one behind a cache of embeddings."""

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import anyio
import pytest

from hocket.documents import Document
from hocket.embeddings import CacheBackedEmbeddings, DeterministicFakeEmbedding
from hocket.retrievers import ParentDocumentRetriever
from hocket.stores import BaseStore, InMemoryByteStore, InMemoryStore
from hocket.text_splitters import CharacterTextSplitter
from hocket.vectorstores import InMemoryVectorStore


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


class Waiting(Files):
    """Writes when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.go_on = threading.Event(), threading.Event()
        self.written: list[object] = []

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        self._wait()
        super().mset(key_value_pairs)
        self.written.append("set")

    def mdelete(self, keys: Sequence[str]) -> None:
        self._wait()
        super().mdelete(keys)
        self.written.append("deleted")

    def _wait(self) -> None:
        self.has_begun.set()
        assert self.go_on.wait(30)


def retrieve_over(store: Any) -> ParentDocumentRetriever:
    pieces = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    return ParentDocumentRetriever(vectorstore=pieces, docstore=store, child_splitter=CharacterTextSplitter())


async def delete_parent(store: Waiting) -> None:
    store.kept["x"] = b"a parent"
    await retrieve_over(store).adelete(["x"])


WRITES: dict[str, Callable[[Waiting], Awaitable[object]]] = {
    "amset": lambda store: store.amset([("x", b"1")]),
    "amdelete": lambda store: store.amdelete(["x"]),
    "a cache of vectors": lambda store: CacheBackedEmbeddings(
        DeterministicFakeEmbedding(size=4), store
    ).aembed_documents(["x"]),
    "parents": lambda store: retrieve_over(store).aadd_documents([Document("text", id="x")]),
    "parents that go": delete_parent,
}


@pytest.mark.parametrize("name", WRITES)
async def test_a_cancelled_writer_waits_for_its_thread(name: str) -> None:
    """Who sees the cancellation of a write knows that nothing is written later."""
    store = Waiting()

    async def strike() -> None:
        while not store.has_begun.is_set():  # noqa: ASYNC110 - a thread tells it
            await anyio.sleep(0.001)
        scope.cancel()
        await anyio.sleep(0.01)
        store.go_on.set()

    async with anyio.create_task_group() as group:
        group.start_soon(strike)
        with anyio.CancelScope() as scope:
            await WRITES[name](store)
        assert scope.cancelled_caught
        assert len(store.written) == 1
