"""Stores by their address."""

from pathlib import Path

import pytest

from hocket.errors import InvalidInput
from hocket.vectorstores import (
    ChromaVectorStore,
    FAISSVectorStore,
    InMemoryVectorStore,
    PGVectorStore,
    QdrantVectorStore,
    SQLiteVectorStore,
    VectorStore,
    open_vector_store,
)
from tests.vectorstores.models import Model, make_documents

PASSWORD = "canary-77aa"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("memory:", InMemoryVectorStore),
        ("postgresql://me@host:5432/db?connect_timeout=3", PGVectorStore),
        ("postgres://host/db", PGVectorStore),
        ("sqlite:///stores/one.db", SQLiteVectorStore),
        ("sqlite:////stores/one.db", SQLiteVectorStore),
        ("faiss:///stores/one.db", FAISSVectorStore),
        ("stores/one.db", SQLiteVectorStore),
        (Path("one.db"), SQLiteVectorStore),
        ("chroma+http://localhost:8000/rules", ChromaVectorStore),
        ("chroma+https://me:secret@host/below/rules", ChromaVectorStore),
        ("qdrant+http://localhost:6333/rules", QdrantVectorStore),
        ("qdrant+https://host/below/rules", QdrantVectorStore),
    ],
)
def test_an_address_says_which_store(address: str | Path, kind: type[VectorStore]) -> None:
    """Nothing is opened: none of these is there."""
    store = open_vector_store(address, Model())
    assert type(store) is kind
    if isinstance(store, ChromaVectorStore | QdrantVectorStore):
        assert store.collection == "rules"


@pytest.mark.parametrize(
    "address",
    [
        f"redis://me:{PASSWORD}@host",
        f"qdrant://me:{PASSWORD}@host",
        "http://localhost:8000/rules",
        "sqlite://one.db",
        "faiss://one.db",
        "://",
    ],
)
def test_another_kind_is_refused_with_a_list(address: str) -> None:
    """The list says what there is; a password is not shown."""
    with pytest.raises(
        InvalidInput, match=r"postgresql://…, sqlite:///path, faiss:///path, chroma\+http://.*qdrant\+http://.*memory:"
    ) as refusal:
        open_vector_store(address, Model())
    assert PASSWORD not in str(refusal.value)


@pytest.mark.parametrize("address", ["chroma+http://localhost:8000", "chroma+http://localhost:8000/", "qdrant+http://"])
def test_a_server_needs_the_name_of_a_collection(address: str) -> None:
    """The error shows how it is written."""
    with pytest.raises(InvalidInput, match=rf"names no collection: {address[:6]}\+http://host:port/collection"):
        open_vector_store(address, Model())


async def test_what_one_keeps_the_next_one_finds(tmp_path: Path) -> None:
    """At the same address; those of servers are tested with them."""
    for address in (f"sqlite:///{tmp_path}/one.db", str(tmp_path / "one.db"), tmp_path / "one.db"):
        async with open_vector_store(address, Model()) as store:
            await store.aadd_documents(make_documents(3))
        async with open_vector_store(f"sqlite:///{tmp_path}/one.db", Model()) as store:
            assert [one.id for one in await store.asimilarity_search("text 1", k=1)] == ["1"]
            await store.adelete()
