"""Stores of very many passages, each in a process of its own: ``python -m benchmarks.passage_stores NAME STEP FOLDER``.

``build`` makes the store in the folder of the vectors, and prints how long that took; ``search`` opens it and prints what
its searches found and cost, as JSON. What a library keeps in memory is measured from where it has been imported. Products
are made by one thread: a second one of OpenBLAS's spins while it waits, which would be counted.
"""

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["LOTS", "STORES", "Store", "explain_absence_of", "write_text"]

K = 10
LOTS = 100
"""Filters leave one of so many documents."""

BATCH = 5_000
PROBES = 128
"""Lists of an index that a search looks through, as hocket's does."""


def count_lists(vectors: int) -> int:
    """Return how many lists of near vectors an index has, as hocket's has."""
    return max(1, int(4 * vectors**0.5))


class Store:
    """What all have: vectors by number in a file, questions, and texts that the documents' are made of."""

    modules: Sequence[str] = ()

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self.vectors: Any = np.load(folder / "vectors.npy", mmap_mode="r")
        self.questions: Any = np.load(folder / "questions.npy")
        self.texts: list[str] = json.loads((folder / "texts.json").read_text())
        self.place = folder / f"store-{type(self).__name__}"

    def parts(self) -> Iterator[tuple[range, Any]]:
        """Yield numbers and vectors, some thousands at a time."""
        for start in range(0, len(self.vectors), BATCH):
            numbers = range(start, min(start + BATCH, len(self.vectors)))
            yield numbers, self.vectors[numbers.start : numbers.stop]

    def build(self) -> None:
        """Make the store."""
        raise NotImplementedError

    def open(self) -> dict[str, Callable[[int], list[int]]]:
        """Open it; return its searches, each from the number of a question to the numbers of documents."""
        raise NotImplementedError


