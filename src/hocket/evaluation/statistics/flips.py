"""Sign flips: what chance makes of the differences between two runs.

Were both runs alike, each difference might as well have had the other sign. So sums with flipped signs show how far
chance alone goes. That holds for any distribution of the differences: for single runs it is McNemar's exact test, for
graded scores and repeats a permutation test (Fisher, "The Design of Experiments", 1935).
"""

import random
from collections.abc import Iterable
from operator import add

__all__ = ["FLIPS", "SignFlips"]

_EXACT = 12
FLIPS = 1 << _EXACT
"""How many flips there are: as many as the first twelve differences have signs, so up to twelve are counted, not drawn."""


class SignFlips:
    """The sums of differences, block by block, each with its signs flipped in `FLIPS` ways.

    Only sizes are looked at, so two runs that change places have the same sums. The seed is fixed.
    """

    def __init__(self) -> None:
        self._random = random.Random(0)
        self._sums = [0.0] * FLIPS
        self._flipped = 0

    def add(self, differences: Iterable[float]) -> list[float]:
        """Add a block of differences and return the size of each sum up to here."""
        sizes = [abs(difference) for difference in differences if difference]
        first = sizes[: max(_EXACT - self._flipped, 0)]
        for bit, size in enumerate(first, self._flipped):
            signs = ([size] * (1 << bit) + [-size] * (1 << bit)) * (FLIPS >> bit + 1)
            self._sums = list(map(add, self._sums, signs))
        self._flipped += len(first)
        for start in range(len(first), len(sizes), 8):
            self._add_eight(sizes[start : start + 8])
        return list(map(abs, self._sums))

    def _add_eight(self, sizes: list[float]) -> None:
        """Add up to eight sizes at once: a random byte chooses among the sums that their signs can have."""
        sums = [0.0]
        for size in [*sizes, *[0.0] * (8 - len(sizes))]:
            sums = [*(one + size for one in sums), *(one - size for one in sums)]
        self._sums = list(map(add, self._sums, map(sums.__getitem__, self._random.randbytes(FLIPS))))
