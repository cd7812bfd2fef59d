"""Processes that die while they index: what they have stored is whole, and is not embedded again."""

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
from hocket.errors import EmbeddingMismatch
from hocket.indexing import IndexingResult, aindex, index
from hocket.vectorstores import ChromaVectorStore, PGVectorStore, SQLiteVectorStore, VectorStore
from tests.kit.warm import Program

PIECES = 2_000
BATCH = 50
AT_ONCE = 3
KILLS = 2
TRANSACTIONAL = ["SQLite", "PostgreSQL"]
"""Stores with transactions, and exact searches, which see a batch whole or not at all."""

RUN = """\
import sys
sys.path[:0] = [sys.argv[1]]
from tests.indexing.test_killed import bring_up_to_date
print("ready", flush=True)
print(bring_up_to_date(*sys.argv[2:]), flush=True)
"""


class Noting(Embeddings):
    """Writes each text that it embeds to a file, before it is embedded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fake = DeterministicFakeEmbedding(size=16)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("".join(f"{text}\n" for text in texts))
        return self.fake.embed_documents(texts)


class Other(Noting):
    """Another model."""


def open_store(address: str, table: str, model: Embeddings) -> VectorStore:
    if address.startswith("http"):
        return ChromaVectorStore(address, model, collection=table)
    return PGVectorStore(address, model, table=table) if "://" in address else SQLiteVectorStore(address, model)


def pieces() -> list[Document]:
    return [
        Document(f"piece {n}", metadata={"source": f"{n // 100}.txt", "start_index": n % 100}) for n in range(PIECES)
    ]


def bring_up_to_date(address: str, table: str, log: str) -> IndexingResult:
    """Index the pieces; this is what is killed."""
    with open_store(address, table, Noting(log)) as store:
        return index(pieces(), store, cleanup="full", batch_size=BATCH, max_concurrency=AT_ONCE)


@pytest.fixture(params=[*TRANSACTIONAL, "Chroma"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the store is."""
    if request.param == "SQLite":
        return str(tmp_path / "vectors.db")
    url: str = request.getfixturevalue("pgvector_url" if request.param == "PostgreSQL" else "chroma_url")
    return url


@contextmanager
def running(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that indexes, and kill it in the end."""
    with Program("-c", RUN, *arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("address", TRANSACTIONAL, indirect=True)
def test_a_killed_run_goes_on_where_it_was(address: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """`kill -9` at random times: batches are whole, nothing is deleted, and those in flight alone are embedded again."""
    table, log, other = f"killed_{uuid4().hex[:8]}", tmp_path / "embedded.txt", str(tmp_path / "other.txt")
    log.touch()
    with open_store(address, table, Noting(other)) as store:
        store.add_texts([f"old {n}" for n in range(30)], ids=[f"old {n}" for n in range(30)])
    there: set[str] = set()
    for _ in range(KILLS):
        with running(str(pytestconfig.rootpath), address, table, str(log)):
            time.sleep(random.uniform(0.02, 0.35))
        time.sleep(0.1)  # a server may end a batch after its writer's death
        now = list_texts(address, table, other)
        assert {f"old {n}" for n in range(30)} <= now or len(now) == PIECES
        new = {text for text in now if text.startswith("piece")}
        assert len(new) % BATCH == 0
        assert there <= new
        there = new
    before = log.read_text().splitlines()
    assert len(before) <= len(there) + KILLS * AT_ONCE * BATCH
    result = bring_up_to_date(address, table, str(log))
    after = log.read_text().splitlines()
    assert not there & set(after[len(before) :])
    assert len(after) <= PIECES + KILLS * AT_ONCE * BATCH
    assert (result["num_added"], result["num_skipped"]) == (PIECES - len(there), len(there))
    assert list_texts(address, table, other) == {one.page_content for one in pieces()}
    assert bring_up_to_date(address, table, str(log))["num_skipped"] == PIECES
    assert log.read_text().splitlines() == after


def list_texts(address: str, table: str, log: str) -> set[str]:
    """Return the texts that are found, each of which must be there once."""
    with open_store(address, table, Noting(log)) as store:
        found = [one.page_content for one in store.similarity_search("piece", k=PIECES + 100)]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.anyio
async def test_other_metadata_and_places_embed_nothing(address: str, tmp_path: Path) -> None:
    table, log = f"moved_{uuid4().hex[:8]}", tmp_path / "embedded.txt"
    few = pieces()[:300]
    async with open_store(address, table, Noting(str(log))) as store:
        await aindex(few, store, cleanup="full")
        log.write_text("")
        for one in few:
            one.metadata |= {"page": 1.5, "tags": ["a", {"b": None}], "start_index": one.metadata["start_index"] + 7}
        result = await aindex(few[::-1], store, cleanup="incremental", batch_size=70)
        assert result == {"num_added": 0, "num_updated": 300, "num_skipped": 0, "num_deleted": 0}
        result = await aindex(few[50:], store, cleanup="incremental")
        assert result == {"num_added": 0, "num_updated": 0, "num_skipped": 250, "num_deleted": 50}
    assert log.read_text() == ""


@pytest.mark.anyio
@pytest.mark.parametrize("address", TRANSACTIONAL, indirect=True)
async def test_searches_while_indexing_goes_on(address: str, tmp_path: Path) -> None:
    """Each sees whole batches, and never fewer documents than the one before."""
    table, log, seen = f"busy_{uuid4().hex[:8]}", str(tmp_path / "embedded.txt"), [0]
    async with open_store(address, table, Noting(log)) as store:

        async def search() -> None:
            for _ in range(10):
                before = max(seen)
                found = await store.asimilarity_search("piece 7", k=500)
                assert len(found) % 25 == 0
                assert len(found) >= before
                assert found == sorted(found, key=lambda one: -(one.score or 0))
                seen.append(len(found))

        async with anyio.create_task_group() as group:
            group.start_soon(aindex, pieces()[:500], store, "full", "source", 25)
            for _ in range(10):
                group.start_soon(search)
        assert len(await store.asimilarity_search("piece 7", k=1_000)) == 500


@pytest.mark.anyio
async def test_a_store_of_another_model_is_refused(address: str, tmp_path: Path) -> None:
    """Also where there would be nothing to embed."""
    table, log = f"other_{uuid4().hex[:8]}", str(tmp_path / "embedded.txt")
    async with open_store(address, table, Noting(log)) as store:
        await aindex(pieces()[:3], store)
    async with open_store(address, table, Other(log)) as store:
        with pytest.raises(EmbeddingMismatch, match="Noting"):
            await aindex(pieces()[:3], store)
