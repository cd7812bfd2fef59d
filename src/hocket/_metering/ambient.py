"""Reservers, and listeners to hits, that no model names: those of a block of code, or of the whole process.

Where there is none, a call must not pay for asking. So a room that offers some registers its source when it is first used,
and until then the list is empty.
"""

from collections.abc import Callable, Sequence

from hocket._metering.attempt import Attempt, Reserver
from hocket.messages import UsageMetadata

__all__ = ["HitListener", "Source", "add_hit_listener", "add_source", "find_reservers", "hit_listeners", "sources"]

HitListener = Callable[[Attempt, UsageMetadata | None, bool], None]
"""Told of an answer that nobody was asked for again.

It takes what is known of the call, what the answer used when it was made, and whether it came out of an equal call in
flight, not out of a cache. It must not raise, nor wait.
"""

Source = Callable[[], Sequence[Reserver]]
"""Returns the reservers that hold for the running task, outermost first."""

sources: dict[Source, None] = {}
"""Those in use. Read directly by the pipeline, which only asks whether there is any."""

hit_listeners: dict[HitListener, None] = {}
"""Those in use, of the whole process."""


def add_source(source: Source) -> None:
    """Have ``source`` asked before each attempt of the process from now on; added twice, it counts once."""
    sources[source] = None  # in one step: of two threads that add it at once, none adds it a second time


def add_hit_listener(listener: HitListener) -> None:
    """Have ``listener`` told of each hit of the process from now on; added twice, it counts once."""
    hit_listeners[listener] = None


def find_reservers() -> list[Reserver]:
    """Return the reservers that hold for the running task."""
    return [reserver for source in [*sources] for reserver in source()]
