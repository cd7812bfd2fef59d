"""Indexing documents again that are in the store already, beside langchain-core's `index` with its record manager.

Both stores are in memory, and the embedding model does next to nothing: what is measured is how a document is found to be
there. LangChain looks for a hash (its default, SHA-1 within a UUID) of text and metadata in the record manager; hocket asks
the store for the document itself.
"""

import warnings
from collections.abc import Iterator
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Body, Target
from .library import Library
from .table import Row

__all__ = ["CASES"]

DOCUMENTS = 10_000
SOURCES = 100
"""Each has as many documents as the others."""


def again(bench: Bench) -> Iterator[Row]:
    """Nothing has changed."""
    count = DOCUMENTS // 10 if bench.plan.quick else DOCUMENTS
    for cleanup in (None, "incremental", "full"):

        def build(lib: Library, cleanup: str | None = cleanup) -> Body:
            index = _indexing(lib, count, cleanup)
            index()
            return repeating(index)

        yield bench.compare(
            f"{count:,} documents again, cleanup={cleanup}, per document", build, Target(0.5), per=count
        )


def changed(bench: Bench) -> Iterator[Row]:
    """All metadata have changed, and no text has."""
    count = DOCUMENTS // 10 if bench.plan.quick else DOCUMENTS

    def build(lib: Library) -> Body:
        return repeating(_indexing(lib, count, None, changes=True))

    yield bench.compare(f"{count:,} documents, other metadata, per document", build, None, per=count)


def _indexing(lib: Library, count: int, cleanup: str | None, changes: bool = False) -> Any:
    """Return a function that indexes the same documents each time; with ``changes``, with a number that differs."""
    Base: Any = lib.embeddings.Embeddings

    class Quick(Base):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, float(len(text))] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, float(len(text))]

    store = lib.vectorstores.InMemoryVectorStore(Quick())
    options: dict[str, Any] = {"cleanup": cleanup, "source_id_key": "source"}
    where: tuple[Any, ...] = (store,)
    if lib.name == "langchain":
        where = (lib.indexing.InMemoryRecordManager("benchmark"), store)
        where[0].create_schema()
        warnings.filterwarnings("ignore", message="Using SHA-1")
    times = 0

    def index() -> Any:
        nonlocal times
        if changes:
            times += 1
            for document in documents:
                document.metadata["run"] = times
        return lib.indexing.index(documents, *where, **options)

    documents = [
        lib.documents.Document(
            page_content=f"{number}: " + "Bleed the boiler in May. " * 20,
            metadata={"source": f"{number * SOURCES // count}.txt", "run": times},
        )
        for number in range(count)
    ]
    return index


CASES: dict[str, Case] = {"index-again": again, "index-changed": changed}
