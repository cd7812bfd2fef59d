"""The line of the calls of one process that wait for a limit: first come, first served, over all threads and event loops.

The line asks the store once for many calls: one exchange settles the calls that have ended and serves the head of the line.
The store says when each call may go, and each sleeps until then. While the schedule is full, the line asks again when there
will be room, or at once when a call is settled here. So nothing polls.

When a call gives up, its turn goes to the next call that can use it. The turn of that call goes to the one after it, and so
on: each call moves up by one, at the last moment, so that a turn costs one waking. A turn that no call here can use goes
back to the store. A call whose turn would come too late for its deadline is refused as soon as that is known: the store says
so, or the calls in front have been too slow.

A limit in this process is asked where its waiters are, which takes microseconds (`Line`); a store that processes share is
asked in a thread of its own (`hocket.rate_limiters.shared_line`).
"""

import bisect
import collections
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket._runtime.wait_queue import WaitQueue
from hocket.rate_limiters.asking import Asking, ReservedTurn, make_late_error
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.schedule import HORIZON, End, Grant
from hocket.rate_limiters.store import Exchange, ExchangeReply, Store

__all__ = ["Line", "make_unused_end"]

T = TypeVar("T")

TOGETHER = 64
"""Waiters that are asked for at once."""

MANY = 1 << 30

ROUNDING = 1e-6
"""Seconds that are no time: a sum of a time and a wait may be off by less."""

LATELY = 32
"""Turns by which it is judged how fast the line moves."""


