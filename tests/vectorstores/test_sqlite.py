"""The vector store in SQLite: what is in its file, who else may use it, and what it refuses."""

import gc
import pickle
import sqlite3
import threading
import time
from functools import partial
from pathlib import Path

import anyio
import pytest

from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
from hocket.errors import EmbeddingMismatch, InvalidHook, InvalidInput, VectorStoreError
from hocket.vectorstores import InMemoryVectorStore, SQLiteVectorStore

EMBEDDING = DeterministicFakeEmbedding(size=8)
BOILER = [
    Document("Bleed the boiler in May.", id="a", metadata={"page": 1}),
    Document("The code E4711 means: call us.", id="b", metadata={"page": 2}),
]


class Counting(Embeddings):
    """Notes what it embeds, under the name that it is given."""

    def __init__(self, name: str, size: int = 8) -> None:
        self.model = name
        self.embedded: list[str] = []
        self._fake = DeterministicFakeEmbedding(size=size)
        self.fails_after: int | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails_after is not None and len(self.embedded) >= self.fails_after:
            raise ConnectionError("the server is gone")
        self.embedded += texts
        return self._fake.embed_documents([self.model + text for text in texts])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that is not there."""
    return tmp_path / "vectors.db"


def run_sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run statements as another program; return the rows of the last one."""
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        connection.commit()
        return rows
    finally:
        connection.close()


def test_what_is_in_the_file(path: Path) -> None:
    """Tables that others can read: documents in order, a vector a text, the words, the model."""
    store = SQLiteVectorStore(path, EMBEDDING)
    store.add_documents([*BOILER, Document("Bleed the boiler in May.", id="c")])
    assert run_sql(path, "SELECT id, content, metadata ->> 'page' FROM documents ORDER BY number") == [
        ("a", "Bleed the boiler in May.", 1),
        ("b", "The code E4711 means: call us.", 2),
        ("c", "Bleed the boiler in May.", None),
    ]
    assert run_sql(path, "SELECT count(*), max(length(vector)) FROM documents__vectors") == [(2, 32)]
    assert run_sql(path, "SELECT words FROM documents__words WHERE rowid = 2") == [("the code e4711 means call us",)]
    assert run_sql(path, "SELECT name, model, size FROM vector_collections") == [("documents", EMBEDDING.model_id, 8)]
    assert run_sql(path, "PRAGMA journal_mode") == [("wal",)]


def test_what_was_kept_is_there_again(path: Path) -> None:
    """Another store of the same file finds it, and embeds nothing again; a store can be pickled."""
    first = Counting("m")
    SQLiteVectorStore(path, first).add_documents(BOILER)
    second = Counting("m")
    again = SQLiteVectorStore(path, second)
    assert again.get_by_ids(["b", "a"]) == BOILER[::-1]
    (found,) = again.similarity_search_by_vector(second.embed_query(BOILER[1].page_content), k=1)
    assert (found.id, found.score) == ("b", pytest.approx(1, abs=1e-6))
    second.embedded.clear()
    again.add_documents([Document(BOILER[0].page_content, id="moved"), Document("new", id="n")])
    assert second.embedded == ["new"]
    assert [one.id for one in again.hybrid_search("E4711", k=1)] == ["b"]
    made = SQLiteVectorStore.from_texts(["more"], second, path=path, ids=["m"])
    assert len(made.get_by_ids(["a", "m"])) == 2
    copy = pickle.loads(pickle.dumps(again))
    assert copy.get_by_ids(["a"]) == BOILER[:1]


def test_stores_of_one_file_see_one_another(path: Path) -> None:
    """What one has added, replaced or deleted, the next search of the other finds, or does not find."""
    one, other = SQLiteVectorStore(path, EMBEDDING), SQLiteVectorStore(path, EMBEDDING)
    assert other.similarity_search("x") == []
    one.add_documents(BOILER)
    assert len(other.similarity_search("x")) == 2
    other.add_documents([Document("new text", id="a")])
    assert {found.page_content for found in one.similarity_search("x")} == {"new text", BOILER[1].page_content}
    one.delete(["b"])
    assert [found.id for found in other.similarity_search("x")] == ["a"]
    run_sql(path, "DELETE FROM documents", "UPDATE vector_collections SET removals = removals + 1")
    assert one.similarity_search("x") == other.similarity_search("x") == []


