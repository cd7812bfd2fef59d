"""A million passages in hocket's store with an index, beside FAISS, LanceDB and Chroma alone.

The vectors are those of 21,000 real passages (docstrings of what is installed) by the embedded model, spread by mixing
neighbours; the questions are a thousand other passages. A quick run has 24,000 vectors that are made up, and hocket alone.
Each store has a process of its own, and what it finds is compared with the product of all vectors. Linux only.
"""

import ast
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .bench import Bench, Case
from .harness import Target
from .passage_stores import STORES, explain_absence_of
from .table import Row

__all__ = ["CASES"]

ROOT = Path(__file__).parents[1]
CACHE = Path.home() / ".cache" / "hocket-benchmarks"
MANY, PASSAGES, QUESTIONS = 1_000_000, 22_000, 1_000
FEW, MADE_UP, ASKED = 24_000, 1_000, 100
SIZE = 384
PATIENCE = 1800
"""Seconds that a store may take to be built."""

K = 10
KILLS = 5
NEIGHBOURS = 16
PART = 320  # characters of a passage

ADDING = """
import sys
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.vectorstores import FAISSVectorStore, faiss

faiss.SMALLEST = faiss.TAIL = 500  # so that indexes are made all the time
store = FAISSVectorStore(sys.argv[1], DeterministicFakeEmbedding(size=64))
for number in range(int(sys.argv[2]), 1_000_000):
    ids = [f"{number} {part}" for part in range(100)]
    store.add_texts(ids, ids=ids)
    print(number, flush=True)
"""


