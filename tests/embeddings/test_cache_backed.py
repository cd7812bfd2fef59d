"""Embeddings that are kept: a text is embedded once."""

import dbm.dumb
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hocket.documents import Document
from hocket.embeddings import CacheBackedEmbeddings, DeterministicFakeEmbedding, Embeddings
from hocket.errors import InvalidHook, InvalidInput
from hocket.retrievers import EmbeddingsFilter
from hocket.vectorstores import InMemoryVectorStore

pytestmark = pytest.mark.anyio


class Counting(DeterministicFakeEmbedding):
    """Writes down what it is asked for."""

    asked: list[list[str]] = []  # noqa: RUF012  # pydantic copies it

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        if "broken" in texts:
            raise KeyError("broken")
        return await super().aembed_documents(texts)


class ByteStore:
    """As LangChain's ``InMemoryByteStore``."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        self.values.update(key_value_pairs)


@pytest.fixture(params=[dict, ByteStore])
def cache(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture
def model() -> Counting:
    return Counting(size=4)


async def test_a_text_is_embedded_once(model: Counting, cache: Any) -> None:
    kept = CacheBackedEmbeddings(model, cache)
    first = await kept.aembed_documents(["a", "b", "a"])
    again = await CacheBackedEmbeddings(model, cache).aembed_documents(["c", "b"])
    assert model.asked == [["a", "b"], ["c"]]
    plain = DeterministicFakeEmbedding(size=4)
    assert first == plain.embed_documents(["a", "b", "a"]), "to the last bit"
    assert again == plain.embed_documents(["c", "b"])


async def test_what_has_come_is_kept(model: Counting) -> None:
    """A run that breaks off goes on where it was."""
    kept = CacheBackedEmbeddings(model, {}, batch_size=2)
    with pytest.raises(KeyError):
        await kept.aembed_documents(["a", "b", "broken"])
    await kept.aembed_documents(["a", "b", "c"])
    assert model.asked == [["a", "b"], ["broken"], ["c"]]


async def test_questions_are_kept_if_wanted(model: Counting) -> None:
    """And apart from documents: some models embed them in another way."""
    await CacheBackedEmbeddings(model, {}).aembed_query("a")
    cache: dict[str, bytes] = {}
    kept = CacheBackedEmbeddings(model, cache, cache_queries=True)
    assert await kept.aembed_query("a") == await kept.aembed_query("a")
    await kept.aembed_documents(["a"])
    assert len(cache) == 2


async def test_models_are_told_apart(cache: Any) -> None:
    small, large = Counting(size=4), Counting(size=8)
    assert len((await CacheBackedEmbeddings(small, cache).aembed_documents(["a"]))[0]) == 4
    assert len((await CacheBackedEmbeddings(large, cache).aembed_documents(["a"]))[0]) == 8
    assert CacheBackedEmbeddings(large, cache).model_id == "Counting:8"


@pytest.mark.parametrize("damage", [b"", b"abc", b"\xff" * 32], ids=["empty", "cut", "not a number"])
async def test_a_damaged_entry_is_a_miss(model: Counting, damage: bytes) -> None:
    cache: dict[str, bytes] = {}
    kept = CacheBackedEmbeddings(model, cache)
    vectors = await kept.aembed_documents(["a"])
    cache.update(dict.fromkeys(cache, damage))
    assert await kept.aembed_documents(["a"]) == vectors


def test_a_file_serves(tmp_path: Path, model: Counting) -> None:
    with dbm.dumb.open(str(tmp_path / "vectors")) as cache:
        CacheBackedEmbeddings(model, cache).embed_documents(["a"])
    with dbm.dumb.open(str(tmp_path / "vectors")) as cache:
        CacheBackedEmbeddings(model, cache).embed_documents(["a"])
    assert model.asked == [["a"]]


async def test_langchains_arguments_are_taken(model: Counting) -> None:
    cache: dict[str, bytes] = {}
    kept = CacheBackedEmbeddings.from_bytes_store(model, cache, namespace="mine", query_embedding_cache=True)
    await kept.aembed_query("a")
    assert next(iter(cache)).startswith("mine-")


async def test_keys_are_taken_by_langchains_file_store() -> None:
    """It wants letters, digits, and ``_.-/``; what is written alike is told apart all the same."""
    cache: dict[str, bytes] = {}
    for namespace in ("text:3 small", "text_3_small", "../" * 200):
        await CacheBackedEmbeddings(Counting(size=2), cache, namespace=namespace).aembed_documents(["a"])
    assert len(cache) == 3
    assert all(re.fullmatch(r"[a-zA-Z0-9_.\-/]{1,200}", key) for key in cache)


class Few(Embeddings):
    """Forgets a text."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0]]


async def test_too_few_vectors_are_an_error() -> None:
    """Nothing is kept: text and vector might not belong together."""
    cache: dict[str, bytes] = {}
    with pytest.raises(InvalidHook, match="Few returned 1 vectors for 2 texts"):
        await CacheBackedEmbeddings(Few(), cache).aembed_documents(["a", "b"])
    assert cache == {}


@pytest.mark.parametrize("vector", [[1.0, None], [1.0, "2"], "[1, 2]", None, [10**400, 1.0]])
async def test_a_vector_that_is_no_list_of_numbers_is_an_error(vector: Any) -> None:
    """By name and place, before it is kept or stored, or anything is compared with it."""

    class Odd(Embeddings):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 2.0]] * (len(texts) - 1) + [vector]

    store: dict[str, bytes] = {}
    documents = [Document("a"), Document("b")]
    for attempt in (
        CacheBackedEmbeddings(Odd(), store, cache_queries=True).aembed_documents(["a", "b"]),
        CacheBackedEmbeddings(Odd(), store, cache_queries=True).aembed_query("a"),
        InMemoryVectorStore(Odd()).aadd_documents(documents),
        InMemoryVectorStore(Odd()).asimilarity_search("a"),
        EmbeddingsFilter(embeddings=Odd(), k=1).acompress_documents(documents, "a"),
    ):
        with pytest.raises(InvalidHook, match=r"Odd returned a vector \(of text [01]\) that is no list of numbers"):
            await attempt
    assert store == {}


def test_arguments_are_checked(model: Counting) -> None:
    with pytest.raises(InvalidInput, match="cache is list"):
        CacheBackedEmbeddings(model, [])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="batch_size is 0"):
        CacheBackedEmbeddings(model, {}, batch_size=0)
