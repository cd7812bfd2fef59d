"""How much of the tests runs: at each change one of each kind, and everything at night.

`HOCKET_TESTS=all` (`scripts/nightly`) runs every case.
"""

import os

__all__ = ["RUNS_ALL"]

RUNS_ALL = os.environ.get("HOCKET_TESTS") == "all"
