"""The function that keeps a limit in PostgreSQL: ``limits.sql``. It is `hocket.rate_limiters.schedule`, line by line.

What a refusal means is found by the process that told of it (`hocket.rate_limiters.adapting`): ``learn`` returns what the
store knows, and ``adopt`` takes the pace that follows.

The row of the limit is locked for as long as a call takes, so that one follows another. The functions carry the number of
their version in their names: two versions of hocket may share a database, if not a limit.
"""

import functools

from hocket._runtime.data_files import read_data_file
from hocket.rate_limiters.adapting import CUT_PAUSE, FAST_GROWTH, MOST_SHARE, NEAR, PATIENCE, SLOW_GROWTH
from hocket.rate_limiters.schedule import PROBE
from hocket.rate_limiters.store import LEASE, SOON

__all__ = ["CREATE", "FORMAT"]

FORMAT = 3
"""The version of tables and function, which is part of their names."""

_TEXT = read_data_file("hocket.rate_limiters", "limits.sql")
_VALUES = {
    "@FORMAT": FORMAT,
    "@SOON": SOON,
    "@LEASE": LEASE,
    "@PROBE": PROBE,
    "@FAST": FAST_GROWTH,
    "@SLOW": SLOW_GROWTH,
    "@NEAR": NEAR,
    "@MOST": MOST_SHARE,
    "@PATIENCE": PATIENCE,
    "@PAUSE": CUT_PAUSE,
}

CREATE = functools.reduce(lambda text, value: text.replace(value[0], str(value[1])), _VALUES.items(), _TEXT)
"""The SQL that makes the tables and the function, once in a database."""
