"""Vectors in memory, searched one and all: exact, and as fast as the memory can be read.

A row is a vector of length 1, in 32-bit floats; the cosine is then a product. With numpy (``pip install 'hocket[vectors]'``)
all products are one call, 10 ms for 100,000 vectors of 384 numbers; without it they are made in Python, 0.1 s for 5,000.

Rows are never changed, only appended: a search in another thread works on those that were there when it began.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

__all__ = ["Row", "Rows", "clip_cosine", "normalize"]

Row: TypeAlias = "array[float]"
"""A vector of length 1, in 32-bit floats."""


class Rows(Protocol):
    """Vectors of one size, numbered from 0."""

    def append(self, rows: Iterable[Row]) -> None:
        """Add vectors at the end."""
        ...

    def read(self, number: int) -> Row:
        """Return one of the vectors."""
        ...

    def search(self, row: Row, k: int, alive: bytes) -> list[tuple[int, float]]:
        """Return the numbers and scores of the ``k`` rows that are nearest to ``row``, best first, then by number.

        Args:
            row: to compare with.
            k: rows at most.
            alive: a byte for each row that takes part in the search: 1, or 0 for one that is left out.
        """
        ...


_AS_GOOD_AS_1 = 1e-6


def normalize(vector: Sequence[float]) -> Row:
    """Return the vector of length 1 in the same direction; one that has it already, as 32-bit floats do, stays as it is."""
    length = math.hypot(*vector)
    if abs(length - 1) < _AS_GOOD_AS_1:
        return array("f", vector)
    return array("f", [number / length for number in vector])


def clip_cosine(score: float) -> float:
    """Return a cosine that rounding may have driven out of its range, back in it."""
    return max(-1.0, min(1.0, score))
