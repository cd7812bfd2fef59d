"""The one schedule of an account: who may go when.

A reservation is told when it may go, T, and takes its place there at once. T never goes back from one reservation to the
next: first come, first served. Three rules decide it, all exact in every window that is open at one end, (t - window, t]:

- *pace*: a request goes at least ``burst`` steps after the one ``burst`` places before it, a step being window / limit,
  and at least a window after the one ``limit`` places before it.
- *tokens*: those reserved in (T - window, T] and its own are at most the limit. A log of (T, tokens), whose T never goes
  back, is popped at its old end: all that is popped has left every later window, so the sum of the rest is what counts.
  `settle` puts the real number in place of a reserved one.
- *pause*: nobody goes before the end of it; and where it ends in a probe, one goes first, and the others when that one is
  settled.

How fast the numbers are used is a share of them, ``factor``: a 429 cuts it, and the grants after that let it grow
(`hocket.rate_limiters.adapting`).

Redis and PostgreSQL have the same arithmetic in their own languages; the tests hold all of them to this one.
"""

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hocket.rate_limiters.adapting import CUT_PAUSE, MOST_SHARE, Pace, RefusalRecord, find_pace, grow
from hocket.rate_limiters.limits import RateLimits, Tokens

__all__ = ["HORIZON", "PROBE", "End", "Entry", "Grant", "Log", "MemoryLog", "Schedule"]

HORIZON = 1.0
"""Seconds of the schedule that one process may hold: what is lost if it is killed."""

PROBE = 30.0
"""Seconds after which another one goes first, if the probe was not settled: its process was killed, say."""

DUE = -1
"""The number of a probe that nobody has been granted yet."""

NEVER = -1e9
"""A time before all others, thirty years before any clock's; no infinity, since differences are taken from it."""


class Grant(NamedTuple):
    """The answer to a call that asks for its turn.

    Attributes:
        wait: seconds until it may go; where it was not granted, until it should ask again.
        seq: its number in the schedule; 0: not granted.
        back: seconds by which the schedule was moved on for it; where it was not granted: 0, the process holds enough of
            the schedule; 1, tokens are missing, which may come back sooner; 2, too many requests are under way; 3, another
            one goes first, after a pause.
        is_probe: whether it goes first after a pause, so that the others wait for its end.
    """

    wait: float
    seq: int
    back: float
    is_probe: bool = False


class End(NamedTuple):
    """What became of a grant.

    Attributes:
        seq: its number.
        input, output: tokens that were used.
        back: None: it was used; else it was not, and this is the grant's ``back``: its place is free again if nobody has
            come after it.
    """

    seq: int
    input: int
    output: int
    back: float | None


class Entry(NamedTuple):
    """A reservation in the log."""

    seq: int
    at: float
    input: int
    output: int


class Log(Protocol):
    """The reservations that a window may still hold, by their numbers."""

    def oldest_first(self) -> Iterator[Entry]:
        """Yield them; nothing is changed meanwhile."""
        ...

    def find(self, seq: int) -> Entry | None:
        """Return one of them."""
        ...

    def put(self, entry: Entry) -> None:
        """Add a younger one than all, or put one in its own place."""
        ...

    def remove(self, seq: int) -> None:
        """Forget one of them."""
        ...

    def drop(self, seq: int) -> None:
        """Forget all up to this one."""
        ...


