"""A store that fails is left alone for a while.

A call of a model that asks a store on its way must not wait for one that is gone: each call would pay the whole time-out,
and the store, when it comes back, would meet all that piled up. So a wait is bounded, and after a few failures in a row
nobody asks for some seconds; then one caller tries, while the others still do without.
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
"""Seconds for which it is."""

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
    """

    def __init__(self, owner: str, patience: float | None, log: logging.Logger, consequence: str) -> None:
        self.owner: str = owner
        self.patience: float | None = patience
        self._log = log
        self._consequence = consequence
        self._failures = 0
        self._failed_at = -math.inf
        self._left_alone_until = 0.0
        self._quiet_until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the store is left alone now. (Open as an electric circuit is: Nygard's circuit breaker.)"""
        return self._failures >= FAILURES and clock.current().now() < self._left_alone_until

    async def run(self, mode: Mode, job: Callable[[], Awaitable[T]]) -> T:
        """Do some work on the store.

        Args:
            mode: the caller's. In the blocking one ``job`` does not suspend.
            job: the work. Where it takes too long it is cancelled while it waits.

        Raises:
            StoreUnavailable: the store is left alone, or took longer than ``patience``.
            StoreError: the work failed.
        """
        if self._failures >= FAILURES:
            self._let_one_through()
        began = clock.current().now()
        try:
            patience = self.patience if mode.is_async else None
            result = await (job() if patience is None else self._await(job, patience))
        except StoreError as error:
            self._record_failure(error, began)
            raise
        self._failures = 0
        return result

    async def _await(self, job: Callable[[], Awaitable[T]], patience: float) -> T:
        with anyio.move_on_after(patience):
            return await job()
        raise StoreUnavailable(f"{self.owner}: no answer within {patience:g} s")

    def _let_one_through(self) -> None:
        """Let the first caller after each pause try, and send the others away."""
        now = clock.current().now()
        if now < self._left_alone_until:
            raise StoreUnavailable(
                f"{self.owner}: it failed {self._failures} times in a row; it is left alone for "
                f"{self._left_alone_until - now:.1f} s more"
            )
        self._left_alone_until = now + PAUSE

    def _record_failure(self, error: StoreError, began: float) -> None:
        now = clock.current().now()
        if began >= self._failed_at:
            self._failures += 1
            self._failed_at = now
        self._left_alone_until = now + PAUSE
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET
            self._log.warning("%s; %s", error, self._consequence)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_failures": 0, "_failed_at": -math.inf, "_left_alone_until": 0.0, "_quiet_until": 0.0}