def passages(bench: Bench) -> Iterator[Row]:
    """What is found, how fast, and what it takes."""
    absences = {store: explain_absence_of(store) for store in STORES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not absences["hocket"]:
            _make_vectors(folder, bench.plan.quick)
        for store in ["hocket"] if bench.plan.quick else STORES:
            if reason := absences["hocket"] or absences[store]:
                yield Row(bench.case, store, skipped=reason)
            else:
                yield from _measure(bench, store, folder)


def killed(bench: Bench) -> Iterator[Row]:
    """Documents that were added and are not there, after ``kill -9`` while more are added and indexes are made."""
    if reason := explain_absence_of("hocket"):
        yield Row(bench.case, "documents lost", skipped=reason)
        return
    from hocket.embeddings import DeterministicFakeEmbedding
    from hocket.vectorstores import FAISSVectorStore

    chance, kills = random.Random(0), 2 if bench.plan.quick else KILLS
    added: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/killed.db"
        for kill in range(kills):
            command = [sys.executable, "-c", ADDING, path, str(1_000 * kill)]
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            seen = [process.stdout.readline() for _ in range(chance.randrange(8, 20))]
            time.sleep(chance.random() / 5)
            process.send_signal(signal.SIGKILL)
            seen += process.communicate()[0].splitlines()
            added += [f"{int(line)} {part}" for line in seen if line for part in range(100)]
        with FAISSVectorStore(path, DeterministicFakeEmbedding(size=64)) as store:
            found = {one.id for one in store.get_by_ids(added)}
            searched = {one.id for one in store.similarity_search("0 0", k=2 * len(added))}
    lost = len(set(added) - (found & searched))
    yield Row(
        bench.case, f"lost of {len(added):,} documents, {kills} kills", "", float(lost), target=Target(0, over=None)
    )


def _measure(bench: Bench, store: str, folder: Path) -> Iterator[Row]:
    """Build a store and search it; hocket's figures have targets, unless the run is a quick one."""
    import numpy as np

    nearest = np.load(folder / "nearest.npy")
    count, size = np.load(folder / "vectors.npy", mmap_mode="r").shape
    what = f"{store}, {count:,} x {size}"
    try:
        built, searched = _run(store, "build", folder), _run(store, "search", folder)
    except subprocess.TimeoutExpired:
        yield Row(bench.case, what, skipped=f"it was not built in {PATIENCE} s")
        return

    def row(figure: str, unit: str, value: float, limit: float | None = None, *, at_least: bool = False) -> Row:
        target = None if limit is None or store != "hocket" or bench.plan.quick else Target(limit, None, at_least)
        mine, others = (value, None) if store == "hocket" else (None, value)
        return Row(bench.case, f"{what}: {figure}", unit, hocket=mine, peer=others, target=target)

    plain = searched["plain"]
    hits = sum(len({*one["found"]} & {*best}) for one, best in zip(plain, nearest.tolist(), strict=True))

    def median(name: str, figure: str) -> float:
        return statistics.median(one[figure] for one in searched[name])

    yield row(f"recall of {K}", "share", hits / nearest.size, 0.97, at_least=True)
    yield row("search, median", "ms", 1e3 * median("plain", "seconds"), 10)
    yield row("search, CPU", "ms", 1e3 * median("plain", "cpu"))
    for name in ("filter", "hybrid"):
        if name in searched:
            yield row(f"{name}, median", "ms", 1e3 * median(name, "seconds"))
            yield row(f"{name}, CPU ÷ a search's", "times", median(name, "cpu") / median("plain", "cpu"), 3)
    yield row("memory ÷ the vectors'", "times", searched["memory"] / (4 * count * size), 0.6)
    yield row("opening", "s", searched["opening"], 1)
    yield row("building", "s", built["seconds"])
    yield row("building, CPU", "s", built["cpu"])
    yield row("on the disk", "MB", built["disk"] / 1e6)


def _run(store: str, step: str, folder: Path) -> Any:
    """Return what a store's process reports."""
    command = [sys.executable, "-m", "benchmarks.passage_stores", store, step, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{store}, {step}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


# -- vectors


def _make_vectors(folder: Path, quick: bool) -> None:
    """Write vectors, questions, their nearest vectors, and texts."""
    import numpy as np

    if quick:
        texts = [f"passage {number} about w{number % 97} and w{number % 89}" for number in range(MADE_UP)]
        made = np.random.default_rng(1).standard_normal((MADE_UP, 32), dtype=np.float32)
        known = made @ np.random.default_rng(2).standard_normal((32, SIZE), dtype=np.float32)
        known /= np.linalg.norm(known, axis=1, keepdims=True)
    else:
        texts, known = _embed_passages()
    asked = ASKED if quick else QUESTIONS
    (folder / "asked.json").write_text(json.dumps(texts[:asked]))
    (folder / "texts.json").write_text(json.dumps(texts[asked:]))
    np.save(folder / "questions.npy", known[:asked])
    vectors = _mix(folder / "vectors.npy", known[asked:], FEW if quick else MANY)
    np.save(folder / "nearest.npy", _find_nearest(vectors, known[:asked]))


def _embed_passages() -> tuple[list[str], Any]:
    """Return real passages and their vectors, which are kept for the next run: it takes some minutes."""
    import numpy as np

    from hocket import init_embeddings

    kept = CACHE / f"passages-{PASSAGES}.npz"
    if kept.exists():
        with np.load(kept) as file:
            return file["texts"].tolist(), file["vectors"]
    found = _list_passages()
    texts = random.Random(0).sample(sorted(found), PASSAGES)
    vectors = np.array(init_embeddings("local").embed_documents(texts), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    np.savez(kept, texts=np.array(texts), vectors=vectors)
    return texts, vectors


def _list_passages() -> set[str]:
    """Return parts of the docstrings of Python's library and of what is installed, somewhat more than are needed."""
    folders = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    files = sorted({file for folder in folders for file in folder.rglob("*.py")})
    random.Random(0).shuffle(files)
    found: set[str] = set()
    for file in files:
        try:
            tree = ast.parse(file.read_text())
        except (SyntaxError, ValueError, OSError, RecursionError):
            continue
        nodes = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef | ast.Module)]
        for text in filter(None, map(ast.get_docstring, nodes[:40])):
            plain = re.sub(r"[\s\0]+", " ", text).strip()
            parts = (plain[start : start + PART] for start in range(0, len(plain), PART))
            found |= {part for part in parts if len(part) > 100 and part.isprintable()}
        if len(found) > 1.1 * PASSAGES:
            break
    return found


def _mix(path: Path, known: Any, count: int) -> Any:
    """Write as many vectors as are wanted: the known ones, and mixtures of one and two of its neighbours."""
    import numpy as np

    chance = np.random.default_rng(0)
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, (count, known.shape[1]))
    vectors[: len(known)] = known
    near = np.concatenate([np.argpartition(-(part @ known.T), NEIGHBOURS)[:, :NEIGHBOURS] for part in _cut(known)])
    for start in range(len(known), count, 20_000):
        made = min(20_000, count - start)
        own = chance.integers(0, len(known), made)
        others = near[own[:, None], chance.integers(0, NEIGHBOURS, (made, 2))]
        shares = chance.dirichlet([1, 1, 1], made).astype(np.float32)
        rows = shares[:, :1] * known[own] + shares[:, 1:2] * known[others[:, 0]] + shares[:, 2:] * known[others[:, 1]]
        rows += chance.standard_normal(rows.shape, dtype=np.float32) * (0.15 / rows.shape[1] ** 0.5)
        vectors[start : start + made] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    vectors.flush()
    return vectors


def _find_nearest(vectors: Any, questions: Any) -> Any:
    """Return the numbers of the nearest vectors of each question."""
    import numpy as np

    scores, numbers = [], []
    for place, part in enumerate(_cut(vectors)):
        products = questions @ part.T
        best = np.argpartition(-products, K)[:, :K]
        scores.append(np.take_along_axis(products, best, 1))
        numbers.append(best + 20_000 * place)
    order = np.argsort(-np.hstack(scores), axis=1)[:, :K]
    return np.take_along_axis(np.hstack(numbers), order, 1)


def _cut(vectors: Any) -> Iterator[Any]:
    for start in range(0, len(vectors), 20_000):
        yield vectors[start : start + 20_000]


CASES: dict[str, Case] = {"passages": passages, "passages-killed": killed}
