"""A store that fails is left alone for a while.

A call of a model that asks a store on its way must not wait for one that is gone: each call would pay the whole time-out,
and the store, when it comes back, would meet all that piled up. So a wait is bounded, and after a few failures in a row
nobody asks for some seconds; then one caller tries, while the others still do without, or wait a moment for its outcome.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["Circuit"]

T = TypeVar("T")

FAILURES = 3
"""Failures in a row after which the store is left alone. Those of calls at the same time, by the clock, count as one: a
process that stands still for a moment finds all of them late."""

PAUSE = 5.0
"""Seconds for which it is; and for which nobody else tries beside one who does."""

SILENCE = 3.0
"""Seconds without an answer to anybody after which one failure is enough: to count three would take three time-outs."""

QUIET = 60.0
"""Seconds between two lines of the log about the same store."""


class Circuit:
    """Stands before one store, for all tasks and threads of the process.

    There is no lock: should two callers count at the same moment, the store is asked once more or once less.

    Args:
        owner: the store, as errors and log show it, without secrets.
        patience: seconds that an async caller waits for an answer; None: the work sees to that. What a sync caller waits is
            the client's to say.
        log: where failures are told, at most once a minute.
        consequence: what a failure means for the caller, for the log: "it counts as empty".
        wait: seconds for which the store is left alone, and a caller waits for another's trial, where to do without is an
            error; 0: nobody waits, and it is left alone for `PAUSE`.
    """

    def __init__(
        self, owner: str, patience: float | None, log: logging.Logger, consequence: str, wait: float = 0.0
    ) -> None:
        self.owner: str = owner
        self.patience: float | None = patience
        self._log = log
        self._consequence = consequence
        self._wait = wait
        self._reset()

    def _reset(self) -> None:
        self._failures = 0
        self._failed_at = self._answered_at = -math.inf
        self._left_alone_until = self._trial_ends_at = self._quiet_until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the store has failed too often since it last answered. (As an electric circuit is: Nygard's breaker.)"""
        return self._failures >= FAILURES

    async def run(self, mode: Mode, job: Callable[[], Awaitable[T]]) -> T:
        """Do some work on the store.

        Args:
            mode: the caller's. In the blocking one ``job`` does not suspend.
            job: the work. Where it takes too long it is cancelled while it waits.

        Raises:
            StoreUnavailable: the store is left alone, or took longer than ``patience``.
            StoreError: the work failed.
        """
        is_trial = self.is_open and await self._begin_trial(mode)
        began = clock.current().now()
        try:
            patience = self.patience if mode.is_async else None
            result = await (job() if patience is None else self._await(job, patience))
        except StoreError as error:
            self._record_failure(error, began, is_trial)
            raise
        finally:
            if is_trial:
                self._trial_ends_at = 0.0
        self._failures, self._answered_at = 0, clock.current().now()
        return result

    async def _await(self, job: Callable[[], Awaitable[T]], patience: float) -> T:
        with anyio.move_on_after(patience):
            return await job()
        raise StoreUnavailable(f"{self.owner}: no answer within {patience:g} s")

    async def _begin_trial(self, mode: Mode) -> bool:
        """Let the first caller after each pause try; whether it is this one. The others wait for it, or are sent away."""
        waits_until = clock.current().now() + self._wait
        while self.is_open:
            now = clock.current().now()
            if now >= max(self._left_alone_until, self._trial_ends_at):
                self._trial_ends_at = now + PAUSE
                return True
            if now < self._left_alone_until or now >= waits_until:
                why = f"it failed {self._failures} times in a row, or was silent for long"
                left = max(self._left_alone_until, self._trial_ends_at) - now
                raise StoreUnavailable(f"{self.owner}: {why}; it is left alone for {left:.1f} s more")
            await mode.sleep(0.02)
        return False

    def _record_failure(self, error: StoreError, began: float, is_trial: bool) -> None:
        now = clock.current().now()
        is_news = is_trial or not self.is_open  # others that began before it was left alone fail late
        if is_news and began >= self._answered_at:
            if began >= self._failed_at:
                self._failures += 1
                self._failed_at = now
            if now - began >= SILENCE and (self.patience is None or self.patience >= SILENCE):
                self._failures = max(self._failures, FAILURES)
            self._left_alone_until = now + (self._wait or PAUSE)
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET
            self._log.warning("%s; %s", error, self._consequence)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()