def write_text(texts: list[str], number: int) -> str:
    """Return the text of a document: its number, and parts of two texts."""
    first, second = texts[number % len(texts)], texts[(number * 7919 + number // len(texts)) % len(texts)]
    return f"{number}: {first[:160]} {second[160:]}"


class Hocket(Store):
    """hocket's store, with documents that have a text of fifty words and three keys."""

    modules = ("hocket.vectorstores.faiss_index", "hocket.vectorstores.faiss")

    def _store(self) -> Any:
        from hocket.embeddings import Embeddings
        from hocket.vectorstores import FAISSVectorStore

        vectors, questions = self.vectors, self.questions

        class Known(Embeddings):
            model = "known"

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [vectors[int(text.partition(":")[0])].tolist() for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return list(map(float, questions[int(text.partition(":")[0])]))

            async def aembed_query(self, text: str) -> list[float]:
                return self.embed_query(text)

        return FAISSVectorStore(self.place / "passages.db", Known())

    def build(self) -> None:
        """Add all documents, then place the centres for all of them."""
        from hocket.documents import Document

        store = self._store()
        for numbers, _ in self.parts():
            facts = ({"lot": number % LOTS, "tenth": number % 10, "source": f"{number // 50}.md"} for number in numbers)
            texts = (write_text(self.texts, number) for number in numbers)
            documents = [Document(text, metadata=one) for text, one in zip(texts, facts, strict=True)]
            store.add_documents(documents, ids=[str(number) for number in numbers])
        store.create_index()

    def open(self) -> dict[str, Callable[[int], list[int]]]:
        """Open it, and search once."""
        store, loop = self._store(), asyncio.new_event_loop()
        asked = json.loads((self.place.parent / "asked.json").read_text())

        def search(verb: Any, **options: Any) -> Callable[[int], list[int]]:
            def go(number: int) -> list[int]:
                found = loop.run_until_complete(verb(f"{number}: {asked[number][:100]}", k=K, **options))
                return [int(one.id) for one in found]

            return go

        searches = {
            "plain": search(store.asimilarity_search),
            "filter": search(store.asimilarity_search, filter={"lot": 7}),
            "hybrid": search(store.ahybrid_search),
        }
        searches["plain"](0)
        return searches


class FAISS(Store):
    """The same index, without documents: all of it in memory."""

    modules = ("faiss",)

    def build(self) -> None:
        """Train on a sample, and add all."""
        import faiss
        import numpy as np

        library: Any = faiss
        size, lists = self.vectors.shape[1], count_lists(len(self.vectors))
        kind, metric = library.ScalarQuantizer.QT_8bit, library.METRIC_INNER_PRODUCT
        index = library.IndexIVFScalarQuantizer(library.IndexFlatIP(size), size, lists, kind, metric)
        index.cp.niter, index.cp.max_points_per_centroid = 8, 50
        chosen = np.random.default_rng(0).choice(len(self.vectors), min(len(self.vectors), 50 * lists), replace=False)
        index.train(np.ascontiguousarray(self.vectors[np.sort(chosen)]))
        for _, rows in self.parts():
            index.add(np.ascontiguousarray(rows))
        self.place.mkdir()
        library.write_index(index, str(self.place / "index"))

    def open(self) -> dict[str, Callable[[int], list[int]]]:
        """Read it."""
        import faiss

        index: Any = faiss.read_index(str(self.place / "index"))
        index.nprobe = PROBES
        return {"plain": lambda number: index.search(self.questions[number][None], K)[1][0].tolist()}


class LanceDB(Store):
    """LanceDB with the same kind of index, and one over the numbers of lots. (Its IVF-PQ takes over 15 minutes here.)"""

    modules = ("lancedb",)

    def build(self) -> None:
        """Add all, then make the indexes."""
        import lancedb
        import pyarrow as pa

        size = self.vectors.shape[1]
        types = [("number", pa.int64()), ("lot", pa.int64()), ("text", pa.string())]
        schema = pa.schema([*types, ("vector", pa.list_(pa.float32(), size))])
        table = lancedb.connect(self.place).create_table("passages", schema=schema)
        for numbers, rows in self.parts():
            columns = {
                "number": list(numbers),
                "lot": [number % LOTS for number in numbers],
                "text": [write_text(self.texts, number) for number in numbers],
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), size),
            }
            table.add(pa.table(columns, schema=schema))
        lists = count_lists(len(self.vectors))
        kind = lancedb.index.IvfSq(distance_type="cosine", num_partitions=lists, max_iterations=8, sample_rate=50)
        table.create_index("vector", config=kind)
        table.create_index("lot", config=lancedb.index.BTree())

    def open(self) -> dict[str, Callable[[int], list[int]]]:
        """Open it, and search once."""
        import lancedb

        table = lancedb.connect(self.place).open_table("passages")

        def search(number: int, where: str | None = None) -> list[int]:
            query = table.search(self.questions[number]).distance_type("cosine").nprobes(PROBES).refine_factor(2)
            query = query.where(where, prefilter=True) if where else query
            found = query.select(["number", "text", "_distance"]).limit(K).to_arrow()
            return list(found["number"].to_pylist())

        search(0)
        return {"plain": search, "filter": lambda number: search(number, "lot = 7")}


class Chroma(Store):
    """Chroma in this process, with its HNSW index."""

    modules = ("chromadb",)

    def build(self) -> None:
        """Add all."""
        import chromadb

        client = chromadb.PersistentClient(str(self.place))
        passages = client.create_collection("passages", configuration={"hnsw": {"space": "cosine", "ef_search": 200}})
        for numbers, rows in self.parts():
            passages.add(
                ids=[str(number) for number in numbers],
                embeddings=rows,
                documents=[write_text(self.texts, number) for number in numbers],
                metadatas=[{"lot": number % LOTS} for number in numbers],
            )

    def open(self) -> dict[str, Callable[[int], list[int]]]:
        """Open it, and search once."""
        import chromadb

        passages = chromadb.PersistentClient(str(self.place)).get_collection("passages")

        def search(number: int, where: Any = None) -> list[int]:
            found = passages.query(query_embeddings=[self.questions[number]], n_results=K, where=where)
            return [int(one) for one in found["ids"][0]]

        search(0)
        return {"plain": search, "filter": lambda number: search(number, {"lot": 7})}


STORES: dict[str, type[Store]] = {"hocket": Hocket, "FAISS": FAISS, "LanceDB": LanceDB, "Chroma": Chroma}


def explain_absence_of(name: str) -> str | None:
    """Return why a store cannot be measured; None: it can be."""
    package = "faiss" if name == "hocket" else STORES[name].modules[0]
    return None if find_spec(package) else f"{package} is not installed"


def _read_memory() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _search(store: Store) -> dict[str, Any]:
    """Return what each search found, its seconds and CPU seconds, and what is kept in memory."""
    for module in store.modules:
        import_module(module)
    memory, began = _read_memory(), time.perf_counter()
    searches = store.open()
    report: dict[str, Any] = {"opening": time.perf_counter() - began}
    for number in range(-min(20, len(store.questions)), len(store.questions)):  # the first ones do not count
        for name, search in searches.items():  # by turns, for the machine is faster now and slower then
            began, cpu = time.perf_counter(), time.process_time()
            found = search(number)
            taken = {"found": found, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
            if number >= 0:
                report.setdefault(name, []).append(taken)
    return {**report, "memory": _read_memory() - memory}


def main() -> None:
    """Do one step, and print a line of JSON."""
    name, step, folder = sys.argv[1:]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported
    store = STORES[name](Path(folder))
    if step == "search":
        print(json.dumps(_search(store)))
        return
    shutil.rmtree(store.place, ignore_errors=True)
    began, cpu = time.perf_counter(), time.process_time()
    store.build()
    disk = sum(file.stat().st_size for file in store.place.rglob("*") if file.is_file())
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "disk": disk}))


if __name__ == "__main__":
    main()
