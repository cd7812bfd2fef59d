"""Reservers that no model names: those of a block of code, or of the whole process.

Where there is none, a call must not pay for asking. So a room that offers some registers its source when it is first used,
and until then the list is empty.
"""

from collections.abc import Callable, Sequence

from hocket._metering.attempt import Reserver

__all__ = ["Source", "add_source", "find_reservers", "sources"]

Source = Callable[[], Sequence[Reserver]]
"""Returns the reservers that hold for the running task, outermost first."""

sources: list[Source] = []
"""Those in use. Read directly by the pipeline, which only asks whether there is any."""


def add_source(source: Source) -> None:
    """Have ``source`` asked before each attempt of the process from now on; added twice, it counts once."""
    if source not in sources:
        sources.append(source)


def find_reservers() -> list[Reserver]:
    """Return the reservers that hold for the running task."""
    return [reserver for source in sources for reserver in source()]
