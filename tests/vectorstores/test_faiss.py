"""The vector store with FAISS's index, beyond what every store is examined for."""

import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import EmbeddingMismatch, MissingDependency
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import FAISSVectorStore, InMemoryVectorStore, SQLiteVectorStore, VectorStore, open_vector_store
from hocket.vectorstores.faiss_index import FaissWriter
from hocket.vectorstores.filters import is_met, parse_filter
from tests.kit.amount import limit_examples
from tests.vectorstores.filter_strategies import FACTS, FILTERS
from tests.vectorstores.models import Model, make_documents


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index from some documents on, made anew after some more."""
    monkeypatch.setattr("hocket.vectorstores.faiss.SMALLEST", 20)
    monkeypatch.setattr("hocket.vectorstores.faiss.TAIL", 20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that is not there."""
    return tmp_path / "vectors.db"


class TestFAISS(VectorStoreConformance):
    """The exam of every store, with an index as soon as there are twenty documents."""

    is_exhaustive = False

    @pytest.fixture(autouse=True)
    def _path(self, path: Path) -> None:
        self.path = path

    def make(self, embedding: Embeddings) -> FAISSVectorStore:
        return FAISSVectorStore(self.path, embedding)


def list_indexes(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.faiss"))


async def test_an_index_is_made_and_made_anew(path: Path) -> None:
    """From twenty documents on, and after twenty more; there is one file of it, for its owner alone."""
    store = FAISSVectorStore(path, Model())
    await store.aadd_documents(make_documents(19))
    assert list_indexes(path) == []
    await store.aadd_documents(make_documents(5, start=19))
    (first,) = list_indexes(path)
    assert first.stat().st_mode & 0o777 == 0o600
    await store.aadd_documents(make_documents(10, start=24))
    assert list_indexes(path) == [first]
    left = path.with_name(f"vectors.db-documents-{'0' * 32}.faiss")
    left.write_bytes(b"of a process that was killed")
    await store.aadd_documents(make_documents(10, start=34))
    (second,) = list_indexes(path)
    assert second != first
    for number in (3, 22, 30, 43):
        assert [one.id for one in await store.asimilarity_search(f"text {number}", k=1)] == [str(number)]


async def test_the_nearest_are_found_among_many(path: Path) -> None:
    """Of 3,000, some of which were replaced or deleted, with and without filters, nearly all that an exact store finds."""
    model = Model(size=24)
    stores: list[VectorStore] = [FAISSVectorStore(path, model), InMemoryVectorStore(model)]
    for store in stores:
        await store.aadd_documents(make_documents(3000))
        await store.adelete([str(number) for number in range(0, 3000, 7)])
        await store.aadd_documents([Document(f"new text {n}", id=str(n), metadata={"n": n}) for n in range(1, 500, 7)])
    right = total = 0
    for question in ("text 5", "text 2702", "elsewhere", "nowhere"):
        for filter in (None, {"n": {"$lt": 40}}, {"n": {"$not": {"$gt": 40}}}, {"n": {"$in": [1, 2000]}}):
            found, expected = [await store.asimilarity_search(question, k=10, filter=filter) for store in stores]
            assert [one.score for one in found] == sorted((one.score or 0 for one in found), reverse=True)
            assert len(found) == len(expected)
            right += len({one.id for one in found} & {one.id for one in expected})
            total += len(expected)
    assert right / total >= 0.97


def test_filters_mean_what_they_mean_in_memory(path: Path) -> None:
    """Whatever they are, and whatever the metadata, also of documents that had others before."""
    store = FAISSVectorStore(path, Model())
    chance = random.Random(5)
    for facts in (chance.sample(FACTS, len(FACTS)), FACTS):
        store.add_documents([Document("text", id=str(number), metadata=one) for number, one in enumerate(facts)])
    store.create_index()

    @given(FILTERS)
    @settings(max_examples=limit_examples(300), suppress_health_check=list(HealthCheck))
    def check(filter: dict[str, Any]) -> None:
        condition = parse_filter(filter)
        expected = [str(number) for number, one in enumerate(FACTS) if is_met(condition, one)]
        for k in (1, 99):
            found = store.similarity_search_by_vector([1.0] * 8, k=k, filter=filter)
            assert [one.id for one in found] == expected[:k]

    check()


async def test_a_filter_that_leaves_few_finds_them_wherever_they_are(path: Path) -> None:
    """Documents that match are far from the question, and so are those that match a part of the filter."""
    store = FAISSVectorStore(path, Model())
    facts = [{"lot": n % 100, "half": n % 2, "old": n > 1500} for n in range(2000)]
    await store.aadd_documents([Document(f"text {n}", id=str(n), metadata=one) for n, one in enumerate(facts)])
    for filter in (
        {"lot": 7},
        {"lot": 7, "half": 1, "old": True},
        {"half": 1, "old": True, "lot": {"$in": [7, 9]}},
        {"$or": [{"lot": 7}, {"lot": 8}]},
        {"lot": 7, "half": 0},
    ):
        expected = [str(n) for n, one in enumerate(facts) if is_met(parse_filter(filter), one)]
        found = await store.asimilarity_search("text", k=50, filter=filter)
        assert sorted(int(str(one.id)) for one in found) == [int(one) for one in expected]
        assert len(await store.ahybrid_search("text 107", k=5, filter=filter)) == min(5, len(expected))


async def test_words_are_found_beside_common_ones(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that very many documents have counts for nothing beside a rare one, and is searched for alone."""
    monkeypatch.setattr("hocket.vectorstores.faiss_tables._RARE", 10)
    monkeypatch.setattr("hocket.vectorstores.faiss_tables._MOST_WORDED", 30)
    store = FAISSVectorStore(path, Model())
    await store.aadd_texts(
        [f"the boiler E{n}" for n in range(99)], [{"n": n} for n in range(99)], ids=list(map(str, range(99)))
    )
    assert [one.document.id for one in await store.asearch_words("the boiler E17", 9)] == ["17"]
    assert len(await store.asearch_words("boiler", 200)) == 99
    assert [one.document.id for one in await store.asearch_words("boiler", 9, {"n": 98})] == ["98"]
    assert [one.id for one in await store.ahybrid_search("what is E17?", k=1, words=0.9)] == ["17"]


async def test_a_file_of_a_plain_store_gets_an_index(path: Path) -> None:
    """And the plain store goes on with it: each finds what the other has added."""
    plain, store = SQLiteVectorStore(path, Model()), FAISSVectorStore(path, Model())
    await plain.aadd_documents(make_documents(300))
    await store.acreate_index()
    assert len(list_indexes(path)) == 1
    assert [one.id for one in await store.asimilarity_search("x", k=1, filter={"n": 77})] == ["77"]
    await plain.aadd_documents([Document("by the plain one", id="77", metadata={"n": -1})])
    assert await store.asimilarity_search("x", filter={"n": 77}) == []
    assert [one.id for one in await store.asimilarity_search("x", filter={"n": -1})] == ["77"]
    await store.aadd_documents([Document("by the other", id="a")])
    assert [one.id for one in await plain.asimilarity_search("by the other", k=1)] == ["a"]


@pytest.mark.parametrize("content", [None, b"", b"no index"], ids=["gone", "empty", "damaged"])
async def test_an_index_that_cannot_be_read_loses_nothing(path: Path, content: bytes | None) -> None:
    """The database has everything: searches do without, and it is made again when it is asked for."""
    await FAISSVectorStore(path, Model()).aadd_documents(make_documents(100))
    (index,) = list_indexes(path)
    index.unlink()
    if content is not None:
        index.write_bytes(content)
    store = FAISSVectorStore(path, Model())
    assert len(await store.asimilarity_search("text 7", k=200)) == 100
    await store.acreate_index()
    (index,) = list_indexes(path)
    assert index.stat().st_size > 1000
    assert [one.id for one in await store.asimilarity_search("text 7", k=1)] == ["7"]


async def test_another_model_is_refused_until_all_is_embedded_anew(path: Path) -> None:
    """By its name or the size of its vectors; `areembed` makes an index of the new ones."""
    first, second = FAISSVectorStore(path, Model()), FAISSVectorStore(path, Model("second", 4))
    await first.aadd_documents(make_documents(50))
    for asked in (lambda: second.aadd_documents(make_documents(1)), lambda: second.asimilarity_search("text")):
        with pytest.raises(EmbeddingMismatch, match=r"Model:first:8.*Model:second:4"):
            await asked()
    with pytest.raises(EmbeddingMismatch, match="8 numbers"):
        await first.asimilarity_search_by_vector([1.0, 2.0])
    (before,) = list_indexes(path)
    assert await second.areembed() == 50
    assert list_indexes(path) != [before]
    assert [one.id for one in await second.asimilarity_search("text 7", k=1)] == ["7"]
    with pytest.raises(EmbeddingMismatch):
        await first.asimilarity_search("text")


async def test_the_index_of_the_new_vectors_is_made_before_they_are_searched(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile the old ones are searched and added to, by their own index; a process that is killed there costs nothing."""
    first, second = FAISSVectorStore(path, Model()), FAISSVectorStore(path, Model("second", 4))
    await first.aadd_documents(make_documents(50))
    (before,) = list_indexes(path)
    write, written = FaissWriter.write, list[str]()

    def watch(writer: FaissWriter, place: str) -> int:
        assert [one.id for one in FAISSVectorStore(path, Model()).similarity_search("text 7", k=1)] == ["7"]
        with pytest.raises(EmbeddingMismatch):
            second.similarity_search("text 7")
        assert before.exists()
        first.add_documents(make_documents(1, start=50 + len(written)))
        total = write(writer, place)
        written.append(place)
        if len(written) == 1:
            raise Killed
        return total

    monkeypatch.setattr(FaissWriter, "write", watch)
    with pytest.raises(Killed):
        await second.areembed()
    assert [one.id for one in await first.asimilarity_search("text 50", k=1)] == ["50"]
    assert await second.areembed() == 2  # what was added meanwhile, each time
    assert list_indexes(path) == [Path(written[1])] and len(written) == 2
    assert await second.areembed() == 0 and len(written) == 2
    for number in (7, 50, 51):
        assert [one.id for one in await second.asimilarity_search(f"text {number}", k=1)] == [str(number)]


class Killed(BaseException):
    """What no code catches."""


async def test_a_vector_that_was_changed_is_found_where_it_is_now(path: Path) -> None:
    """A text that comes back with another vector has that one, in the index, too."""
    store = FAISSVectorStore(path, Model())
    await store.aadd_documents(make_documents(50))
    await store.aadd_vectors([Document("text 7", id="new")], [[9.0] * 8])
    found = await store.asimilarity_search_by_vector([1.0] * 8, k=2)
    assert [(one.id, one.score) for one in found] == [("7", pytest.approx(1)), ("new", pytest.approx(1))]


async def test_an_empty_store_has_no_index(path: Path) -> None:
    """When all documents are deleted, its file is, too."""
    store = FAISSVectorStore(path, Model())
    await store.aadd_documents(make_documents(50))
    await store.adelete()
    assert list_indexes(path) == []
    await store.acreate_index()
    await store.aadd_documents(make_documents(3))
    assert len(await store.asimilarity_search("text")) == 3


async def test_an_address_opens_it(path: Path) -> None:
    """And a store can be pickled, with what it has open left behind."""
    async with open_vector_store(f"faiss:///{path}", Model()) as store:
        await store.aadd_documents(make_documents(50))
        await store.asimilarity_search("text")
        copy = pickle.loads(pickle.dumps(store))
        assert isinstance(copy, FAISSVectorStore)
        assert [one.id for one in await copy.asimilarity_search("text 7", k=1)] == ["7"]


def test_without_faiss_the_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is opened."""
    monkeypatch.setattr("hocket.vectorstores.faiss.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"hocket\[faiss\]"):
        FAISSVectorStore(path, Model())
    assert not path.exists()
