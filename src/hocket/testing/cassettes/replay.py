"""Replies that are read from a recording: as many pieces as there were, and the same end."""

from collections.abc import Mapping
from typing import ClassVar

import anyio.lowlevel

from hocket._runtime import clock
from hocket.errors import CassetteMiss
from hocket.testing.cassettes.exchanges import BrokenOff, RecordedExchange
from hocket.testing.outcomes import end_test

__all__ = ["ReplayedReply", "open_recording"]

_PATIENCE = 1.0
"""Seconds beyond those after which the recorded caller gave a reply up: what came later was not recorded."""


async def open_recording(exchange: RecordedExchange, *, timing: bool) -> "ReplayedReply":
    """Return a recorded reply.

    Args:
        exchange: what is played.
        timing: with the waits that there were; otherwise at once.

    Raises:
        LLMError: that is what came of the request.
        CassetteMiss: nothing came of it for as long as it was waited for.
    """
    if exchange.status is None:
        assert exchange.end is not None  # a request has one of both
        await _end(exchange.end, timing=timing)
    await _wait(exchange.after if timing else 0)
    return ReplayedReply(exchange, timing=timing)


class ReplayedReply:
    """A recorded reply, see `hocket.http.clients.OpenReply`."""

    is_worth_draining: ClassVar[bool] = False

    def __init__(self, exchange: RecordedExchange, *, timing: bool) -> None:
        self.status: int = exchange.status or 0
        self.headers: Mapping[str, str] = exchange.headers
        self._pieces = iter(exchange.pieces)
        self._ending = exchange.end
        self._timing = timing
        self._is_over = False

    async def receive(self) -> bytes:
        """Return the next piece of the body; nothing: it has ended.

        Raises:
            LLMError: that is how it ended.
            CassetteMiss: it was given up here while it was recorded.
        """
        if self._is_over:
            return b""
        for after, piece in self._pieces:
            await _wait(after if self._timing else 0)
            return piece
        await _wait(0)
        if self._ending is not None:
            await _end(self._ending, timing=self._timing)
        return b""

    async def aclose(self) -> None:
        """Give up the rest."""
        self._is_over = True


async def _wait(seconds: float) -> None:
    """Let the other tasks have a turn, as a network does."""
    if seconds > 0:
        await clock.current().sleep(seconds)
    else:
        await anyio.lowlevel.checkpoint()


async def _end(end: BrokenOff, *, timing: bool) -> None:
    """Do what the network did at the end of a reply that did not come whole.

    Who gave it up, because it took too long perhaps, does so again if it takes as long again.

    Raises:
        LLMError: the connection broke.
        CassetteMiss: it is waited for longer than it was.
    """
    if end.failure is not None:
        await _wait(end.after if timing else 0)
        raise type(end.failure)(end.failure.message, retryable=end.failure.retryable)
    await _wait(end.after * 2 + _PATIENCE)
    raise end_test(
        CassetteMiss,
        f"the recording of this reply ends here, where it was given up after {end.after:g} s of silence while it was "
        "recorded, and now more of it is wanted: record it again",
    )
