"""The script that keeps a limit in Redis: ``limits.lua``, behind a few numbers.

It is `hocket.rate_limiters.schedule`, line by line; times are microseconds.

What a refusal means is found by the process that told of it (`hocket.rate_limiters.adapting`): ``slow_down`` returns what
the store knows, and ``adopt`` takes the pace that follows.
"""

from hocket._runtime.data_files import read_data_file
from hocket.rate_limiters.adapting import CUT_PAUSE, FAST_GROWTH, MOST_SHARE, NEAR, PATIENCE, SLOW_GROWTH
from hocket.rate_limiters.schedule import PROBE
from hocket.rate_limiters.store import LEASE, SOON

__all__ = ["SCRIPT"]

SCRIPT = f"""
-- KEYS: state, log, members.  ARGV: what to do, the time (0: the server's), and what it needs.
local CUT_PAUSE, PATIENCE = {CUT_PAUSE * 1e6:.0f}, {PATIENCE * 1e6:.0f}
local FAST, SLOW, NEAR, MOST = {FAST_GROWTH}, {SLOW_GROWTH}, {NEAR}, {MOST_SHARE}
local LEASE, SOON, PROBE = {LEASE * 1e6:.0f}, {SOON * 1e6:.0f}, {PROBE * 1e6:.0f}
""" + read_data_file("hocket.rate_limiters", "limits.lua")
"""The script in Lua that Redis runs for each turn, whole or not at all."""
