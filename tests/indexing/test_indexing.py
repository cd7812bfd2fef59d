"""A store is brought up to its sources: what is new is embedded and nothing else, and only what is gone is deleted."""

import math
import os
import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st

from hocket._runtime import clock
from hocket.document_loaders import BaseLoader, open_documents
from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
from hocket.errors import DocumentError, InvalidHook, InvalidInput
from hocket.indexing import IndexingResult, aindex, index
from hocket.testing import virtual_clock
from hocket.text_splitters import CharacterTextSplitter
from hocket.vectorstores import InMemoryVectorStore, Match, VectorStore

pytestmark = pytest.mark.anyio


class Counting(Embeddings):
    """Writes down what it embeds; what it is told to return for a text counts instead of a vector of its own."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.odd: dict[str, list[float]] = {}
        self.fake = DeterministicFakeEmbedding(size=8)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await anyio.lowlevel.checkpoint()
        self.texts += texts
        return [self.odd.get(text) or self.fake.embed_documents([text])[0] for text in texts]

    def pop(self) -> list[str]:
        """Return what was embedded since the last time."""
        texts, self.texts = self.texts, []
        return texts


def piece(text: str, source: str = "a", **facts: Any) -> Document:
    return Document(text, metadata={"source": source, **facts})


def pieces(source: str, count: int) -> list[Document]:
    return [piece(f"{source}{number}", source) for number in range(count)]


def counts(added: int = 0, updated: int = 0, skipped: int = 0, deleted: int = 0) -> IndexingResult:
    return {"num_added": added, "num_updated": updated, "num_skipped": skipped, "num_deleted": deleted}


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
def store(model: Counting) -> InMemoryVectorStore:
    return InMemoryVectorStore(model)


async def texts_of(store: VectorStore) -> list[str]:
    return [one.page_content for one in await store.aget_by_ids(await store.alist_ids())]


# -- what is embedded


async def test_what_is_there_already_is_not_embedded(store: InMemoryVectorStore, model: Counting) -> None:
    documents = [*pieces("a", 30), *pieces("b", 30)]
    assert await aindex(documents, store, batch_size=7) == counts(added=60)
    assert model.pop() == [one.page_content for one in documents]
    assert await aindex(documents, store, batch_size=11) == counts(skipped=60)
    assert await aindex([*documents, piece("new")], store) == counts(added=1, skipped=60)
    assert model.pop() == ["new"]


async def test_changed_metadata_embed_nothing(store: InMemoryVectorStore, model: Counting) -> None:
    await aindex([piece("x", page=1), piece("y", page=True)], store)
    model.pop()
    assert await aindex([piece("x", page=2), piece("y", page=1)], store) == counts(updated=2)
    assert model.pop() == []
    assert [one.metadata["page"] for one in await store.asimilarity_search("x", filter={"page": 2})] == [2]
    assert await store.asimilarity_search("y", filter={"page": True}) == []


async def test_a_moved_paragraph_keeps_its_id(store: InMemoryVectorStore, model: Counting) -> None:
    await aindex([piece("one", at=0), piece("two", at=4), piece("three", at=8)], store, cleanup="full")
    ids = await store.alist_ids()
    model.pop()
    moved = [piece("three", at=0), piece("one", at=6), piece("two", at=10)]
    assert await aindex(moved, store, cleanup="full") == counts(updated=3)
    assert sorted(await store.alist_ids()) == sorted(ids)
    assert model.pop() == []


async def test_equal_texts_are_embedded_once_and_stored_each(store: InMemoryVectorStore, model: Counting) -> None:
    """In one source and in several, in one batch and in several."""
    documents = [piece("same", source, row=row) for source in "ab" for row in range(5)]
    assert await aindex(documents, store, batch_size=3) == counts(added=10)
    assert model.pop() == ["same"]
    assert len(store) == 10
    assert await aindex(documents, store, cleanup="full", batch_size=4) == counts(skipped=10)


@pytest.mark.parametrize(
    "fact",
    [1, 1.0, True, "1", None, [1], [True], {"a": 1}, {"a": 1.0}, (1, "x"), {1: None}, 10**30, "\u00e9\n"],
    ids=repr,
)
async def test_whatever_json_can_say(store: InMemoryVectorStore, model: Counting, fact: Any) -> None:
    """Another value of any kind is a change, and the same one is none."""
    for other in (1, 1.0, True, "1", None, [1], [True], {"a": 1}, {"a": 1.0}):
        await aindex([piece("x", fact=other)], store)
        same = repr(fact) == repr(other)
        assert await aindex([piece("x", fact=fact)], store) == (counts(skipped=1) if same else counts(updated=1))
        assert await aindex([piece("x", fact=fact)], store) == counts(skipped=1)
    assert model.pop() == ["x"]


async def test_metadata_that_json_writes_differently_are_the_same(store: InMemoryVectorStore) -> None:
    documents = [piece("x", box=(1, 2), names={1: "one"})]
    await aindex(documents, store)
    assert await aindex(documents, store) == counts(skipped=1)


# -- ids


async def test_a_document_keeps_its_own_id(store: InMemoryVectorStore, model: Counting) -> None:
    await aindex([Document("old", id="7")], store)
    assert await aindex([Document("new", id="7")], store, cleanup="full") == counts(updated=1)
    assert await store.aget_by_ids(["7"]) == [Document("new", id="7")]
    assert model.pop() == ["old", "new"]


@pytest.mark.parametrize("batch_size", [1, 100])
async def test_two_documents_with_one_id_must_be_the_same(store: InMemoryVectorStore, batch_size: int) -> None:
    same = [Document("x", id="7"), Document("y", id="8"), Document("x", id="7")]
    assert await aindex(same, store, batch_size=batch_size) == counts(added=2, skipped=1)
    other = [Document("x", id="7"), Document("y", id="8"), Document("other", id="7")]
    with pytest.raises(InvalidInput, match="two different documents have the id '7'"):
        await aindex(other, store, batch_size=batch_size)
    assert await texts_of(store) == ["x", "y"]


async def test_ids_are_the_same_in_every_process_and_every_version(store: InMemoryVectorStore) -> None:
    await aindex([piece("same", "café"), piece("same", "café"), Document("é\n")], store)
    assert await store.alist_ids() == [
        "44fb11d8-1301-5ae2-09c5-f195e1f99a4c",
        "980d84f8-4bf5-3b30-924e-e59e626a2837",
        "6bb401c1-cc92-5958-9692-1709a337e244",
    ]


# -- what is deleted


async def test_without_a_cleanup_nothing_is_deleted(store: InMemoryVectorStore) -> None:
    await aindex(pieces("a", 3), store)
    assert await aindex([piece("other")], store) == counts(added=1)
    assert len(store) == 4


@pytest.mark.parametrize("batch_size", [1, 2, 100])
async def test_incremental_deletes_what_the_sources_that_were_met_no_longer_have(
    store: InMemoryVectorStore, batch_size: int
) -> None:
    """Sources may come mixed."""
    await aindex([*pieces("a", 3), *pieces("b", 3), *pieces("c", 3)], store)
    mixed = [piece("a0", "a"), piece("b0", "b"), piece("a2", "a"), piece("new", "a")]
    result = await aindex(mixed, store, cleanup="incremental", batch_size=batch_size)
    assert result == counts(added=1, skipped=3, deleted=3)
    assert sorted(await texts_of(store)) == ["a0", "a2", "b0", "c0", "c1", "c2", "new"]


async def test_incremental_with_many_sources(store: InMemoryVectorStore) -> None:
    sources = [f"s{number}" for number in range(150)]
    await aindex([piece(text, source) for source in [*sources, "other"] for text in ("kept", "gone")], store)
    kept = [piece("kept", source) for source in sources]
    assert await aindex(kept, store, cleanup="incremental") == counts(skipped=150, deleted=150)
    assert len(store) == 152


async def test_full_deletes_what_was_not_met(store: InMemoryVectorStore) -> None:
    await aindex([*pieces("a", 3), *pieces("b", 3), Document("no source")], store)
    assert await aindex(pieces("a", 2), store, cleanup="full") == counts(skipped=2, deleted=5)
    assert await texts_of(store) == ["a0", "a1"]


async def test_full_leaves_what_others_add_meanwhile(store: InMemoryVectorStore) -> None:
    async def documents() -> AsyncIterator[Document]:
        yield piece("mine")
        await store.aadd_texts(["another's"])

    assert await aindex(documents(), store, cleanup="full") == counts(added=1)
    assert sorted(await texts_of(store)) == ["another's", "mine"]


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_no_documents_at_all_delete_nothing(store: InMemoryVectorStore, cleanup: Any) -> None:
    await aindex(pieces("a", 3), store)
    assert await aindex([], store, cleanup=cleanup) == counts()
    assert len(store) == 3


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_a_source_that_breaks_deletes_nothing(store: InMemoryVectorStore, cleanup: Any) -> None:
    """The batches before the error are stored, and the error is told."""
    await aindex([*pieces("a", 5), *pieces("b", 5)], store)

    def broken() -> Iterator[Document]:
        yield from [piece("a0", "a"), piece("new", "a"), piece("last", "a")]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await aindex(broken(), store, cleanup=cleanup, batch_size=2)
    assert len(store) == 11
    assert "new" in await texts_of(store)


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_a_cancel_deletes_nothing_and_leaves_batches_whole(store: InMemoryVectorStore, cleanup: Any) -> None:
    await aindex(pieces("a", 5), store)

    async def documents() -> AsyncIterator[Document]:
        for number in range(25):
            yield piece(f"new{number}", "a")
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(aindex, documents(), store, cleanup, "source", 10)
            while len(store) < 25:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert len(store) == 25
    assert (await aindex([piece(f"new{number}", "a") for number in range(25)], store))["num_skipped"] == 20


async def test_what_a_loader_skipped_is_not_deleted(store: InMemoryVectorStore, tmp_path: Any) -> None:
    """A file that cannot be read just now is not gone."""
    for name in ("good.txt", "bad.txt"):
        (tmp_path / name).write_text(f"{name} as it was")
    await aindex(open_documents(tmp_path), store)
    (tmp_path / "good.txt").write_text("good.txt anew")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(DocumentError):
        await aindex(open_documents(tmp_path), store, cleanup="full")
    loader = open_documents(tmp_path, on_error="skip")
    assert await aindex(loader, store, cleanup="full") == counts(added=1, deleted=1)
    assert await aindex(loader, store, cleanup="incremental") == counts(skipped=1)
    assert sorted(await texts_of(store)) == ["bad.txt as it was", "good.txt anew"]


@pytest.mark.parametrize("on_error", ["skip", bool])
async def test_a_file_that_breaks_half_way_keeps_what_it_had(
    store: InMemoryVectorStore, tmp_path: Any, on_error: Any
) -> None:
    lines = [f'"line {number}"\n' for number in range(6)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    (tmp_path / "b.jsonl").write_text("".join(lines))
    await aindex(open_documents(tmp_path), store, cleanup="full")
    (tmp_path / "a.jsonl").write_text("".join([*lines[:2], "{broken"]))
    (tmp_path / "b.jsonl").write_text("".join(lines[:2]))
    loader = open_documents(tmp_path, on_error=on_error)
    assert await aindex(loader, store, cleanup="full") == counts(skipped=4, deleted=4)
    assert len(store) == 8


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_a_splitter_keeps_what_a_loader_skipped(store: InMemoryVectorStore, tmp_path: Any, cleanup: Any) -> None:
    """The pieces of a damaged file stay, those of a file that is gone go, if all that is gone is to go."""
    splitter = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    for name, text in {"a": "one two", "b": "three four", "c": "five six"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    loader = open_documents(tmp_path, on_error="skip")
    assert await aindex(loader, store, cleanup=cleanup, splitter=splitter) == counts(added=6)
    (tmp_path / "a.txt").write_text("one seven")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\xfd")
    (tmp_path / "c.txt").unlink()
    result = await aindex(loader, store, cleanup=cleanup, splitter=splitter)
    assert result == counts(added=1, skipped=1, deleted=3 if cleanup == "full" else 1)
    kept = ["four", "one", "seven", "three"]
    assert sorted(await texts_of(store)) == (kept if cleanup == "full" else sorted([*kept, "five", "six"]))


async def test_a_folder_that_cannot_be_listed_is_not_gone(
    store: InMemoryVectorStore, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is what others have put into the store."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "a.txt").write_text("shut away")
    (tmp_path / "b.txt").write_text("open")
    loader = open_documents(tmp_path, on_error="skip")
    await aindex(loader, store, cleanup="full")
    await aindex([piece("elsewhere", "https://example.com/a")], store)
    (tmp_path / "shut" / "a.txt").unlink()
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if path.endswith("shut/"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert await aindex(loader, store, cleanup="full") == counts(skipped=1)
    monkeypatch.undo()
    assert await aindex(loader, store, cleanup="full") == counts(skipped=1, deleted=2)


@pytest.mark.parametrize("source", ["list", "iterator", "stream", "loader"])
async def test_a_splitter_takes_every_source(store: InMemoryVectorStore, tmp_path: Any, source: str) -> None:
    (tmp_path / "a.txt").write_text("one two")
    loader = open_documents(tmp_path)
    splitter = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    listed = await loader.aload()
    documents = {"list": listed, "iterator": iter(listed), "stream": loader.alazy_load(), "loader": loader}
    assert await aindex(documents[source], store, splitter=splitter) == counts(added=2)
    with pytest.raises(InvalidInput, match="splitter is str; it is a TextSplitter"):
        await aindex(documents["list"], store, splitter="words")  # type: ignore[arg-type]


# -- batches in flight


class Slow(Counting):
    """Takes its time for each batch: the more of it, the earlier the batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.running = self.most = self.calls = 0

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await clock.current().sleep(self.seconds / self.calls)
            return await super().aembed_documents(texts)
        finally:
            self.running -= 1