def test_most_of_it_deleted(path: Path) -> None:
    """The vectors in memory are loaded anew when most of them are gone, and the file keeps none that no document has."""
    store = SQLiteVectorStore(path, EMBEDDING)
    ids = store.add_texts([f"text {number}" for number in range(2_500)])
    assert len(store.similarity_search("x", k=9_999)) == 2_500
    store.delete(ids[:-2])
    for _ in range(2):
        assert {one.page_content for one in store.similarity_search("x")} == {"text 2498", "text 2499"}
    assert run_sql(path, "SELECT count(*) FROM documents__vectors") == [(2,)]
    assert run_sql(path, "SELECT count(*) FROM documents__words") == [(2,)]


def test_documents_of_one_text_share_the_last_vector(path: Path) -> None:
    """Who has the vectors in memory sees that one was changed; vectors that were there are not written again."""
    store, other = SQLiteVectorStore(path, EMBEDDING), SQLiteVectorStore(path, EMBEDDING)
    store.add_texts(["text", "text", "more"], ids=["1", "2", "3"])
    assert len(other.similarity_search("text")) == 3
    store.add_documents([Document("text", id="1", metadata={"page": 1})])
    assert run_sql(path, "SELECT changes, removals FROM vector_collections") == [(0, 1)]
    anyio.run(store.aadd_vectors, [Document("text", id="4")], [[3.0] * 8])
    for one in (store, other):
        found = one.similarity_search_by_vector([1.0] * 8, k=3)
        assert [(match.id, match.score) for match in found] == [
            (id, pytest.approx(1, abs=1e-6)) for id in ("2", "1", "4")
        ]


def test_collections_share_a_file_and_nothing_else(path: Path) -> None:
    """Each has documents and a model of its own."""
    rules = SQLiteVectorStore(path, EMBEDDING, collection="rules_2")
    letters = SQLiteVectorStore(path, DeterministicFakeEmbedding(size=5), collection="letters")
    rules.add_documents(BOILER)
    letters.add_documents([Document("a letter", id="a")])
    assert [one.page_content for one in letters.similarity_search("x")] == ["a letter"]
    letters.delete()
    assert len(rules.similarity_search("x")) == 2


def test_words_score_as_in_memory(path: Path) -> None:
    """The same documents, in the same order, with the same scores."""
    texts = ["the boiler", "the boiler and the valve", "E4711", "die Größe", "a boiler, boiler, boiler", "nothing"]
    inside, outside = InMemoryVectorStore(EMBEDDING), SQLiteVectorStore(path, EMBEDDING)
    for store in (inside, outside):
        store.add_texts([*texts, "gone"], [{"n": n} for n in range(7)], ids=[str(n) for n in range(7)])
        store.delete(["6"])
    for query in ("boiler", "the Valve", "e4711 grosse", "gone"):
        for filter in (None, {"n": {"$gte": 1}}):
            (found, expected) = (
                [(one.id, one.score) for one in store.hybrid_search(query, 9, filter, words=1)]
                for store in (outside, inside)
            )
            assert [name for name, _ in found] == [name for name, _ in expected]
            assert [score for _, score in found] == pytest.approx([score for _, score in expected])


# -- another model


def test_another_model_is_refused(path: Path) -> None:
    """By name or by the size of its vectors, before anything is embedded; nothing is changed."""
    SQLiteVectorStore(path, Counting("first")).add_documents(BOILER)
    other = Counting("second")
    store = SQLiteVectorStore(path, other)
    vector = [1.0] * 8
    for operation in (
        partial(store.add_documents, [Document("new", id="a")]),
        partial(store.similarity_search_by_vector, vector),
        partial(store.add_texts, ["new"]),
    ):
        with pytest.raises(EmbeddingMismatch, match=r"vectors of Counting:first, of 8 numbers.*with Counting:second"):
            operation()
    assert other.embedded == []
    longer = Counting("first", size=9)
    with pytest.raises(EmbeddingMismatch, match="8 numbers, and this one has 9"):
        SQLiteVectorStore(path, longer).similarity_search("x")
    with pytest.raises(EmbeddingMismatch, match="8 numbers, and this one has 9"):
        SQLiteVectorStore(path, longer).add_texts(["new"])
    assert SQLiteVectorStore(path, Counting("first")).get_by_ids(["a", "b"]) == BOILER


