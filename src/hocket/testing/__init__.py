"""For the tests of code built on hocket: a model by script, time that jumps, a loop that must not block, no network.

``hocket.testing.plugin`` is the pytest plugin; it is not imported here, since pytest need not be installed.
"""

from hocket.language_models.scripted import Request, ScriptedChatModel, Turn
from hocket.testing.blocking import assert_no_blocking
from hocket.testing.clock import VirtualClock, virtual_clock
from hocket.testing.network import no_network

__all__ = [
    "Request",
    "ScriptedChatModel",
    "Turn",
    "VirtualClock",
    "assert_no_blocking",
    "no_network",
    "virtual_clock",
]
