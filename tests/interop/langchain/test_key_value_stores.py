"""Stores of values by key cross both ways."""

from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the extra `langchain` is not installed")

from langchain_core.documents import Document as LCDocument
from langchain_core.stores import InMemoryStore as LCInMemoryStore

from hocket.documents import Document
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.stores import InMemoryStore


async def test_a_store_of_langchains_keeps_its_own_documents() -> None:
    """What is read comes back as hocket's, sync and async, on both loops."""
    theirs: Any = LCInMemoryStore()
    store: Any = from_langchain(theirs)
    await store.amset([("a/1", Document("one")), ("b/1", b"bytes")])
    assert theirs.store == {"a/1": LCDocument("one"), "b/1": b"bytes"}
    assert (
        await store.amget(["a/1", "b/1", "c"]) == store.mget(["a/1", "b/1", "c"]) == [Document("one"), b"bytes", None]
    )
    assert [key async for key in store.ayield_keys(prefix="a/")] == [*store.yield_keys(prefix="a/")] == ["a/1"]
    await store.amdelete(["a/1"])
    store.mdelete(["b/1"])
    assert theirs.store == {}
    assert to_langchain(store) is theirs


async def test_a_store_of_hockets_in_langchain() -> None:
    """The same the other way."""
    ours: Any = InMemoryStore()
    store: Any = to_langchain(ours)
    store.mset([("a/1", LCDocument("one"))])
    await store.amset([("b/1", 2)])
    assert ours.store == {"a/1": Document("one"), "b/1": 2}
    assert store.mget(["a/1", "c"]) == await store.amget(["a/1", "c"]) == [LCDocument("one"), None]
    assert [key async for key in store.ayield_keys()] == [*store.yield_keys()] == ["a/1", "b/1"]
    store.mdelete(["a/1"])
    await store.amdelete(["b/1"])
    assert ours.store == {}
    assert from_langchain(store) is ours