async def test_some_batches_are_embedded_at_once_and_stored_in_order() -> None:
    """So a model that is far away does not make a run wait batch by batch; the last of these is ready first."""
    model = Slow(8)
    store = InMemoryVectorStore(model)
    with virtual_clock():
        assert await aindex(pieces("a", 40), store, batch_size=5, max_concurrency=3) == counts(added=40)
    assert model.most == 3
    assert model.texts != [one.page_content for one in pieces("a", 40)]
    assert await texts_of(store) == [one.page_content for one in pieces("a", 40)]


async def test_an_error_waits_until_the_batches_before_it_are_stored() -> None:
    """Of the model, or of the source; what comes behind it is not stored."""
    model = Slow(8)
    store = InMemoryVectorStore(model)
    model.odd["a7"] = [math.nan] * 8
    with virtual_clock(), pytest.raises(InvalidHook, match="nothing was stored"):
        await aindex(pieces("a", 30), store, cleanup="full", batch_size=5)
    assert await texts_of(store) == ["a0", "a1", "a2", "a3", "a4"]

    def broken() -> Iterator[Document]:
        yield from pieces("b", 12)
        raise OSError("the disk is gone")

    with virtual_clock(), pytest.raises(OSError, match="the disk is gone"):
        await aindex(broken(), store, batch_size=5)
    assert len(store) == 15


