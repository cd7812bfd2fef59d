"""The vectors of a database in memory, brought up to date before each search: only what is new is read.

Documents have numbers that grow and are never used again; one that is replaced gets a new number. So whatever has a greater
number than the last one is new, and what is gone is known by comparing numbers, which is done when something was deleted.
"""

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hocket.vectorstores.columns import Columns, join_masks
from hocket.vectorstores.filters import Condition
from hocket.vectorstores.matrix import make_rows
from hocket.vectorstores.rows import Row, Rows

__all__ = ["CachedRows", "RowsView"]


class RowsView(NamedTuple):
    """What one search works on, while others bring the cache up to date.

    Attributes:
        numbers: of the documents, by place.
        rows: their vectors, by place; more may come behind.
        alive: a byte for each place: 0 for a document that is gone.
        columns: of their metadata, by place.
    """

    numbers: "array[int]"
    rows: Rows
    alive: bytes
    columns: Columns

    def limit(self, condition: Condition, read: Callable[[str, Sequence[int]], Iterable[object]]) -> "RowsView":
        """Return a view of those that meet a condition.

        Args:
            condition: on their metadata.
            read: returns what the documents with these numbers have under a key.
        """
        count = len(self.alive)
        met = self.columns.find(condition, count, lambda key, start: read(key, self.numbers[start:count]))
        return self._replace(alive=join_masks([self.alive, met]))

    def search(self, row: Row, k: int) -> list[tuple[int, float, Row]]:
        """Return number, score and vector of the ``k`` nearest documents, best first."""
        found = self.rows.search(row, k, self.alive)
        return [(self.numbers[place], score, self.rows.read(place)) for place, score in found]


class CachedRows:
    """The vectors of one size, ordered by the numbers of their documents. One thread at a time changes it.

    Args:
        size: numbers in a vector.
        changes: how often a vector was changed that was there.
        removals: how often documents were deleted, as far as it knows.
        room: for so many vectors at first.
        first: the number of the document behind which it begins.

    Attributes:
        last: the greatest number in it.
        removals: see above.
    """

    def __init__(self, size: int, changes: int, removals: int, room: int, first: int = 0) -> None:
        self.last: int = first
        self.removals: int = removals
        self._made_for = (os.getpid(), size, changes)
        self._numbers: array[int] = array("q")
        self._alive = bytearray()
        self._rows = make_rows(size, room)
        self._columns = Columns()

    def fits(self, size: int, changes: int) -> bool:
        """Whether it can be brought up to date; else it is built again: vectors in it have changed, it is a parent
        process's, which may have been at work on it when it forked, or most of it is gone."""
        is_mostly_dead = len(self._alive) > 2 * self._alive.count(1) + 1_000
        return self._made_for == (os.getpid(), size, changes) and not is_mostly_dead

    def append(self, numbers: Sequence[int], rows: Sequence[Row]) -> None:
        """Add vectors of documents with greater numbers than those before."""
        self._rows.append(rows)
        self._numbers.extend(numbers)
        self._alive.extend(b"\1" * len(numbers))
        self.last = self._numbers[-1] if self._numbers else self.last

    def keep(self, numbers: Iterable[int], removals: int) -> None:
        """Note that of its documents only these are left."""
        left = set(numbers)
        self._alive[:] = bytes(map(left.__contains__, self._numbers))
        self.removals = removals

    def view(self) -> RowsView:
        """Return what a search works on."""
        return RowsView(self._numbers, self._rows, bytes(self._alive), self._columns)
