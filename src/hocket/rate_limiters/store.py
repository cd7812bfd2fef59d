"""Where a limit is kept: in this process, or in a database that processes share.

A store does a whole exchange at once: what has ended is settled, then waiting calls are served, first come first served.
So one round trip serves all who wait in a process, and nobody sees half of it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from hocket._runtime import clock
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.schedule import HORIZON, End, Grant, Schedule

__all__ = [
    "LEASE",
    "SOON",
    "Exchange",
    "ExchangeReply",
    "Figures",
    "MemoryStore",
    "Store",
    "memory_span",
    "read_figures",
    "run_exchange",
]

LEASE = 30.0
"""Seconds after which a process that was not heard of counts as gone, with the requests that it has under way."""

SOON = 0.25
"""Seconds until a process asks again that waits for another one's request to end."""


def memory_span(window: float) -> float:
    """Return the seconds for which a limit that nobody uses is remembered."""
    return 600.0 + 2 * window


class Exchange(NamedTuple):
    """What a process tells a store, and asks of it.

    Attributes:
        needs: of the waiting calls, in order.
        ends: of what was granted.
        held: grants of the process whose time has not come.
        in_flight: its requests under way, and those that were granted.
        horizon: seconds of the schedule that it may hold.
        reports: whether the store is to know that the process is alive, and to count those that are.
    """

    needs: Sequence[Tokens] = ()
    ends: Sequence[End] = ()
    held: int = 0
    in_flight: int = 0
    horizon: float = HORIZON
    reports: bool = False


class ExchangeReply(NamedTuple):
    """The answer of a store.

    Attributes:
        grants: for the waiting calls, in order. The first that was not granted is the last here.
        processes: how many share the limit; 0: it was not asked.
    """

    grants: list[Grant]
    processes: int


class Figures(NamedTuple):
    """A limit as it stands.

    Attributes:
        limits: in force, per window; requests, tokens, input, output.
        factor: the share of them in use.
        paused: seconds for which nobody goes.
        input, output: tokens in the window.
        processes: how many share it.
        in_flight: requests under way in all of them; counted where there is a limit of it.
    """

    limits: tuple[float, float, float, float]
    factor: float
    paused: float
    input: int
    output: int
    processes: int
    in_flight: int


class Store(Protocol):
    """One limit in its place. Its methods wait, and are called in a thread that may.

    Each raises `StoreError` if the store cannot be used.
    """

    is_shared: bool

    def configure(self, limits: RateLimits) -> RateLimits | None:
        """Have ``limits`` hold from now on; return those that held so far, if they were used lately."""
        ...

    def exchange(self, exchange: Exchange) -> ExchangeReply | None:
        """Settle and serve; None: the limit is unknown, since nobody used it for long: `configure` it first."""
        ...

    def learn(self, found: tuple[float, float, float, float], pause: float, *, probes: bool = False) -> None:
        """Take the limits that a server told, per window (0: it did not say), and let nobody go for ``pause`` seconds.

        With ``probes`` one goes first afterwards, and the others when that one is settled.
        """
        ...

    def slow_down(self, pause: float) -> None:
        """A server refused: go slower, and let nobody go for ``pause`` seconds."""
        ...

    def read(self) -> Figures | None:
        """Return how the limit stands; None: it is unknown."""
        ...


def run_exchange(schedule: Schedule, exchange: Exchange, now: float, places: float) -> list[Grant]:
    """Do an exchange on a schedule.

    Args:
        schedule: its state.
        exchange: what is told and asked.
        now: the time.
        places: requests that may still be granted, by the number under way.
    """
    for end in exchange.ends:
        schedule.end(end)
    grants: list[Grant] = []
    held = exchange.held
    for need in exchange.needs:
        if len(grants) >= places:
            grants.append(Grant(SOON, 0, 2))
            break
        grant = schedule.reserve(now, need, held, exchange.horizon)
        grants.append(grant)
        if not grant.seq:
            break
        held += grant.wait > 0
    return grants


class MemoryStore:
    """A limit of this process alone, by the clock that waits go by."""

    is_shared = False

    def __init__(self, limits: RateLimits, time: Callable[[], float] | None = None) -> None:
        self.schedule: Schedule = Schedule(limits)
        self._time = time or (lambda: clock.current().now())
        self._in_flight = 0

    def configure(self, limits: RateLimits) -> RateLimits | None:
        """Have ``limits`` hold from now on."""
        before = self.schedule.limits
        self.schedule.configure(limits)
        return before

    def exchange(self, exchange: Exchange) -> ExchangeReply:
        """Settle and serve."""
        most = self.schedule.limits.max_in_flight
        self._in_flight = exchange.in_flight
        places = most - exchange.in_flight if most else float("inf")
        grants = run_exchange(self.schedule, exchange, self._time(), places)
        return ExchangeReply(grants, 1)

    def learn(self, found: tuple[float, float, float, float], pause: float, *, probes: bool = False) -> None:
        """Take the limits that a server told."""
        self.schedule.learn(found)
        self.schedule.pause(self._time(), pause, probes=probes)

    def slow_down(self, pause: float) -> None:
        """Go slower, and let nobody go for ``pause`` seconds."""
        now = self._time()
        self.schedule.pause(now, pause)
        self.schedule.cut_back(now)

    def read(self) -> Figures:
        """Return how the limit stands."""
        return read_figures(self.schedule, self._time(), 1, self._in_flight)


def read_figures(schedule: Schedule, now: float, processes: int, in_flight: int) -> Figures:
    """Return how a schedule stands."""
    gone = [entry for entry in schedule.log.oldest_first() if entry.at + schedule.limits.window <= now]
    limits = (schedule.effective(0), schedule.effective(1), schedule.effective(2), schedule.effective(3))
    return Figures(
        limits,
        schedule.factor,
        max(0.0, schedule.paused - now),
        schedule.input - sum(entry.input for entry in gone),
        schedule.output - sum(entry.output for entry in gone),
        processes,
        in_flight,
    )
