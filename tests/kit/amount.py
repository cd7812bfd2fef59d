"""How much of the tests runs: at each change one of each kind, and everything at night.

`HOCKET_TESTS=all` (`scripts/nightly`) runs every case.
"""

import os

__all__ = ["RUNS_ALL", "some_of"]

RUNS_ALL = os.environ.get("HOCKET_TESTS") == "all"


def some_of(count: int) -> int:
    """Return how many of so many examples of a property run: a quarter at each change, and at night all of them."""
    return count if RUNS_ALL else count // 4
