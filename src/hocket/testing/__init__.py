"""For the tests of code built on hocket: a model by script, a server by script, time that jumps, a loop that must not
block, no network.

``hocket.testing.plugin`` is the pytest plugin; it is not imported here, since pytest need not be installed. The server is
imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hocket.language_models.scripted import Request, ScriptedChatModel, Turn
from hocket.testing.blocking import assert_no_blocking
from hocket.testing.clock import VirtualClock, virtual_clock
from hocket.testing.network import no_network

if TYPE_CHECKING:
    from hocket.testing.server import (
        Body,
        Cut,
        Events,
        Hangup,
        OpenAIFormat,
        ReceivedRequest,
        Reply,
        Server,
        Split,
        Status,
        Stream,
        Vectors,
        serve,
    )

__all__ = [
    "Body",
    "Cut",
    "Events",
    "Hangup",
    "OpenAIFormat",
    "ReceivedRequest",
    "Reply",
    "Request",
    "ScriptedChatModel",
    "Server",
    "Split",
    "Status",
    "Stream",
    "Turn",
    "Vectors",
    "VirtualClock",
    "assert_no_blocking",
    "no_network",
    "serve",
    "virtual_clock",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hocket.testing' has no attribute {name!r}")
    return getattr(importlib.import_module("hocket.testing.server"), name)
