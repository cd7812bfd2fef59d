"""Vectors in FAISS's inverted lists, a byte a number. The only module that imports FAISS.

Each vector is in the list of the centre that is nearest to it, and a search looks into the lists of the centres that are
nearest to the question. What it finds are candidates: a byte a number is too little to score by.

An index is a file that never changes, and is mapped: opening takes some milliseconds whatever its size, the processes of a
machine share one copy in memory, and one that was deleted can be read by who has it open.
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

__all__ = ["FaissIndex", "FaissWriter", "score_rows"]

faiss: Any = typed_faiss
"""Its types do not know what Python adds to its classes: arrays for pointers, parameters for attributes."""

_VISITED = 128
"""Lists that a search looks into, at least: of the 4,000 of a million vectors 99 of 100 nearest ones are there."""

_FEWEST, _ROOM = 2_000, 8
"""Vectors of those that are wanted that a search looks at, at least; and for each document that is asked for."""

_SAMPLE, _ROUNDS = 50, 8
"""Vectors for each centre that it is placed by, and how often it is moved."""


class FaissIndex:
    """An index file, open for searches of any number of threads at once.

    Raises:
        RuntimeError: it is not there, or none.
    """

    def __init__(self, path: str) -> None:
        self._index = faiss.read_index(path, 0 if sys.platform == "win32" else faiss.IO_FLAG_MMAP)
        lists = faiss.downcast_InvertedLists(self._index.invlists)
        if isinstance(lists, faiss.OnDiskInvertedLists):
            lists.prefetch_nthread = 0  # or each search would start threads

    def search(self, row: Row, count: int, effort: int, wanted: Sequence[int] | None) -> tuple[list[int], bool]:
        """Return the numbers of the nearest documents, and whether there are no more in the index.

        Args:
            row: to compare with.
            count: documents at most.
            effort: how many times as many lists as usual to look into.
            wanted: the numbers of those that may be found; None: all.
        """
        total, lists = self._index.ntotal, self._index.nlist
        asked = min(count, total)
        among = total if wanted is None else max(1, min(len(wanted), total))
        visited = min(lists, math.ceil(effort * max(_VISITED, lists * max(_FEWEST, _ROOM * asked) / max(among, 1))))
        parameters = faiss.SearchParametersIVF(nprobe=visited, sel=None if wanted is None else _select(wanted))
        _, found = self._index.search(np.frombuffer(row, np.float32)[None], max(asked, 1), params=parameters)
        numbers = found[0][found[0] >= 0].tolist()
        return numbers, visited == lists and (len(numbers) < asked or asked == total)


def _select(wanted: Iterable[int]) -> Any:
    """Return what limits FAISS to some numbers: a bit for each."""
    numbers = np.fromiter(wanted, np.int64)
    marks = np.zeros(int(numbers.max(initial=0)) + 1, np.bool_)
    marks[numbers] = True
    return faiss.IDSelectorBitmap(np.packbits(marks, bitorder="little"))


class FaissWriter:
    """Makes the file of an index.

    Args:
        begun: the file of an index that it goes on from, or vectors by which the centres of a new one are placed.
    """

    def __init__(self, begun: str | Sequence[Row]) -> None:
        if isinstance(begun, str):
            self._index = faiss.read_index(begun)
            return
        rows = _stack(begun)
        size, kind = rows.shape[1], faiss.ScalarQuantizer.QT_8bit
        centres = faiss.IndexFlatIP(size)
        self._index = faiss.IndexIVFScalarQuantizer(
            centres, size, max(1, len(rows) // _SAMPLE), kind, faiss.METRIC_INNER_PRODUCT
        )
        self._index.cp.niter = _ROUNDS
        self._index.cp.min_points_per_centroid = 1
        self._index.cp.max_points_per_centroid = 2 * _SAMPLE
        self._index.train(rows)

    def keep(self, numbers: Iterable[int]) -> None:
        """Drop what has none of these numbers."""
        self._index.remove_ids(faiss.IDSelectorNot(_select(numbers)))

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
    products = _stack(rows).astype(np.float64) * np.frombuffer(row, np.float32) if rows else np.zeros((0, 1))
    return [clip_cosine(score) for score in products.sum(axis=1).tolist()]
