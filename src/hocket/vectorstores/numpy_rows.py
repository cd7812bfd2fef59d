"""Vectors in one matrix of numpy's. The only module that imports it.

One search at a time is computed in a process. The library below numpy puts all cores to work on a product; sixty at once
would have each of its threads wait for those of the others, and take twenty times as long as one after another.
"""

import threading
from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hocket._runtime.fork import free_at_fork
from hocket.vectorstores.rows import Row, clip_cosine

__all__ = ["NumpyRows"]

_NEAR = 1e-5
"""Scores in 32 bits that differ by less are computed again in 64: equal vectors must get equal scores."""

_MOST_AGAIN = 4_096

_FEW = 8
"""Where less than one in so many rows takes part, these are copied and compared alone."""


_turn = free_at_fork(threading.Lock())


class NumpyRows:
    """Vectors of one size. The matrix grows by half of itself at least, so that to append is cheap.

    Args:
        size: numbers in a vector.
        room: for so many vectors at first, and a quarter more, so that the next one moves none of them.
    """

    def __init__(self, size: int, room: int = 0) -> None:
        self._matrix: NDArray[np.float32] = np.empty((room + room // 4, size), np.float32)
        self._count = 0

    def append(self, rows: Iterable[Row]) -> None:
        """Add vectors at the end."""
        made = np.frombuffer(b"".join(rows), np.float32).reshape(-1, self._matrix.shape[1])
        if not len(made):
            return
        end = self._count + len(made)
        if end > len(self._matrix):
            grown = np.empty((max(end, 3 * len(self._matrix) // 2), self._matrix.shape[1]), np.float32)
            grown[: self._count] = self._matrix[: self._count]
            self._matrix = grown
        self._matrix[self._count : end] = made
        self._count = end

    def read(self, number: int) -> Row:
        """Return one of the vectors."""
        return array("f", self._matrix[number].tobytes())

    def search(self, row: Row, k: int, alive: bytes) -> list[tuple[int, float]]:
        """Return the nearest; see `Rows.search`."""
        with _turn:
            return self._search(row, k, alive)

    def _search(self, row: Row, k: int, alive: bytes) -> list[tuple[int, float]]:
        matrix, vector = self._matrix[: len(alive)], np.frombuffer(row, np.float32)
        among = np.flatnonzero(np.frombuffer(alive, np.uint8))
        wanted = min(k, len(among))
        if not wanted:
            return []
        scores = matrix[among] @ vector if len(among) * _FEW < len(alive) else (matrix @ vector)[among]
        least = np.partition(scores, -wanted)[-wanted]
        near = np.flatnonzero(scores >= least - _NEAR)
        if len(near) > wanted + _MOST_AGAIN:
            near = np.sort(near[np.argsort(-scores[near], kind="stable")[: wanted + _MOST_AGAIN]])
        near = among[near]
        exact = (matrix[near].astype(np.float64) * vector).sum(axis=1)
        best = np.argsort(-exact, kind="stable")[:wanted]
        return [(int(near[place]), clip_cosine(float(exact[place]))) for place in best]