async def test_a_cancel_leaves_the_batches_in_flight_out() -> None:
    model = Slow(60)
    store = InMemoryVectorStore(model)
    with virtual_clock(), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(aindex, pieces("a", 100), store, "full", "source", 10)
            await clock.current().sleep(65)
            scope.cancel()
    assert len(store) % 10 == 0 and 0 < len(store) < 100
    assert model.running == 0
    assert await texts_of(store) == [one.page_content for one in pieces("a", len(store))]


# -- what is refused


@pytest.mark.parametrize("vector", [[math.nan] * 8, [0.0] * 8, [1.0] * 7])
async def test_bad_vectors_store_nothing_of_the_batch(
    store: InMemoryVectorStore, model: Counting, vector: list[float]
) -> None:
    model.odd["a7"] = vector
    with pytest.raises(InvalidHook, match="nothing was stored"):
        await aindex(pieces("a", 10), store, cleanup="full", batch_size=5)
    assert await texts_of(store) == ["a0", "a1", "a2", "a3", "a4"]


@pytest.mark.parametrize("source", [None, "", 7])
async def test_incremental_needs_sources(store: InMemoryVectorStore, model: Counting, source: Any) -> None:
    documents = [piece("x"), Document("y", metadata={"source": source})]
    with pytest.raises(InvalidInput, match="needs the source of each document, a text under 'source'"):
        await aindex(documents, store, cleanup="incremental")
    assert model.pop() == []
    assert await aindex(documents, store) == counts(added=2)


