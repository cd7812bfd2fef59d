"""A call that waits for a limit, the turn that it gets, and the error where the turn would come too late."""

import math
from typing import NamedTuple

from hocket._runtime.mode import Mode
from hocket._runtime.wait_queue import Waiter
from hocket.errors import RateLimitError
from hocket.rate_limiters.limits import Tokens
from hocket.rate_limiters.schedule import Grant
from hocket.rate_limiters.store import Store

__all__ = ["Asking", "ReservedTurn", "make_late_error"]


class ReservedTurn(NamedTuple):
    """A place in the schedule.

    Attributes:
        at: when one may go, by the clock.
        grant: of the store.
        need: the tokens that it was granted for.
        store: that granted it.
    """

    at: float
    grant: Grant
    need: Tokens
    store: Store


class Asking(Waiter):
    """A call that waits until it may make a request.

    Attributes:
        need: its tokens.
        latest: a turn after this time is of no use to it, by the clock.
        turn: what it got; it may get an earlier one, of somebody who left.
        error: why it gets nothing.
    """

    __slots__ = ("error", "latest", "need", "turn")

    def __init__(self, mode: Mode, need: Tokens, latest: float = math.inf) -> None:
        super().__init__(mode)
        self.need: Tokens = need
        self.latest: float = latest
        self.turn: ReservedTurn | None = None
        self.error: Exception | None = None

    @property
    def is_served(self) -> bool:
        """Whether it is not in the queue any more: it has a turn, or gets nothing."""
        return self.turn is not None or self.error is not None

    def can_use(self, turn: ReservedTurn) -> bool:
        """Whether a turn is early enough for it, and has the tokens."""
        has_tokens = self.need.input <= turn.need.input and self.need.output <= turn.need.output
        return has_tokens and turn.at <= self.latest


def make_late_error(owner: str, wait: float, left: float) -> RateLimitError:
    """Return the error of a call whose turn would come too late.

    Args:
        owner: the limiter, as errors show it.
        wait: seconds until the turn.
        left: seconds that the caller could wait.
    """
    error = RateLimitError(
        f"{owner}: the turn would come in about {wait:.3g} s, and the call can wait for {max(left, 0.0):.3g} s; nothing was "
        "sent, and no turn was taken: ask again after `retry_after` seconds, give the call more time, or ask for less",
        retry_after=wait,
    )
    error.was_sent = False
    return error