def test_an_empty_collection_takes_any_model(path: Path) -> None:
    """When the last document is deleted, the model is forgotten."""
    first = SQLiteVectorStore(path, Counting("first"))
    first.add_documents(BOILER)
    first.delete(["a", "b"])
    SQLiteVectorStore(path, Counting("second", size=3)).add_documents(BOILER)
    with pytest.raises(EmbeddingMismatch):
        first.similarity_search("x")


def test_reembed_changes_the_model(path: Path) -> None:
    """Every text is embedded once, and searches are the new model's; the old one is refused then, and not before."""
    old, new = Counting("old"), Counting("new", size=12)
    before, after = SQLiteVectorStore(path, old), SQLiteVectorStore(path, new)
    before.add_texts([f"text {number % 20}" for number in range(30)])
    assert len(before.similarity_search("x", k=99)) == 30
    new.fails_after = 8
    with pytest.raises(ConnectionError):
        after.reembed(batch_size=4)
    assert len(before.similarity_search("x", k=99)) == 30, "the old model has it until all is done"
    new.fails_after = None
    with pytest.raises(EmbeddingMismatch):
        after.similarity_search_by_vector([1.0] * 12)
    assert after.reembed(batch_size=5) == 12
    assert sorted(new.embedded) == sorted(f"text {number}" for number in range(20))
    found = after.similarity_search("text 3", k=99)
    assert len(found) == 30
    assert found[0].page_content == "text 3"
    assert run_sql(path, "SELECT DISTINCT model FROM documents__vectors") == [("Counting:new",)]
    with pytest.raises(EmbeddingMismatch, match="Counting:new, of 12 numbers"):
        before.similarity_search("x")
    assert after.reembed() == 0


def test_reembed_goes_on_while_documents_are_added(path: Path) -> None:
    """What the old model's stores add meanwhile is embedded, too, before the model is changed."""
    old = SQLiteVectorStore(path, Counting("old"))

    class Interrupted(Counting):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if len(self.embedded) < 6:
                old.add_texts([f"meanwhile {len(self.embedded)} {number}" for number in range(2)])
            return super().embed_documents(texts)

    old.add_texts([f"text {number}" for number in range(6)])
    new = Interrupted("new")
    count = SQLiteVectorStore(path, new).reembed(batch_size=2)
    assert count == len(new.embedded) == len(set(new.embedded)) == 6 + 2 * 3
    assert len(SQLiteVectorStore(path, new).similarity_search_by_vector([1.0] * 8, k=99)) == count


def test_reembed_refuses_bad_vectors(path: Path) -> None:
    """The collection stays as it is."""

    class Broken(Counting):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float("nan")] * 3 for _ in texts]

    SQLiteVectorStore(path, EMBEDDING).add_documents(BOILER)
    with pytest.raises(InvalidHook):
        SQLiteVectorStore(path, Broken("m")).reembed()
    with pytest.raises(InvalidInput, match="batch_size is 0"):
        SQLiteVectorStore(path, Broken("m")).reembed(batch_size=0)
    assert len(SQLiteVectorStore(path, EMBEDDING).similarity_search("x")) == 2


# -- the file


def test_what_is_no_place(tmp_path: Path) -> None:
    """A file of another kind and a folder are errors that name the path."""
    (tmp_path / "text").write_text("no database, but text of some length" * 100)
    for place, problem in (("text", "file is not a database"), ("", "open")):
        with pytest.raises(VectorStoreError, match=f"{tmp_path / place}.*{problem}"):
            SQLiteVectorStore(tmp_path / place, EMBEDDING).add_texts(["a"])
        with pytest.raises(VectorStoreError, match=problem):
            SQLiteVectorStore(tmp_path / place, EMBEDDING).similarity_search("a")
    for path in ("", ":memory:"):
        with pytest.raises(InvalidInput, match="path is"):
            SQLiteVectorStore(path, EMBEDDING)
    for name in ("", "Documents", "a__b", "1a", "a-b", "a; DROP TABLE x", "sqlite_a", "vector_collections"):
        with pytest.raises(InvalidInput, match="collection is"):
            SQLiteVectorStore(tmp_path / "x.db", EMBEDDING, collection=name)