class MemoryLog:
    """A log in memory."""

    def __init__(self) -> None:
        self._entries: OrderedDict[int, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def oldest_first(self) -> Iterator[Entry]:
        """Yield the entries."""
        return iter(self._entries.values())

    def find(self, seq: int) -> Entry | None:
        """Return an entry."""
        return self._entries.get(seq)

    def put(self, entry: Entry) -> None:
        """Add or replace an entry."""
        self._entries[entry.seq] = entry

    def remove(self, seq: int) -> None:
        """Forget an entry."""
        self._entries.pop(seq, None)

    def drop(self, seq: int) -> None:
        """Forget all up to this one."""
        while self._entries and next(iter(self._entries)) <= seq:
            self._entries.popitem(last=False)


@dataclass
class Schedule:
    """The state of one limit.

    Attributes:
        limits: as configured.
        learned: what a server said, or what it was guessed to be, per window; 0: nothing.
        is_guess: whether the learned number of requests is a guess.
        last: T of the youngest reservation.
        floor: no reservation may go before; what was popped from the log counts up to here.
        seq: number of the youngest reservation.
        factor: the share of the limits in use.
        ceiling: the factor when it was cut last.
        cut: when that was.
        paused: nobody goes before.
        probe: the number of the grant that goes first after a pause; `DUE`: the next one; 0: none does.
        probe_until: when it counts as lost.
        refused: how often a server refused.
        mark, marked: a time, one window ago or two at most, and how many it had let through then.
        mark_next, marked_next: the next such.
    """

    limits: RateLimits
    learned: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])
    is_guess: bool = False
    last: float = NEVER
    floor: float = NEVER
    seq: int = 0
    input: int = 0
    output: int = 0
    factor: float = 1.0
    ceiling: float = 1.0
    cut: float = NEVER
    paused: float = NEVER
    probe: int = 0
    probe_until: float = NEVER
    refused: int = 0
    mark: float = NEVER
    marked: int = 0
    mark_next: float = NEVER
    marked_next: int = 0
    log: Log = field(default_factory=MemoryLog)

    def effective(self, place: int) -> float:
        """Return a limit in force, 0 if there is none: requests (0), tokens (1), input (2), output (3)."""
        configured, learned = self.limits[place], self.learned[place]
        return min(configured, learned) if configured and learned else configured or learned

    def reserve(self, now: float, need: Tokens, held: int, horizon: float = HORIZON) -> Grant:
        """Reserve for one.

        Args:
            now: the time.
            need: its tokens at most.
            held: grants of its process whose time has not come.
            horizon: seconds of the schedule that its process may hold.
        """
        if self.probe > 0:
            if self.probe_until > now:
                return Grant(self.probe_until - now, 0, 3)
            self.probe = DUE
        requests = self.effective(0) * self.factor
        step = self.limits.window / requests if requests else 0.0
        paced = self._pace(max(now, self.last, self.floor, self.paused), requests, step)
        at, gone, used = self._make_room(paced, need)
        ahead = at - now
        if ahead > horizon:
            if at > paced:
                return Grant(ahead - horizon, 0, 1)
            if held and not (step and (held + 1) * step <= horizon):
                return Grant(ahead - horizon, 0, 0)
        if gone is not None:
            self.log.drop(gone.seq)
            self.floor = gone.at + self.limits.window
        back, self.last = at - self.last, at
        self.seq += 1
        self.input, self.output = used.input + need.input, used.output + need.output
        if self.limits.burst > 1 or any(need) or any(self.learned[1:]) or any(self.limits[1:4]):
            self.log.put(Entry(self.seq, at, *need))
        most = MOST_SHARE if self.is_guess else 1.0
        self.factor = grow(self.factor, most, self.ceiling, now - self.cut, back)
        self._mark(now)
        is_probe = self.probe == DUE
        if is_probe:
            self.probe, self.probe_until = self.seq, at + PROBE
        return Grant(ahead, self.seq, back, is_probe)

    def _make_room(self, at: float, need: Tokens) -> tuple[float, Entry | None, Tokens]:
        """Return the time, ``at`` or later, when the tokens fit; the last that has left the window then; the rest's sum."""
        last_gone, used_input, used_output = None, self.input, self.output
        caps: tuple[float, ...] | None = None
        for entry in self.log.oldest_first():
            if caps is None:
                caps = self._caps(need)
            wanted_input, wanted_output = used_input + need.input, used_output + need.output
            is_over = wanted_input + wanted_output > caps[0] or wanted_input > caps[1] or wanted_output > caps[2]
            gone = entry.at + self.limits.window
            if gone > at:
                if not is_over:
                    break
                at = gone
            last_gone, used_input, used_output = entry, used_input - entry.input, used_output - entry.output
        return at, last_gone, Tokens(used_input, used_output)

    def _caps(self, need: Tokens) -> tuple[float, ...]:
        """Return the most that a window may hold of tokens, input and output. One that is larger than that goes alone."""
        own = (need.input + need.output, *need)
        limits = [self.effective(kind) * self.factor for kind in (1, 2, 3)]
        return tuple(max(limit, wanted) if limit else math.inf for limit, wanted in zip(limits, own, strict=True))

    def _pace(self, at: float, requests: float, step: float) -> float:
        if not requests:
            return at
        if self.limits.burst == 1:
            return max(at, self.last + step)
        burst = min(self.limits.burst, max(1, math.floor(requests)))
        most = max(1, math.floor(max(requests, self.effective(0))))
        for places, seconds in ((burst, burst * step), (most, self.limits.window)):
            before = self.log.find(self.seq - places + 1)
            if before is not None:
                at = max(at, before.at + seconds)
        return at

    def record(self, at: float, need: Tokens) -> None:
        """Count a request that was granted elsewhere."""
        gone = None
        for entry in self.log.oldest_first():
            if entry.at + self.limits.window > at:
                break
            gone = entry
            self.input, self.output = self.input - entry.input, self.output - entry.output
        if gone is not None:
            self.log.drop(gone.seq)
        self.seq, self.last = self.seq + 1, max(self.last, at)
        self.input, self.output = self.input + need.input, self.output + need.output
        self.log.put(Entry(self.seq, self.last, *need))

    def end(self, end: End) -> None:
        """Put what was used in place of what was reserved. What has left the window changes nothing."""
        entry = self.log.find(end.seq)
        if entry is not None:
            self.input += end.input - entry.input
            self.output += end.output - entry.output
            self.log.put(entry._replace(input=end.input, output=end.output))
        if end.seq == self.probe:
            self.probe = 0 if end.back is None else DUE
        if end.back is not None and end.seq == self.seq:
            self.log.remove(end.seq)
            self.last -= end.back
            self.seq -= 1

    def pause(self, now: float, seconds: float, *, probes: bool = False) -> None:
        """Let nobody go for so many seconds, and then, with ``probes``, one before all others."""
        self.paused = max(self.paused, now + seconds)
        if probes:
            self.probe = DUE

    def cut_back(self, now: float) -> None:
        """Go slower, after a 429; once in `CUT_PAUSE` seconds."""
        self.refused += 1
        if not self.limits.is_adaptive or now - self.cut <= CUT_PAUSE:
            return
        self.cut = now
        let_through = self.seq - self.refused
        self.adopt(
            find_pace(
                RefusalRecord(
                    is_limited=any(self.effective(kind) for kind in range(4)),
                    is_guess=self.is_guess,
                    requests=self.effective(0),
                    window=self.limits.window,
                    share=self.factor,
                    seconds=now - self.mark,
                    let_through=let_through - self.marked,
                    let_through_lately=let_through - self.marked_next,
                )
            )
        )

    def adopt(self, pace: Pace) -> None:
        """Go at another pace from now on."""
        if pace.guess:
            self.learned[0], self.is_guess = pace.guess, True
        self.ceiling, self.factor = self.factor, pace.share

    def configure(self, limits: RateLimits) -> None:
        """Have other limits hold from now on. Where they have rates, a guess is forgotten."""
        self.limits = limits
        if self.is_guess and any(limits[:4]):
            self.is_guess, self.learned[0], self.factor = False, 0.0, min(self.factor, 1.0)

    def learn(self, found: tuple[float, float, float, float]) -> None:
        """Take the limits that a server told, per window; 0: it did not say."""
        for place, limit in enumerate(found):
            if limit:
                self.learned[place] = limit
        if any(found) and self.is_guess:
            self.is_guess, self.factor = False, min(self.factor, 1.0)
            self.learned[0] = found[0]

    def _mark(self, now: float) -> None:
        let_through = self.seq - 1 - self.refused
        if now - self.mark_next > self.limits.window:
            self.mark, self.marked = self.mark_next, self.marked_next
            self.mark_next, self.marked_next = now, let_through
            if now - self.mark > 2 * self.limits.window:
                self.mark, self.marked = now, let_through