async def test_the_source_may_stand_under_another_key(store: InMemoryVectorStore) -> None:
    old = [Document(text, metadata={"file": "a"}) for text in ("x", "y")]
    await aindex(old, store, source_id_key="file")
    assert await aindex(old[:1], store, cleanup="incremental", source_id_key="file") == counts(skipped=1, deleted=1)


class FourMethods(VectorStore):
    """What a store of one's own has at least."""

    def __init__(self, embedding: Embeddings) -> None:
        super().__init__(embedding)
        self.documents: dict[str, Document] = {}

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        self.documents |= {str(document.id): document for document in documents}

    async def asearch_vector(self, vector: Sequence[float], k: int, filter: Any = None) -> list[Match]:
        return []

    async def adelete(self, /, ids: Sequence[str] | None = None) -> None:
        raise AssertionError("nothing is deleted")

    async def aget_by_ids(self, /, ids: Sequence[str]) -> list[Document]:
        return [self.documents[one] for one in ids if one in self.documents]


async def test_four_methods_are_enough_without_a_cleanup(model: Counting) -> None:
    store = FourMethods(model)
    assert await aindex(pieces("a", 5), store) == counts(added=5)
    assert await aindex(pieces("a", 5), store) == counts(skipped=5)
    for cleanup in ("incremental", "full"):
        model.pop()
        with pytest.raises(InvalidInput, match="define alist_ids"):
            await aindex(pieces("b", 5), store, cleanup=cleanup)
        assert model.pop() == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"docs": "text"}, "give a list of documents, or a loader"),
        ({"docs": piece("x")}, "give a list of documents, or a loader"),
        ({"docs": 7}, "int gives no documents"),
        ({"docs": [piece("x"), "text"]}, "a store takes documents, not str"),
        ({"docs": [Document("x", metadata={"day": {1, 2}})]}, "cannot be stored as JSON"),
        ({"store": "memory:"}, "There is no record manager"),
        ({"cleanup": "scoped_full"}, "None, 'incremental' or 'full'"),
        ({"source_id_key": "$and"}, "the name of a key"),
        ({"batch_size": 0}, "a whole number above 0"),
        ({"max_concurrency": 0}, "max_concurrency is 0; it is a whole number above 0"),
    ],
    ids=str,
)
async def test_arguments_that_mean_nothing(store: InMemoryVectorStore, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        given: dict[str, Any] = {"docs": [], "store": store}
        await aindex(**(given | arguments))
    assert len(store) == 0


# -- where documents come from


class SyncLoader(BaseLoader):
    def lazy_load(self) -> Iterator[Document]:
        yield from pieces("a", 5)


class AsyncLoader:
    """Not hocket's: it has the verb."""

    async def alazy_load(self) -> AsyncIterator[Document]:
        for one in pieces("a", 5):
            yield one


@pytest.mark.parametrize(
    "make",
    [
        lambda: pieces("a", 5),
        lambda: tuple(pieces("a", 5)),
        lambda: iter(pieces("a", 5)),
        lambda: (one for one in pieces("a", 5)),
        SyncLoader,
        AsyncLoader,
        lambda: SyncLoader().alazy_load(),
        lambda: AsyncLoader().alazy_load(),
    ],
)
async def test_whatever_gives_documents(store: InMemoryVectorStore, make: Any) -> None:
    assert await aindex(make(), store, batch_size=2) == counts(added=5)
    assert await texts_of(store) == ["a0", "a1", "a2", "a3", "a4"]


async def test_one_batch_is_read_ahead_and_no_more(store: InMemoryVectorStore, model: Counting) -> None:
    """So a source of any length takes little memory, and a slow model does not wait for a slow source."""
    read = 0
    most_ahead = 0

    async def documents() -> AsyncIterator[Document]:
        nonlocal read, most_ahead
        for number in range(200):
            read += 1
            most_ahead = max(most_ahead, read - len(model.texts))
            yield piece(str(number))

    await aindex(documents(), store, batch_size=10, max_concurrency=1)
    assert 10 < most_ahead <= 30  # one that is embedded, one that waits, and one that is being read


class Forgetful(FourMethods):
    """Keeps nothing."""

    async def aadd_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> None:
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("is_async", [True, False])
async def test_documents_do_not_pile_up(model: Counting, is_async: bool) -> None:
    """From a loader by way of a splitter into a store, a few batches are in memory, however many there are."""
    living = most = 0
    held: list[weakref.ref[Document]] = []

    def forget(gone: object) -> None:
        nonlocal living
        living -= 1

    def documents() -> Iterator[Document]:
        nonlocal living, most
        for number in range(2_000):
            document = piece(f"{number} " * 50)
            held.append(weakref.ref(document, forget))
            living += 1
            most = max(most, living)
            yield document
            del document

    async def async_documents() -> AsyncIterator[Document]:
        for document in documents():
            yield document
            del document

    splitter = CharacterTextSplitter(separator=" ", chunk_size=100, chunk_overlap=0)
    source = splitter.alazy_split_documents(async_documents() if is_async else documents())
    result = await aindex(source, Forgetful(model), batch_size=20)
    assert result["num_added"] > 4_000
    assert most < 300


async def test_the_source_is_closed_where_the_run_ends(store: InMemoryVectorStore, model: Counting) -> None:
    closed = []

    async def documents() -> AsyncIterator[Document]:
        try:
            while True:
                yield piece("same")
        finally:
            closed.append("async")

    def sync_documents() -> Iterator[Document]:
        try:
            while True:
                yield piece("same")
        finally:
            closed.append("sync")

    model.odd["same"] = [0.0]
    for source in (documents(), sync_documents()):
        with pytest.raises(InvalidHook):
            await aindex(source, store)
    assert closed == ["async", "sync"]


def test_and_for_sync_code(store: InMemoryVectorStore) -> None:
    assert index(pieces("a", 3), store, cleanup="full") == counts(added=3)
    assert index(iter(pieces("a", 2)), store, "full") == counts(skipped=2, deleted=1)


@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 2))), max_size=4))
async def test_the_store_has_what_the_sources_have(runs: list[list[tuple[str, str, int]]]) -> None:
    """After each run with "full", whatever came before; and no text is embedded twice while it stays."""
    model = Counting()
    store = InMemoryVectorStore(model)
    for number, run in enumerate(runs):
        documents = [piece(text, source, page=page) for source, text, page in run]
        before = set(await texts_of(store))
        result = await aindex(documents, store, cleanup="full" if run else None, batch_size=2 + number)
        assert result["num_added"] + result["num_updated"] + result["num_skipped"] == len(documents)
        assert not before & set(model.pop())
        if run:
            found = await store.aget_by_ids(await store.alist_ids())
            assert sorted((one.metadata["source"], one.page_content, one.metadata["page"]) for one in found) == sorted(
                run
            )


