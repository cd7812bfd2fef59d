"""Which collection of vectors is made: numpy's, where it is installed, or one of Python alone, which is fine for some
thousands.
"""

import heapq
import operator
from collections.abc import Iterable

from hocket.vectorstores.rows import Row, Rows, clip_cosine

__all__ = ["PlainRows", "make_rows"]


def make_rows(size: int, room: int = 0) -> Rows:
    """Return an empty collection of vectors of ``size`` numbers, with room for some."""
    try:
        from hocket.vectorstores.numpy_rows import NumpyRows  # numpy takes a tenth of a second to load
    except ImportError:
        return PlainRows()
    return NumpyRows(size, room)


class PlainRows:
    """Vectors of Python alone."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def append(self, rows: Iterable[Row]) -> None:
        """Add vectors at the end."""
        self._rows.extend(rows)

    def read(self, number: int) -> Row:
        """Return one of the vectors."""
        return self._rows[number][:]

    def search(self, row: Row, k: int, alive: bytes) -> list[tuple[int, float]]:
        """Return the nearest; see `Rows.search`."""
        rows, vector = self._rows, row.tolist()
        scores = (
            (clip_cosine(sum(map(operator.mul, rows[number], vector))), -number)
            for number, one in enumerate(alive)
            if one
        )
        return [(-number, score) for score, number in heapq.nlargest(k, scores)]