def test_a_missing_directory_is_made(tmp_path: Path) -> None:
    """With the file, by the first use; one that cannot be made is named."""
    store = SQLiteVectorStore(tmp_path / "db" / "deep" / "vectors.db", EMBEDDING)
    assert list(tmp_path.iterdir()) == []
    store.add_documents(BOILER)
    assert store.similarity_search("E4711", k=1) != []
    with pytest.raises(VectorStoreError, match="its directory cannot be made: "):
        SQLiteVectorStore(Path(store.path) / "below" / "a.db", EMBEDDING).add_documents(BOILER)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE documents SET metadata = '{' WHERE id = 'a'", "document 'a' cannot be read"),
        ("DELETE FROM documents__vectors", "vector has 0 bytes, and the others 32"),
        ("UPDATE documents__vectors SET vector = x'0000'", "vector has 2 bytes, and the others 32"),
        ("UPDATE documents__vectors SET vector = x'0000803f'", "vector has 4 bytes"),
        ("UPDATE vector_collections SET format = 2", "has the format 2; this hocket reads 1"),
        ("DROP TABLE documents__vectors", "no such table"),
    ],
)
def test_damage_is_named(path: Path, statement: str, problem: str) -> None:
    """What cannot be read is an error that says what, and where."""
    store = SQLiteVectorStore(path, EMBEDDING)
    store.add_documents(BOILER)
    run_sql(path, statement)
    with pytest.raises(VectorStoreError, match=problem) as raised:
        store.similarity_search("x")
    assert str(path) in str(raised.value)


def test_a_damaged_page_is_an_error(path: Path) -> None:
    """A file with noise in the middle of it is refused, not half read."""
    store = SQLiteVectorStore(path, EMBEDDING)
    store.add_texts([f"text {number} " * 20 for number in range(300)])
    store.close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = b"\x55" * (len(data) - 4096 * 2)
    path.write_bytes(data)
    with pytest.raises(VectorStoreError, match=r"vectors\.db"):
        store.similarity_search("x", k=300)


def test_a_failing_batch_leaves_nothing(path: Path) -> None:
    """Whatever the database refuses in the middle of a batch, nothing of it stays, and the next one is stored."""
    store = SQLiteVectorStore(path, EMBEDDING)
    store.add_documents(BOILER)
    run_sql(
        path,
        "CREATE TRIGGER refuse BEFORE INSERT ON documents WHEN NEW.id = 'refused' "
        "BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    )
    with pytest.raises(VectorStoreError, match=r"vectors\.db: not this one"):
        store.add_texts(["replaced", "new", "no"], ids=["a", "n", "refused"])
    assert store.get_by_ids(["a", "b", "n"]) == BOILER
    assert {one.id for one in store.similarity_search("new")} == {"a", "b"}
    assert run_sql(path, "SELECT count(*) FROM documents__words") == [(2,)]
    store.add_texts(["new"], ids=["n"])
    assert len(store.similarity_search("new")) == 3


def test_a_search_does_not_wait_for_a_writer(path: Path) -> None:
    """While another connection writes, a search finds what was there before; an addition waits for its end."""
    store = SQLiteVectorStore(path, EMBEDDING)
    store.add_documents(BOILER)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM documents")
    fresh = SQLiteVectorStore(path, EMBEDDING)
    store.close()
    assert len(fresh.similarity_search("x")) == 2
    timer = threading.Timer(0.1, other.execute, ["ROLLBACK"])
    timer.start()
    store.add_texts(["new"], ids=["n"])
    timer.join()
    other.close()
    assert len(store.similarity_search("x")) == 3


def test_the_connections_go_with_the_last_store(path: Path) -> None:
    """And SQLite's own files with them."""
    first, second = SQLiteVectorStore(path, EMBEDDING), SQLiteVectorStore(path, EMBEDDING)
    first.add_documents(BOILER)
    second.similarity_search("x")
    wal = path.with_name("vectors.db-wal")
    del first
    gc.collect()
    assert wal.exists()
    del second
    for _ in range(200):  # the thread that searched may be about to let go of it
        gc.collect()
        if not wal.exists():
            break
        time.sleep(0.01)
    assert not wal.exists()
