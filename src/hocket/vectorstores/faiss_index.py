"""Vectors in FAISS's inverted lists, a byte a number. The only module that imports FAISS.

Each vector is in the list of the centre that is nearest to it, and a search looks into the lists of the centres that are
nearest to the question. What it finds are candidates: a byte a number is not enough to score by, so the store counts their
cosines from the vectors themselves.

An index is a file that never changes. It is mapped, not read: opening takes some milliseconds whatever its size, the
processes of a machine share one copy in memory, and one that is deleted stays readable for who has it open.
"""

import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import faiss as typed_faiss
import numpy as np
from numpy.typing import NDArray

from hocket._databases.own_files import open_private
from hocket.vectorstores.rows import Row, clip_cosine

__all__ = ["FaissIndex", "FaissWriter", "count_centres", "score_rows"]

faiss: Any = typed_faiss
"""Its types do not know what Python adds to its classes: arrays for pointers, parameters for attributes."""

_VISITED = 128
"""Lists that a search looks into, at least: of the 4,000 of a million vectors 99 of 100 nearest ones are there."""

_FEWEST = 2_000
"""Vectors of those that are wanted that a search looks at, at least."""

_ROOM = 8
"""How many times as many vectors as are asked for it looks at, at least."""

_SAMPLE = 50
"""Vectors for each centre that it is placed by."""

_ROUNDS = 8

_MAPPED = 0 if sys.platform == "win32" else faiss.IO_FLAG_MMAP


def count_centres(count: int) -> int:
    """Return how many centres so many vectors have: neither these nor the lists are to be long."""
    return max(1, int(4 * count**0.5))


class FaissIndex:
    """An index file, open for searches of any number of threads at once.

    Args:
        path: of the file.

    Attributes:
        count: vectors in it.

    Raises:
        RuntimeError: it is not there, or none.
    """

    def __init__(self, path: str) -> None:
        index = faiss.read_index(path, _MAPPED)
        if not isinstance(index, faiss.IndexIVFScalarQuantizer):
            raise RuntimeError(f"{path} has another kind of index")
        lists = faiss.downcast_InvertedLists(index.invlists)
        if isinstance(lists, faiss.OnDiskInvertedLists):
            lists.prefetch_nthread = 0  # or each search would start threads
        self._index = index
        self.count: int = index.ntotal

    def search(
        self, row: Row, count: int, effort: float, wanted: Sequence[int] | NDArray[np.int64] | None
    ) -> tuple[list[int], bool]:
        """Return the numbers of about so many nearest documents, and whether there are no more in the index.

        Args:
            row: to compare with.
            count: documents at most.
            effort: how many times as many lists as usual to look into.
            wanted: the numbers of those that may be found; None: all.
        """
        lists: int = self._index.nlist
        asked = min(count, self.count)
        if not asked:
            return [], True
        among = self.count if wanted is None else max(1, min(len(wanted), self.count))
        share = max(_FEWEST, _ROOM * asked) / among
        visited = min(lists, math.ceil(effort * max(_VISITED, lists * share)))
        parameters = faiss.SearchParametersIVF(nprobe=visited, **_select(wanted))
        _, found = self._index.search(np.frombuffer(row, np.float32)[None], asked, params=parameters)
        numbers: list[int] = found[0][found[0] >= 0].tolist()
        return numbers, visited == lists and (len(numbers) < asked or asked == self.count)


def _select(wanted: Sequence[int] | NDArray[np.int64] | None) -> dict[str, Any]:
    """Return the argument of FAISS that limits a search to some numbers: a bit for each."""
    if wanted is None:
        return {}
    numbers = np.asarray(wanted, np.int64)
    marks = np.zeros(int(numbers.max(initial=0)) + 1, np.bool_)
    marks[numbers] = True
    return {"sel": faiss.IDSelectorBitmap(np.packbits(marks, bitorder="little"))}


class FaissWriter:
    """Makes the file of an index.

    Args:
        path: of an index that it begins with; None: a new one.
        sample: vectors that a new one's centres are placed by.
        count: vectors that a new one is to have, about.
    """

    def __init__(self, path: str | None, sample: Sequence[Row] = (), count: int = 0) -> None:
        if path is not None:
            self._index = faiss.read_index(path)
            return
        rows = _stack(sample)
        size = rows.shape[1]
        centres = faiss.IndexFlatIP(size)
        self._index = faiss.IndexIVFScalarQuantizer(
            centres,
            size,
            min(count_centres(count), len(rows)),
            faiss.ScalarQuantizer.QT_8bit,
            faiss.METRIC_INNER_PRODUCT,
        )
        self._index.cp.niter = _ROUNDS
        self._index.cp.min_points_per_centroid = 1
        self._index.cp.max_points_per_centroid = _SAMPLE
        self._index.train(rows)

    def keep(self, numbers: Iterable[int]) -> None:
        """Drop what has none of these numbers."""
        kept = np.fromiter(numbers, np.int64)
        self._index.remove_ids(faiss.IDSelectorNot(_select(kept)["sel"]))

    def append(self, numbers: Sequence[int], rows: Sequence[Row]) -> None:
        """Add vectors under their documents' numbers."""
        self._index.add_with_ids(_stack(rows), np.asarray(numbers, np.int64))

    def write(self, path: str) -> int:
        """Write the file, for its owner alone, flushed to the disk; return how many vectors are in it."""
        file = open_private(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        try:
            faiss.write_index(self._index, path)
            os.fsync(file)
        finally:
            os.close(file)
        return int(self._index.ntotal)


def _stack(rows: Sequence[Row]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(rows), np.float32).reshape(len(rows), -1)


def score_rows(row: Row, rows: Sequence[Row]) -> list[float]:
    """Return the cosines of vectors with ``row``; those of equal vectors are equal."""
    if not rows:
        return []
    products = _stack(rows).astype(np.float64) * np.frombuffer(row, np.float32)
    return [clip_cosine(score) for score in products.sum(axis=1).tolist()]
