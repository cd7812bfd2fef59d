"""The limiter of a deployment, as the router has it asked: it refuses where the deployment has no room, and never waits.

So one trip to a store says whether a deployment rests for any process, and reserves the tokens of the attempt. Where no
deployment has room, the router has one of them asked with patience: no longer than it waits at all.
"""

import math
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from hocket.errors import RateLimitError
from hocket.http.rate_limits import read_rate_limits
from hocket.rate_limiters import BaseRateLimiter, Permit
from hocket.routing.deployment import DeploymentPlace

__all__ = ["Gate", "NoRoomError", "patience"]

patience: ContextVar[float | None] = ContextVar("hocket_routing_patience", default=None)
"""Seconds that the attempt waits for its turn at most; None: it does not wait."""


class NoRoomError(RateLimitError):
    """A deployment takes no attempt for now. Nothing was sent."""


class Gate(BaseRateLimiter):
    """Asks the limiter of a place. The router's verbs are async for every caller."""

    def __init__(self, place: DeploymentPlace) -> None:
        self._place = place

    def acquire(self, *, blocking: bool = True) -> bool:
        raise NotImplementedError

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return await self.areserve(blocking=blocking) is not None

    async def areserve(
        self, tokens: int | tuple[int, int | None] = 0, *, blocking: bool = True, within: float | None = None
    ) -> Permit | None:
        """Return a permit at once, or as far as `patience` goes.

        Raises:
            NoRoomError: there is none. ``retry_after`` is set where the deployment rests, or its turn is known.
        """
        limiter, longest = self._place.limiter, patience.get()
        if longest is not None:
            try:
                return await limiter.areserve(tokens, within=longest if within is None else min(within, longest))
            except RateLimitError as late:
                if longest == math.inf:
                    raise
                raise self._make_error(late.retry_after, retryable=False) from late
        permit = await limiter.areserve(tokens, blocking=False)
        if permit is not None:
            return permit
        paused = (await limiter.astate()).paused
        if paused:
            self._place.rest(paused, "another process was refused")
        raise self._make_error(paused or None)

    def _make_error(self, retry_after: float | None, **fields: Any) -> NoRoomError:
        error = NoRoomError(f"{self._place.name} takes no request for now", retry_after=retry_after, **fields)
        error.was_sent = False
        return error

    async def alearn(self, headers: Mapping[str, str]) -> None:
        """Take what a reply says of the limits of the account."""
        shares = [
            limit.remaining / limit.per_minute
            for limit in read_rate_limits(headers).values()
            if limit.remaining is not None and limit.per_minute
        ]
        self._place.headroom = min(shares, default=1.0)
        await self._place.limiter.alearn(headers)

    async def aslow_down(self, retry_after: float | None = None) -> None:
        """Go slower; and with ``retry_after`` rest for so long, after which one goes first."""
        await self._place.limiter.aslow_down(retry_after)
        if retry_after is not None:
            await self._place.limiter.apause(retry_after, probe=True)