async def test_a_store_that_raises_an_end_of_iteration_has_failed(model: Counting):
    """Or else nothing more would be read, and what stands there of the rest be deleted."""

    class Stopping(InMemoryVectorStore):
        async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
            raise StopAsyncIteration("a mistake")

    with pytest.raises((StopAsyncIteration, RuntimeError)):
        await aindex(pieces("a", 3), Stopping(model), source_id_key="source", cleanup="full")


CSV = "name,pay\nBob,200\n"


@pytest.mark.parametrize("is_stamped", [False, True])
@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_a_file_that_was_read_and_is_blank_has_no_passages(
    store: InMemoryVectorStore, tmp_path: Any, cleanup: Any, is_stamped: bool
) -> None:
    """Whatever nothing is in it of, and whether another file cannot be read; that one keeps what it had."""
    blank = {"a.txt": " \n", "b.csv": "name,pay\n", "c.json": "[]", "d.html": "<p></p>", "e.txt": "", "f.txt": "\ufeff"}
    folder = tmp_path / "files"
    folder.mkdir()
    for name in blank:
        (folder / name).write_text({"b.csv": CSV, "c.json": '["Cy"]'}.get(name, f"<p>pay in {name}</p>"))
    (folder / "bad.txt").write_text("as it was")
    splitter = CharacterTextSplitter(chunk_size=50, chunk_overlap=0)
    options: Any = {"splitter": splitter, "stamps": tmp_path / "stamps" if is_stamped else None}
    loader = open_documents(folder, on_error="skip")
    assert await aindex(loader, store, cleanup=cleanup, **options) == counts(added=7)
    for name, text in blank.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "bad.txt").write_bytes(b"\0")
    assert await aindex(loader, store, cleanup=cleanup, **options) == counts(deleted=6)
    assert await texts_of(store) == ["as it was"]
    assert [Path(error.path).name for error in loader.skipped] == ["bad.txt", "e.txt", "f.txt"]


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_a_folder_whose_one_file_is_blank_is_no_emptied_folder(
    store: InMemoryVectorStore, tmp_path: Any, cleanup: Any
) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    await aindex(open_documents(tmp_path), store, cleanup)
    (tmp_path / "a.csv").write_text("name,pay\n")
    assert await aindex(open_documents(tmp_path), store, cleanup) == counts(deleted=1)
    await aindex([piece("x")], store)
    (tmp_path / "a.csv").unlink()
    assert await aindex(open_documents(tmp_path), store, cleanup) == counts()


@pytest.mark.parametrize("is_stamped", [False, True])
@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_rights_that_change_reach_what_cannot_be_read(
    store: InMemoryVectorStore,
    model: Counting,
    tmp_path: Any,
    cleanup: Any,
    is_stamped: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A damaged file, and those in a folder that cannot be listed: their documents stay, with the new metadata."""
    shut = tmp_path / "files" / "shut"
    shut.mkdir(parents=True)
    for name in ("files/good.txt", "files/bad.txt", "files/shut/in.txt"):
        (tmp_path / name).write_text(f"in {name}")
    rights = {"team": "everybody"}
    loader = open_documents(tmp_path / "files", on_error="skip", metadata=lambda path: rights)
    options: Any = {"stamps": tmp_path / "stamps" if is_stamped else None}
    await aindex(loader, store, cleanup, **options)
    rights["team"] = "board"
    (tmp_path / "files" / "bad.txt").write_bytes(b"\0")
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if path.endswith("shut/"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    model.pop()
    assert await aindex(loader, store, cleanup, **options) == counts(updated=3)
    assert await aindex(loader, store, cleanup, **options) == counts(skipped=1)
    assert len(await store.alist_ids({"team": "board"})) == 3 and not model.pop()
