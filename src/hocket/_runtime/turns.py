"""Turns for other tasks, in a loop that may go round without a wait.

A limit on time takes effect, and another task goes on, only when the event loop has its turn. To give it one with every
round would cost a quick loop as much as its work; a look at the time costs a tenth of a microsecond.
"""

import time

import anyio.lowlevel

__all__ = ["Turns"]

LONGEST = 0.01
"""Seconds until the others have their turn."""


class Turns:
    """The turns of one loop, which begins now."""

    __slots__ = ("_ends_at",)

    def __init__(self) -> None:
        self._ends_at = time.monotonic() + LONGEST

    async def share(self) -> None:
        """Let the others have a turn, if theirs has come. Only on an event loop."""
        if time.monotonic() >= self._ends_at:
            await anyio.lowlevel.checkpoint()
            self._ends_at = time.monotonic() + LONGEST
