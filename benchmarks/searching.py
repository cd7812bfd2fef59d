"""Searching vectors: hocket's stores beside numpy's bare product, and beside langchain-core's store in memory.

The vectors are random, of 384 numbers, as those of small models are; the ten nearest are asked for. Bare is what a search
cannot do without: the product of matrix and question, and the ten best of it, in order. It gives no documents. Products
are made by one thread: a second one of OpenBLAS's spins while it waits, which would be counted.
"""

import gc
import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from typing import Any

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Samples, Target, recording
from .library import PACKAGES, Library, library
from .table import Row, row_of

__all__ = ["CASES"]

SIZE = 384
MANY, FEW = 100_000, 20_000
BATCH = 5_000
K = 10
DOCUMENTS = 2_000


def exact(bench: Bench) -> Iterator[Row]:
    """The ten nearest of many, in memory and in a file."""
    count = MANY // 5 if bench.plan.quick else MANY
    rows, question = _make_vectors(count)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("memory", "SQLite"):

            def build(lib: Library, name: str = name) -> Body:
                return _search(lib, _open_store(lib, name, folder, rows, question), count)

            yield bench.compare(
                f"search {count:,} x {SIZE}, {name}",
                build,
                Target(3, over="bare"),
                bare=repeating(lambda: _search_bare(rows, question)),
                libraries=["hocket"],
            )


def few(bench: Bench) -> Iterator[Row]:
    """The ten nearest of some thousands, in both libraries' stores in memory."""
    count = FEW // 4 if bench.plan.quick else FEW
    rows, question = _make_vectors(count)

    def build(lib: Library) -> Body:
        embedding = _make_embedding(lib, rows, question)
        return _search(lib, lib.vectorstores.InMemoryVectorStore(embedding=embedding), count)

    # Of few vectors what surrounds the product is a larger part.
    yield bench.compare(
        f"search {count:,} x {SIZE}, memory",
        build,
        Target(0.05 if bench.plan.quick else 0.01),
        bare=repeating(lambda: _search_bare(rows, question)),
    )


def words(bench: Bench) -> Iterator[Row]:
    """A search by meaning and words: the documents have sixty words each, of five thousand."""
    count = FEW // 4 if bench.plan.quick else FEW
    rows, question = _make_vectors(count)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("memory", "SQLite"):

            def build(lib: Library, name: str = name) -> Body:
                return _search(lib, _open_store(lib, name, folder, rows, question), count, hybrid=True)

            yield bench.compare(f"hybrid search of {count:,}, {name}", build, None, libraries=["hocket"])


def memory(bench: Bench) -> Iterator[Row]:
    """Bytes for one document and its vector, in a store in memory; its text and metadata count."""
    rows, question = _make_vectors(DOCUMENTS)
    samples = Samples()
    for name in PACKAGES:
        with recording(samples, name):
            lib = library(name)
            store = lib.vectorstores.InMemoryVectorStore(embedding=_make_embedding(lib, rows, question))
            _fill(lib, store, 10)  # what is loaded and kept for all
            store.delete([str(number) for number in range(10)])
            gc.collect()
            tracemalloc.start()
            try:
                _fill(lib, store, DOCUMENTS)
                gc.collect()
                samples.micros[name] = [tracemalloc.get_traced_memory()[0] / DOCUMENTS]
            finally:
                tracemalloc.stop()
    yield row_of(bench.case, f"memory per document, {SIZE} numbers, of {DOCUMENTS:,}", samples, Target(0.25), "bytes")


def _make_vectors(count: int) -> tuple[Any, Any]:
    """Return vectors of length 1, and another one."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported
    import numpy as np

    made = np.random.default_rng(0).standard_normal((count + 1, SIZE), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made[1:], made[0]


def _search_bare(rows: Any, question: Any) -> Any:
    import numpy as np

    scores = rows @ question
    best = np.argpartition(scores, -K)[-K:]
    return best[np.argsort(-scores[best])]


def _make_embedding(lib: Library, rows: Any, question: Any) -> Any:
    """Return a model that knows its answers: a text begins with the number of its vector."""
    asked: list[float] = question.tolist()
    Base: Any = lib.embeddings.Embeddings

    class Known(Base):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [rows[int(text.partition(" ")[0])].tolist() for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return asked

        async def aembed_query(self, text: str) -> list[float]:
            return asked

    return Known()


def _open_store(lib: Library, name: str, folder: str, rows: Any, question: Any) -> Any:
    """Return an empty store, in memory or in a file."""
    embedding = _make_embedding(lib, rows, question)
    if name == "SQLite":
        return lib.vectorstores.SQLiteVectorStore(f"{folder}/vectors.db", embedding)
    return lib.vectorstores.InMemoryVectorStore(embedding)


def _search(lib: Library, store: Any, count: int, *, hybrid: bool = False) -> Body:
    """Fill a store, and return a body of searches in it."""
    _fill(lib, store, count)
    if hybrid:
        return awaiting(lambda: store.ahybrid_search("what do w17, w4711 and w99 mean?", k=K))
    return awaiting(lambda: store.asimilarity_search("which?", k=K))


def _fill(lib: Library, store: Any, count: int) -> None:
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))
        documents = [
            lib.documents.Document(page_content=_write_text(number), metadata={"number": number}) for number in numbers
        ]
        store.add_documents(documents, ids=[str(number) for number in numbers])


def _write_text(number: int) -> str:
    """Return a text of sixty words, which are no other text's in this order."""
    return f"{number} " + " ".join(f"w{(number * 7919 + place * place * 31) % 5_000}" for place in range(60))


CASES: dict[str, Case] = {"search": exact, "search-few": few, "search-words": words, "search-memory": memory}
