"""A second deployment is asked where the first one is late: the first to speak has won, and the other one is called off.

Both are asked in tasks of their own, as requests that calls share are: so a loser that does not heed its cancellation holds
up nobody, and each has its own chunks. What the winner has said is handed on by the task of the caller.
"""

import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import anyio

from hocket._pipeline.call import Call
from hocket._pipeline.runs import RelayedEvent
from hocket._pipeline.single_flight import SharedRequest
from hocket._runtime.cancellation import refuse, wait_shielded
from hocket._runtime.clock import Alarm
from hocket.routing.deployment import DeploymentPlace
from hocket.routing.gate import NoRoomError

__all__ = ["HedgeTimer", "Race"]

WINDOW = 256
"""First tokens of which the time to wait is learned."""

FEWEST = 20
"""First tokens until which nothing is known."""

EVERY = 16
"""First tokens after which the time to wait is found again."""

MOST_SAVED = 10.0
"""Hedges that calls which needed none leave to later ones."""

LOSER_GRACE = 0.1
"""Seconds that the answer waits for the end of the loser."""


class HedgeTimer:
    """When a second deployment is asked: after twice the p90 of the last first tokens, and for a share of the calls at most.

    It is not the p95 itself: where one call in twenty is slow, that is the time of a slow one, or of a quick one, by chance.

    Args:
        share: of the calls that may have a second deployment asked.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._saved = 0.0
        self._seen: list[float] = []
        self._count = 0
        self._delay: float | None = None
        self._lock = threading.Lock()

    def note_call(self) -> None:
        """Note that a call begins."""
        with self._lock:
            self._saved = min(MOST_SAVED, self._saved + self._share)

    def note_first_token(self, seconds: float) -> None:
        """Note after how many seconds a deployment has begun to answer."""
        with self._lock:
            if len(self._seen) < WINDOW:
                self._seen.append(seconds)
            else:
                self._seen[self._count % WINDOW] = seconds
            self._count += 1
            if self._count == FEWEST or (self._count > FEWEST and self._count % EVERY == 0):
                self._delay = 2 * sorted(self._seen)[int(0.9 * len(self._seen))]

    @property
    def delay(self) -> float | None:
        """Seconds to wait for the first deployment; None: there is to be no second one now."""
        return self._delay if self._saved >= 1 else None

    def take(self) -> bool:
        """Take one of the hedges that are left; return whether there was one."""
        with self._lock:
            is_left = self._saved >= 1
            self._saved -= is_left
        return is_left

    def give_back(self) -> None:
        """Take back a hedge that was not made."""
        with self._lock:
            self._saved += 1


class Race:
    """The attempts at one answer. `leave` it at its end, whatever that is.

    Args:
        call: wants the answer.
        send: makes an attempt at a deployment.
    """

    def __init__(self, call: Call, send: Callable[[DeploymentPlace, Call], Coroutine[Any, Any, Any]]) -> None:
        self._call = call
        self._send = send
        self._runners: list[_Runner] = []
        self._winner: _Runner | None = None
        self._end = anyio.Event()

    def enter(self, place: DeploymentPlace, attempt: Call) -> None:
        """Have a deployment be asked, too."""
        runner = _Runner(self, place)
        self._runners.append(runner)
        shared = attempt.share(runner)
        shared.delivery.attempt = self._call.delivery.attempt + len(self._runners) - 1
        runner.start(shared, partial(self._send, place))

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until one has spoken, or all have failed; return whether that came within so many seconds by the clock."""
        with Alarm() as alarm:
            alarm.set(seconds)
            await self._end.wait()
            return True
        return False

    async def finish(self) -> tuple[Any, DeploymentPlace]:
        """Hand on the chunks of the winner; return its result, and who it is.

        Raises:
            Exception: of the winner, once it had spoken; or of the first that was asked, where all have failed.
        """
        await self.wait()
        runner = self._winner or self._runners[0]
        delivery = self._call.delivery
        try:
            result, has_chunks = await runner.join(self._call)
        finally:
            delivery.is_billed |= any(one.is_billed for one in self._runners)
        return delivery.fold.result() if has_chunks else result, runner.place

    async def leave(self) -> None:
        """Call off those that are still asked. Their end is waited for, but not for long where there is an answer."""
        for runner in self._runners:
            runner.cancel(self._call)
        for runner in self._runners:
            if self._winner is None:
                await wait_shielded(runner.over)
            elif not runner.over.is_set():
                with anyio.move_on_after(LOSER_GRACE):
                    await runner.over.wait()

    def claim(self, runner: "_Runner") -> bool:
        """Have a runner that speaks win, unless another one has; return whether it has won."""
        if self._winner is None:
            self._winner = runner
            for other in self._runners:
                if other is not runner:
                    other.cancel(self._call)
            self._end.set()
        return self._winner is runner

    def is_refused(self, place: DeploymentPlace) -> bool:
        """Whether a deployment had no room for its attempt."""
        return any(isinstance(one.error, NoRoomError) for one in self._runners if one.place is place)

    def note_end(self) -> None:
        """Note that a runner has failed."""
        if all(runner.over.is_set() for runner in self._runners):
            self._end.set()


class _Runner(SharedRequest):
    """One of the attempts. It has spoken with its first chunk, or with a result."""

    def __init__(self, race: Race, place: DeploymentPlace) -> None:
        super().__init__()
        self.place = place
        self._race = race

    @property
    def error(self) -> BaseException | None:
        return self._error

    @property
    def is_billed(self) -> bool:
        return self._call is not None and self._call.delivery.is_billed

    def put(self, item: Any) -> Awaitable[None] | None:
        if item.__class__ is not RelayedEvent and not self._race.claim(self):
            return refuse()
        return super().put(item)

    def _wake_subscribers(self) -> None:
        if self.over.is_set():
            if self._error is None and not self._is_abandoned:
                self._race.claim(self)
            self._race.note_end()
        super()._wake_subscribers()
