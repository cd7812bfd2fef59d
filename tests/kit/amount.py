"""How much of the tests runs: at each change one of each kind, and everything at night.

`HOCKET_TESTS=all` (`scripts/nightly`) runs every case; `HOCKET_TESTS=quick` (`scripts/test --quick`) has fewer examples.
"""

import os
from typing import Any

import pytest

__all__ = ["RUNS_ALL", "leave_for_night", "limit_examples"]

RUNS_ALL = os.environ.get("HOCKET_TESTS") == "all"
IS_QUICK = os.environ.get("HOCKET_TESTS") == "quick"


def limit_examples(count: int) -> int:
    """Return how many of so many examples of a property run: a quarter at each change, and at night all of them."""
    return count if RUNS_ALL else count // (10 if IS_QUICK else 4)


def leave_for_night(*cases: Any) -> list[Any]:
    """Return cases for `parametrize` of which one like them runs at each change: `["bare", *leave_for_night("text")]`."""
    return [pytest.param(case, marks=pytest.mark.nightly) for case in cases]