class Line(WaitQueue):
    """The line before a limit in this process.

    Args:
        store: of the limit.
        owner: the limiter, as errors show it.

    Attributes:
        trips: exchanges with the store.
        replaced: limits that other processes had given the same name, and that hold no more.
    """

    def __init__(self, store: Store, owner: str) -> None:
        self.store: Store = store
        self.owner: str = owner
        self.trips: int = 0
        self.replaced: RateLimits | None = None
        super().__init__()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    @property
    def in_flight(self) -> int:
        """How many have been granted leave and have not settled."""
        return self._in_flight

    def reset(self) -> None:
        super().reset()
        self._ends: list[End] = []
        self._held: list[Asking] = []  # who has a turn that has not come, in their order
        self._free: list[ReservedTurn] = []  # turns that were passed on and not yet taken, in their order
        self._gone: collections.deque[float] = collections.deque(
            maxlen=LATELY
        )  # when those went who left others behind
        self._in_flight = 0
        self._look_at = -math.inf  # when to ask again, by the clock
        self._next_turn = -math.inf  # before then nobody in the queue will go

    # -- asking

    async def reserve(self, mode: Mode, need: Tokens, latest: float = math.inf) -> Asking:
        """Wait for leave.

        Args:
            mode: of the caller.
            need: its tokens.
            latest: a turn after this time, by the clock, is refused.

        Raises:
            RateLimitError: the turn would come too late.
            StoreError: the store cannot be used.
        """
        waiter = Asking(mode, need, latest)
        try:
            self._enter(waiter)
            while not waiter.is_served:
                await self._wait(waiter)
            while (delay := self._begin(waiter)) > 0:
                await waiter.wait_for(delay)
        except BaseException:
            self._give_up(waiter)
            raise
        if waiter.error is not None:
            raise waiter.error
        return waiter

    async def try_to_reserve(self, mode: Mode, need: Tokens) -> Asking | None:
        """Return leave to go at once, if there is any and nobody waits for it; else None."""
        waiter = Asking(mode, need)
        with self._lock:
            if self._queue:
                return None
            exchange = Exchange([need], held=MANY, in_flight=self._in_flight, horizon=0.0)
        store, outcome = await self.do(mode, lambda store: (store, store.exchange(exchange)))
        with self._lock:
            if outcome is not None and outcome.grants[0].seq:
                self._give(waiter, self._take_turn(outcome.grants[0], need, store))
                self._begin(waiter)
                return waiter
        return None

    async def end(self, mode: Mode, waiter: Asking, used: Tokens, *, is_refund: bool = False) -> None:
        """Settle what a waiter was granted, once it went.

        Args:
            mode: of the caller.
            waiter: who went, or did not.
            used: the tokens that were used.
            is_refund: whether it did not go.
        """
        turn = waiter.turn
        assert turn is not None
        with self._lock:
            self._in_flight = max(self._in_flight - 1, 0)
            self._ends.append(End(turn.grant.seq, *used, turn.grant.back if is_refund else None))
            self._step()

    async def do(self, mode: Mode, job: Callable[[Store], T]) -> T:
        """Do something else with the store.

        Raises:
            StoreError: it cannot be used.
        """
        with self._lock:
            result = job(self.store)
            self._step()
            return result

    # -- under the lock

    def _enter(self, waiter: Asking) -> None:
        with self._lock:
            if self._is_too_late(waiter):
                return
            self._queue.append(waiter)
            if len(self._queue) == 1:
                self._step()

    def _is_too_late(self, waiter: Asking) -> bool:
        """Whether a call that comes now, behind many others, would get its turn too late; it is then refused."""
        if self._queue:
            self._refuse(waiter, self._guess_turn(len(self._queue) + len(self._held)))
        return waiter.is_served

    def _guess_turn(self, before: int) -> float:
        """Return when one with so many before it may go, as fast as they have gone lately."""
        gone = self._gone
        pace = (gone[-1] - gone[0]) / (len(gone) - 1) if len(gone) > 1 else 0.0
        return max(clock.current().now() + before * pace, self._next_turn)

    def _refuse(self, waiter: Asking, moment: float) -> None:
        """Refuse one, if its turn would come at ``moment`` and that is too late for it."""
        if moment > waiter.latest:
            self._refuse_at_once(waiter, moment)

    def _refuse_at_once(self, waiter: Asking, moment: float) -> None:
        now = clock.current().now()
        waiter.error = make_late_error(self.owner, moment - now, waiter.latest - now)
        waiter.wake()

    async def _wait(self, waiter: Asking) -> None:
        """Wait until something has happened, or it is too late. The head of the line watches for all."""
        with self._lock:
            if waiter.is_served:
                return
            if (left := waiter.latest - clock.current().now()) <= 0:
                self._leave(waiter)
                self._refuse_at_once(waiter, self._guess_turn(1))
                return
            delay = min(self._watch() if self._queue[0] is waiter else math.inf, left)
        if delay > 0:
            await (waiter.wait() if delay == math.inf else waiter.wait_for(delay))

    def _watch(self) -> float:
        """Do what is due, and return after how many seconds to look again."""
        delay = self._look_at - clock.current().now()
        if delay <= 0:
            self._step()
        return delay

    def _begin(self, waiter: Asking) -> float:
        """Have one go whose turn has come, or return in how many seconds it will."""
        with self._lock:
            if waiter.turn is None:
                return 0.0
            now = clock.current().now()
            if (delay := waiter.turn.at - now) > ROUNDING:
                return delay
            if waiter in self._held:
                self._held.remove(waiter)
            if self._free:
                self._pass_on(self._free.pop(0))
            if self._queue or self._held:
                self._gone.append(now)
            else:
                self._gone.clear()
            return 0.0

    def _give_up(self, waiter: Asking) -> None:
        with self._lock:
            if waiter.turn is not None:
                self._in_flight = max(self._in_flight - 1, 0)
                if waiter in self._held:
                    self._held.remove(waiter)
                self._pass_on(waiter.turn)
            elif waiter in self._queue:
                self._leave(waiter)

    def _leave(self, waiter: Asking) -> None:
        is_head = self._queue[0] is waiter
        self._queue.remove(waiter)
        if is_head:
            self._look_at = -math.inf  # the next one may need less
            self._wake_head()

    def _pass_on(self, turn: ReservedTurn) -> None:
        """Give a turn that is free to the next who can use it, whose own is passed on when somebody before that goes."""
        for waiter in self._held:
            own = waiter.turn
            assert own is not None
            if own.at > turn.at and own.store is turn.store and waiter.can_use(turn):
                waiter.turn = turn
                self._held.sort(key=_moment)
                bisect.insort(self._free, own, key=lambda one: one.at)
                waiter.wake()
                return
        waiter_in_queue = next((one for one in self._heads() if one.can_use(turn)), None)
        if waiter_in_queue is None:
            unused = [turn]
            if not self._held:  # nobody will go who would pass on the others
                unused += self._free
                self._free = []
            self._return_unused(unused)
            return
        self._queue.remove(waiter_in_queue)
        self._give(waiter_in_queue, turn)
        self._wake_head()

    def _step(self) -> None:
        """Settle and serve, here and now."""
        heads, exchange = self._take()
        self.trips += 1
        outcome = self.store.exchange(exchange)
        assert outcome is not None
        self._serve(heads, outcome, self.store)

    def _take(self, *, with_ends: bool = True) -> tuple[list[Asking], Exchange]:
        """Return the head of the line, and what the store is to be told."""
        now = clock.current().now()
        heads = self._heads()
        # The youngest first: each makes the one before it the last, whose place is free again.
        ends = sorted(self._ends, key=lambda end: end.seq, reverse=True)
        if with_ends:
            self._ends = []
        needs = [waiter.need for waiter in heads]
        held = sum(moment > now for moment in self._starts())
        return heads, Exchange(needs, ends if with_ends else (), held, self._in_flight, HORIZON)

    def _serve(self, heads: list[Asking], outcome: ExchangeReply, store: Store) -> None:
        """Give the waiting calls their turns. A turn whose call has left meanwhile, or would be late, is passed on."""
        now = clock.current().now()
        self._look_at = self._next_turn = -math.inf
        unused: list[ReservedTurn] = []
        for waiter, grant in zip(heads, outcome.grants, strict=False):
            if not grant.seq:
                self._look_at = now + self._pause(grant)
                if grant.back == 0:
                    self._next_turn = now + grant.wait + HORIZON
                break
            turn = self._take_turn(grant, waiter.need, store)
            if self._queue and self._queue[0] is waiter:
                self._queue.popleft()
                self._refuse(waiter, turn.at)
                if waiter.error is None:
                    self._give(waiter, turn)
                    continue
                self._next_turn = turn.at
            unused.append(turn)
        if self._next_turn > now:
            self._refuse_late()
        for turn in reversed(unused):  # what goes back does so the youngest first
            self._pass_on(turn)
        self._wake_head()

    def _refuse_late(self) -> None:
        """Refuse the calls in the queue whose next turn would be too late."""
        waiting = cast("list[Asking]", [*self._queue])
        for waiter in waiting:
            self._refuse(waiter, self._next_turn)
        if any(waiter.error for waiter in waiting):
            self._queue.clear()  # and filled again: to take many out one by one is quadratic
            self._queue.extend(waiter for waiter in waiting if waiter.error is None)

    def _take_turn(self, grant: Grant, need: Tokens, store: Store) -> ReservedTurn:
        """Take a turn that was granted by ``store``."""
        return ReservedTurn(clock.current().now() + grant.wait, grant, need, store)

    def _give(self, waiter: Asking, turn: ReservedTurn) -> None:
        waiter.turn = turn
        self._in_flight += 1
        if turn.at > clock.current().now():
            bisect.insort(self._held, waiter, key=_moment)
        waiter.wake()

    def _return_unused(self, turns: Sequence[ReservedTurn]) -> None:
        self._ends += [make_unused_end(turn) for turn in turns]
        self._step()

    def _pause(self, refusal: Grant) -> float:
        """Return in how many seconds to ask again."""
        if refusal.back == 2:
            return math.inf  # the call that ends next asks
        if refusal.back == 3:
            return refusal.wait
        if refusal.back == 0 and (starts := self._starts()):  # as soon as half of what is held has begun
            return max(starts[len(starts) // 2] - clock.current().now(), 0.0)
        return refusal.wait + HORIZON / 2

    def _heads(self) -> list[Asking]:
        return cast("list[Asking]", list(itertools.islice(self._queue, TOGETHER)))  # no others wait here

    def _starts(self) -> list[float]:
        """Return the moments of the turns that are held here."""
        return sorted([*map(_moment, self._held), *(turn.at for turn in self._free)])

    def _wake_head(self) -> None:
        if self._queue:
            self._queue[0].wake()


def make_unused_end(turn: ReservedTurn) -> End:
    """Return what the store is told of a turn that nobody used."""
    return End(turn.grant.seq, 0, 0, turn.grant.back)


def _moment(waiter: Asking) -> float:
    """Return when a call that has a turn may go."""
    assert waiter.turn is not None
    return waiter.turn.at
