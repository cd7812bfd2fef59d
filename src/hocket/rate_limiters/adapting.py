"""What a limit learns from refusals, where a server says nothing of its limits.

At a refusal two things are known: what the server let through in the last window, and the pace at which it refused. A
server that counts over a window allows the first, one that fills a bucket something between both. So the pace is cut a
little, and never below what was let through: with no other knowledge that is the best guess of the limit. From there it
comes back quickly to where it was refused, and beyond that it probes, slowly at first and then faster (as TCP's CUBIC does,
RFC 9438): a server that counts over a minute tells of a pace that is too fast up to a minute late.

A store finds out by itself when to learn, once in `CUT_PAUSE` seconds, and how the share grows with each grant. What a
refusal means is found here, for all stores.
"""

from typing import NamedTuple

__all__ = [
    "CUT",
    "CUT_PAUSE",
    "FAST_GROWTH",
    "KEPT",
    "LEAST_SHARE",
    "MOST_SHARE",
    "NEAR",
    "PATIENCE",
    "SLOW_GROWTH",
    "Pace",
    "RefusalRecord",
    "find_pace",
    "grow",
]

CUT = 0.85
"""What a refusal multiplies the share with."""

CUT_PAUSE = 2.0
"""Seconds in which the share is cut once, however many are refused."""

KEPT = 0.97
"""Of what was let through in the last window, what is asked for from then on."""

LEAST_SHARE = 0.05
"""The least that the share of a known limit is cut to."""

MOST_SHARE = 50.0
"""The most that the share of a guessed limit grows to."""

NEAR = 0.98
"""Of the share that was refused last: up to there it grows fast."""

FAST_GROWTH = 0.03
"""By how much the share grows in a second of the schedule, at most."""

SLOW_GROWTH = 0.001
"""The same, near to what was refused last and beyond, just after the refusal."""

PATIENCE = 30.0
"""Seconds without a refusal after which slow growth is twice as fast, and so on."""


class RefusalRecord(NamedTuple):
    """What a store knows when a server refuses.

    Attributes:
        is_limited: whether any number is in force.
        is_guess: whether that of requests is a guess.
        requests: the limit of requests per window; 0: none.
        window: its length in seconds.
        share: of the limit that is in use.
        seconds: since some moment one or two windows ago, or since the beginning.
        let_through: requests since then.
        let_through_lately: requests since a moment in the last window.
    """

    is_limited: bool
    is_guess: bool
    requests: float
    window: float
    share: float
    seconds: float
    let_through: float
    let_through_lately: float


class Pace(NamedTuple):
    """How fast to go from now on.

    Attributes:
        guess: requests per window, where nobody said any number; 0: there is a limit.
        share: of the limit, or of the guess.
    """

    guess: float
    share: float


def find_pace(refusal: RefusalRecord) -> Pace:
    """Return the pace after a refusal. The share at which it came is where growth becomes slow."""
    window = refusal.window
    requests, guess = refusal.requests, refusal.requests if refusal.is_guess else 0.0
    if not refusal.is_limited:
        requests = guess = max(refusal.let_through / max(refusal.seconds, 1.0) * window, 1.0)
    least = 1 / guess if guess else LEAST_SHARE
    if requests:
        sustained = max(refusal.let_through / max(refusal.seconds, window) * window, refusal.let_through_lately)
        least = max(least, KEPT * sustained / requests)
    return Pace(guess, min(refusal.share, max(refusal.share * CUT, least)))


def grow(share: float, most: float, refused_share: float, since: float, seconds: float) -> float:
    """Return the share after a grant.

    Args:
        share: before it.
        most: that it may come to.
        refused_share: the share that was refused last.
        since: seconds since then.
        seconds: of the schedule that the grant took.
    """
    growth = FAST_GROWTH
    if share >= NEAR * refused_share:
        growth = min(FAST_GROWTH, SLOW_GROWTH * (1 + since / PATIENCE))
    return max(share, min(most, share * (1 + growth * min(seconds, 1.0))))
