"""The store in PostgreSQL, beyond what every store is examined for."""

import random
import subprocess
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings

from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import EmbeddingMismatch, InvalidInput, VectorStoreError, VectorStoreUnavailable
from hocket.testing import VectorStoreConformance
from hocket.vectorstores import InMemoryVectorStore, PGVectorStore, VectorStore, open_vector_store
from hocket.vectorstores.filters import is_met, parse_filter
from tests.kit.amount import limit_examples
from tests.kit.warm import Program
from tests.vectorstores.filter_strategies import FACTS, FILTERS
from tests.vectorstores.models import Model, make_documents

PASSWORD = "canary-9b1c"
WITHOUT_PGVECTOR = "postgresql://postgres@127.0.0.1:5432/test"


@pytest.fixture
def name() -> str:
    """A table of the test's own."""
    return f"test_{uuid4().hex}"


Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def ask(pgvector_url: str, name: str) -> Ask:
    """What runs a statement beside the store; ``{t}`` is its table."""

    def run(statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(pgvector_url, autocommit=True) as connection:
            cursor = connection.execute(statement.format(t=name).encode())
            return cursor.fetchall() if cursor.description else []

    return run


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


class TestPostgres(VectorStoreConformance):
    """The exam of every store."""

    @pytest.fixture(autouse=True)
    def _server(self, pgvector_url: str) -> None:
        self.url = pgvector_url

    def make(self, embedding: Embeddings) -> PGVectorStore:
        return PGVectorStore(self.url, embedding, table=f"exam_{uuid4().hex}")


async def test_an_address_opens_it(pgvector_url: str) -> None:
    """What one keeps the next one finds."""
    await open_vector_store(pgvector_url, Model()).aadd_documents(make_documents(3))
    async with open_vector_store(pgvector_url, Model()) as store:
        assert [one.id for one in await store.asimilarity_search("text 1", k=1)] == ["1"]
        await store.adelete()


# -- models


async def test_another_model_is_refused(pgvector_url: str, name: str) -> None:
    """Whatever is asked; both are named, nothing is embedded, and nothing changes. To delete everything helps."""
    first = PGVectorStore(pgvector_url, Model(), table=name)
    await first.aadd_documents(make_documents(3))
    model = Model("second", 4)
    second = PGVectorStore(pgvector_url, model, table=name)
    for asked in (
        lambda: second.aadd_documents(make_documents(1, start=9)),
        lambda: second.asimilarity_search("text"),
        lambda: second.ahybrid_search("text"),
        lambda: second.aget_by_ids(["1"]),
        lambda: second.alist_ids(),
        lambda: second.acreate_index(),
    ):
        with pytest.raises(EmbeddingMismatch, match=r"'Model:first:8'.*'Model:second:4'.*areembed"):
            await asked()
    assert "text 9" not in model.embedded
    assert await first.alist_ids() == ["0", "1", "2"]
    await second.adelete()
    await second.aadd_documents(make_documents(2))
    assert [one.id for one in await second.asimilarity_search("text 1", k=1)] == ["1"]
    with pytest.raises(EmbeddingMismatch):
        await first.asimilarity_search("text")


async def test_vectors_of_another_size_are_refused(pgvector_url: str, name: str) -> None:
    """Also where the model has the same name."""
    store = PGVectorStore(pgvector_url, Model(), table=name)
    await store.aadd_documents(make_documents(2))
    with pytest.raises(EmbeddingMismatch, match="vectors of 8 numbers, and this one has 2"):
        await store.aadd_vectors(make_documents(1), [[1.0, 2.0]])
    with pytest.raises(EmbeddingMismatch, match="8 numbers"):
        await store.asimilarity_search_by_vector([1.0, 2.0])
    assert len(await store.alist_ids()) == 2


@pytest.mark.parametrize("has_index", [False, True])
async def test_another_model_takes_over(pgvector_url: str, name: str, ask: Ask, has_index: bool) -> None:
    """`areembed` embeds each text once, and the store is as one that was filled with the new model."""
    first = PGVectorStore(pgvector_url, Model(), table=name)
    await first.aadd_documents([*make_documents(250), Document("text 7", id="again")])
    if has_index:
        await first.acreate_index()
    model = Model("second", 12)
    second = PGVectorStore(pgvector_url, model, table=name)
    with pytest.raises(InvalidInput, match="batch_size is 0"):
        await second.areembed(batch_size=0)
    assert await second.areembed() == 250
    assert sorted(model.embedded) == sorted(f"text {n}" for n in range(250))
    assert await second.areembed() == 0
    expected = InMemoryVectorStore(Model("second", 12))
    await expected.aadd_documents([*make_documents(250), Document("text 7", id="again")])
    found = await second.asimilarity_search("text 7", k=5)
    assert [one.id for one in found] == [one.id for one in await expected.asimilarity_search("text 7", k=5)]
    with pytest.raises(EmbeddingMismatch, match=r"holds vectors of 'Model:second:12'"):
        await first.asimilarity_search("text")
    assert ask("SELECT to_regclass('{t}_index') IS NOT NULL, to_regclass('{t}_next')") == [(has_index, None)]
    await second.aadd_documents(make_documents(1, start=900))


async def test_a_change_of_the_model_goes_on_where_it_broke_off(pgvector_url: str, name: str) -> None:
    """Until it has ended the store serves the old model, writers included; what was embedded is kept."""
    first = PGVectorStore(pgvector_url, Model(), table=name)
    await first.aadd_documents(make_documents(220))
    model = Model("second")
    model.limit = 200
    second = PGVectorStore(pgvector_url, model, table=name)
    with pytest.raises(OSError, match="no more"):
        await second.areembed()
    await first.aadd_documents(make_documents(1, start=500))
    await first.adelete(["3"])
    assert [one.id for one in await first.asimilarity_search("text 500", k=1)] == ["500"]
    model.limit = None
    assert await second.areembed() == 21
    assert sorted(model.embedded) == sorted([*(f"text {n}" for n in range(220)), "text 500"])
    assert len(await second.alist_ids()) == 220
    assert (await second.asimilarity_search("text 500", k=1))[0].score == pytest.approx(1)


async def test_a_search_sees_one_model(pgvector_url: str, name: str) -> None:
    """Who searches while the model changes finds with the old one, or is refused; connections go on working."""
    first = PGVectorStore(pgvector_url, Model(), table=name)
    await first.aadd_documents(make_documents(300))
    outcomes: list[str] = []

    async def search() -> None:
        while "refused" not in outcomes:
            try:
                (best,) = await first.asimilarity_search("text 7", k=1)
            except EmbeddingMismatch:
                outcomes.append("refused")
            else:
                assert (best.id, best.score) == ("7", pytest.approx(1))
                outcomes.append("found")

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(search)
        await PGVectorStore(pgvector_url, Model("second", 5), table=name).areembed()
    assert "found" in outcomes


# -- the index


async def test_an_index_changes_nothing_but_the_time(pgvector_url: str, name: str, ask: Ask) -> None:
    """The nearest are found, with few that match a filter, too, and after changes; it is used."""
    model = Model()
    store, exact = PGVectorStore(pgvector_url, model, table=name), InMemoryVectorStore(model)
    with pytest.raises(VectorStoreError, match="is empty: add documents"):
        await store.acreate_index()
    filled: list[VectorStore] = [store, exact]
    for one in filled:
        await one.aadd_documents(make_documents(1000))
    await store.acreate_index()
    await store.acreate_index()
    for one in filled:
        await one.aadd_documents(make_documents(5, start=700))
        await one.adelete(["0"])
    for question in ("text 5", "text 702", "elsewhere"):
        for k, filter in ((1, None), (10, None), (3, {"n": {"$in": [5, 400, 703]}}), (4, {"n": {"$gt": 690}})):
            found = await store.asimilarity_search(question, k=k, filter=filter)
            expected = await exact.asimilarity_search(question, k=k, filter=filter)
            assert [one.id for one in found] == [one.id for one in expected]
    await store.aclose()  # a connection that ends says what it has done
    scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = '{t}_index'"
    await anyio.to_thread.run_sync(wait_until, lambda: ask(scans) != [(0,)])
    await store.adelete()
    await PGVectorStore(pgvector_url, Model("second", 3), table=name).aadd_documents(make_documents(2))


# -- filters and words


def test_filters_mean_what_they_mean_in_memory(pgvector_url: str, name: str) -> None:
    """Whatever they are, and whatever the metadata."""
    store = PGVectorStore(pgvector_url, Model(), table=name)
    store.add_documents([Document("text", id=str(number), metadata=one) for number, one in enumerate(FACTS)])

    @given(FILTERS)
    @settings(max_examples=limit_examples(200), suppress_health_check=list(HealthCheck))
    def check(filter: dict[str, Any]) -> None:
        condition = parse_filter(filter)
        expected = [str(number) for number, one in enumerate(FACTS) if is_met(condition, one)]
        found = store.similarity_search_by_vector([1.0] * 8, k=99, filter=filter)
        assert [one.id for one in found] == expected

    check()


async def test_words_are_scored_as_in_memory(pgvector_url: str, name: str) -> None:
    """The same documents, in the same order, with the same scores: words that are rare count more."""
    model = Model()
    chance = random.Random(3)
    words = [*"abcdefghij", "ERR_CONN-17", "it's", "back\\slash", "東京タワー", "Café"]
    texts = [" ".join(chance.choices(words, k=chance.randrange(1, 30))) for _ in range(120)]
    stores: list[VectorStore] = [PGVectorStore(pgvector_url, model, table=name), InMemoryVectorStore(model)]
    for store in stores:
        await store.aadd_documents([Document(text, id=str(n), metadata={"n": n}) for n, text in enumerate(texts)])
        await store.adelete(["5", "6"])
    for question in ("a", "a b ERR_CONN-17", "conn it's", "back\\slash 京", "cafe", "nowhere", "j " * 300 + "a"):
        for filter in (None, {"n": {"$lt": 60}}):
            there, here = [await store.asearch_words(question, 50, filter) for store in stores]
            assert [(one.document.id, one.score) for one in there] == [(one.document.id, one.score) for one in here]


async def test_a_long_text_has_its_first_words(pgvector_url: str, name: str) -> None:
    """What is too much for a tsvector does not keep a document from being stored."""
    store = PGVectorStore(pgvector_url, Model(), table=name)
    text = " ".join(f"word{n}" for n in range(150_000))
    await store.aadd_texts([text, "many " * 1000], ids=["long", "often"])
    assert [one.document.id for one in await store.asearch_words("word1", 1)] == ["long"]
    assert [one.document.id for one in await store.asearch_words("many", 1)] == ["often"]
    assert (await store.aget_by_ids(["long"]))[0].page_content == text


# -- the database


async def test_vectors_of_texts_that_are_gone_are_gone(pgvector_url: str, name: str, ask: Ask) -> None:
    """A vector is there as long as a document with its text is, once."""
    store = PGVectorStore(pgvector_url, Model(), table=name)
    await store.aadd_documents([*make_documents(3), Document("text 1", id="again")])
    assert ask('SELECT count(*) FROM "{t}_vectors"') == [(3,)]
    await store.adelete(["1", "2", "missing"])
    assert ask('SELECT count(*) FROM "{t}_vectors"') == [(2,)]
    await store.aadd_documents([Document("text 0", id="again"), Document("new", id="0")])
    assert ask('SELECT count(*) FROM "{t}_vectors"') == [(2,)]
    await store.adelete()
    assert ask('SELECT count(*) FROM "{t}_vectors"') == [(0,)]


async def test_a_store_that_is_not_there_is_empty(pgvector_url: str, name: str, ask: Ask) -> None:
    """To look into it makes no tables."""
    store = PGVectorStore(pgvector_url, Model(), table=name)
    assert await store.asimilarity_search("text") == []
    assert await store.ahybrid_search("text") == []
    assert await store.aget_by_ids(["1"]) == []
    assert await store.alist_ids() == []
    assert await store.areembed() == 0
    await store.adelete(["1"])
    await store.adelete()
    assert ask("SELECT to_regclass('{t}')") == [(None,)]


async def test_tables_of_a_later_format_are_left_alone(pgvector_url: str, name: str, ask: Ask) -> None:
    """The error says what to do."""
    store = PGVectorStore(pgvector_url, Model(), table=name)
    await store.aadd_documents(make_documents(1))
    ask('UPDATE "{t}_meta" SET format = 2')
    with pytest.raises(VectorStoreError, match="of format 2, and this hocket knows 1"):
        await store.asimilarity_search("text")


async def test_a_role_that_may_not_is_told_the_command(pgvector_url: str, name: str, ask: Ask) -> None:
    """A database without the extension, and a role that may not add it."""
    ask("CREATE DATABASE {t}")
    ask("CREATE ROLE guest_{t} LOGIN")
    url = pgvector_url.replace("//postgres:@/postgres?", f"//guest_{name}@/{name}?")
    assert url != pgvector_url
    store = PGVectorStore(url, Model(), table="documents")
    with pytest.raises(VectorStoreError, match="`CREATE EXTENSION vector`"):
        await store.aadd_documents(make_documents(1))
    await store.aclose()


async def test_a_server_without_pgvector_is_told_of(name: str) -> None:
    """Debian's PostgreSQL has none; the error says what to install, and nothing is made."""
    try:
        with psycopg.connect(WITHOUT_PGVECTOR, connect_timeout=2) as connection:
            if connection.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'").fetchone():
                pytest.skip("the PostgreSQL on port 5432 has pgvector")
    except psycopg.OperationalError as error:
        pytest.skip(f"there is no PostgreSQL on port 5432: {error}")
    store = PGVectorStore(WITHOUT_PGVECTOR, Model(), table=name)
    with pytest.raises(VectorStoreError, match="install it on the server"):
        await store.aadd_documents(make_documents(1))
    assert await store.alist_ids() == []
    await store.aclose()


async def test_a_server_that_is_away_shows_no_password() -> None:
    """Neither in the error nor in what the store looks like."""
    store = PGVectorStore(f"postgresql://me:{PASSWORD}@127.0.0.1:1/there", Model())
    with pytest.raises(VectorStoreUnavailable) as failure:
        await store.asimilarity_search("text")
    assert PASSWORD not in f"{failure.value} {store!r}"


@pytest.mark.parametrize("table", ["", 'a"b', "a b", "a" * 41, "a-b"])
def test_a_table_has_a_plain_name(table: str) -> None:
    """No statement is made of anything else."""
    with pytest.raises(InvalidInput, match="letters, digits and underscores"):
        PGVectorStore("postgresql://there/db", Model(), table=table)


COUNTS = """
    SELECT (SELECT count(*) FROM "{t}"), (SELECT count(*) FROM "{t}_vectors"),
        (SELECT count(*) FROM "{t}" JOIN "{t}_vectors" USING (hash))
"""
WRITER = """
import sys
sys.path[:0] = [{root!r}]
from hocket.vectorstores import PGVectorStore
from tests.vectorstores.models import Model, make_documents
store = PGVectorStore({url!r}, Model(), table={name!r})
print("ready", flush=True)
for start in range(0, 2000, 20):
    store.add_documents(make_documents(20, start))
    print(start, flush=True)
"""


def test_a_killed_writer_leaves_whole_batches(
    pgvector_url: str, name: str, ask: Ask, pytestconfig: pytest.Config
) -> None:
    """`kill -9` at any time: what was reported is there, batches are whole, and only what is missing is embedded again."""
    chance = random.Random()
    reported = -20
    for _ in range(4):
        code = WRITER.format(root=str(pytestconfig.rootpath), url=pgvector_url, name=name)
        with Program("-c", code, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.4))
            writer.kill()
            lines = writer.stdout.read().splitlines(keepends=True)
        reported = max([reported, *(int(line) for line in lines if line.endswith("\n"))])
        model = Model()
        store = PGVectorStore(pgvector_url, model, table=name)
        there = {one.page_content for one in store.similarity_search("text", k=9999)}
        assert {f"text {n}" for n in range(reported + 20)} <= there
        if there:
            ((texts, vectors, both),) = ask(COUNTS)
            assert texts == vectors == both
            assert texts % 20 == len(there) % 20 == 0
    model.embedded.clear()
    store.add_documents(make_documents(2000))
    missing = {f"text {n}" for n in range(2000)} - there
    assert set(model.embedded) <= missing
    assert len(missing) - len(model.embedded) in (0, 20)  # the server may end a batch after its writer's death
    assert ask(COUNTS) == [(2000, 2000, 2000)]
    assert store.similarity_search("text 1999", k=1)[0].id == "1999"
