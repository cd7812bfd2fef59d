"""For the tests of code built on hocket: time that jumps, a loop that must not block, a network that is closed.

``hocket.testing.plugin`` is the pytest plugin; it is not imported here, since pytest need not be installed.
"""

from hocket.testing.blocking import assert_no_blocking
from hocket.testing.clock import VirtualClock, virtual_clock
from hocket.testing.network import no_network

__all__ = ["VirtualClock", "assert_no_blocking", "no_network", "virtual_clock"]
