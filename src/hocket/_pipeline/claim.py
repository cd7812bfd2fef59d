"""Of equal calls that miss, in whatever process, one asks the model; the others wait for its answer in the cache.

The call that asks holds a claim in the cache, and renews it until the model has answered. The claim ends when the answer is
stored. Where there is no answer, it is released, and one of the others asks. They look again after 10 to 250 ms, each within
the deadline of its own call. In a process the calls of an event loop share a request already (`single_flight`), and with it
one claim.
"""

import contextlib
import random
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio

from hocket._pipeline.cache_access import FAILED, CacheKey, Look, look_up, release, store, take_claim
from hocket._pipeline.call import Call, Next
from hocket._pipeline.observe import check_total
from hocket._runtime import clock
from hocket._runtime.detached import spawn
from hocket._runtime.own_thread import start_thread
from hocket.caches import BaseCache, Claim
from hocket.outputs import Generation

__all__ = ["Found", "ask_in_turn"]

SHORTEST = 0.01
LONGEST = 0.25
"""Seconds between two looks."""

GROWTH = 2
LOOKS = 3
"""How often the others look for the answer until they ask for the claim again, which is dearer: it writes."""


class Found(NamedTuple):
    """An answer that somebody else has asked for meanwhile: what the cache holds of it."""

    candidates: list[Generation]


async def ask_in_turn(cache: BaseCache, key: CacheKey, lease: float, call_next: Next, call: Call) -> Any:
    """Get an answer and store it, unless somebody else does.

    Args:
        cache: has been looked into.
        key: of the answer.
        lease: seconds for which a claim stands unless it is renewed.
        call_next: the rest of the pipeline.
        call: the call.

    Returns:
        the result, or `Found`.
    """
    turn = _Turn(call, cache, key, lease)
    try:
        found = await turn.wait()
        if found is not None:
            return Found(found)
        turn.keep()
        result = await call_next(call)
        turn.is_answered = await store(call, cache, key, call.answer.candidates(result, call.delivery.sizes))
        return result
    finally:
        await turn.leave()


class _Turn:
    """A call's way to its turn, and the claim that it holds then."""

    def __init__(self, call: Call, cache: BaseCache, key: CacheKey, lease: float) -> None:
        self._call = call
        self._cache = cache
        self._key = key
        self._lease = lease
        self._claim: Claim | None = None
        self._has_failed = False
        self._has_left = False
        self._stop_renewing: Callable[[], object] | None = None
        self.is_answered = False

    async def wait(self) -> list[Generation] | None:
        """Wait for the answer, or until it is for this call to ask; return the answer, or None."""
        looks, pause = 1, SHORTEST
        while True:
            await self._call.mode.run_shielded(self._take())  # cut short, nobody would know of a claim to release
            if self._has_failed:
                return None
            if self._claim is not None:  # the answer may have been stored since the last look
                return await self._look_up()
            for _ in range(looks):
                await self._rest(pause)
                pause = min(pause * GROWTH, LONGEST)
                stored = await self._look_up()
                if stored is not None:
                    return stored
            looks = LOOKS

    async def _look_up(self) -> list[Generation] | None:
        stored = await look_up(self._call, self._cache, self._key)
        return None if isinstance(stored, Look) else stored

    async def _rest(self, seconds: float) -> None:
        call = self._call
        check_total(call)
        await call.mode.sleep(_shorten(call, seconds * random.uniform(0.5, 1.0)))

    async def _take(self) -> None:
        claim = await take_claim(self._call, self._cache, self._key, self._lease)
        self._has_failed = claim is FAILED
        self._claim = None if claim is FAILED else claim
        if self._has_left:
            await self._release()

    def keep(self) -> None:
        """Renew the claim from now on, each time that half of its lease is over."""
        if self._claim is not None and self._claim.__class__ is not Claim:
            renew = _renew_in_task if self._call.mode.is_async else _renew_in_thread
            self._stop_renewing = renew(self._claim, self._lease / 2)

    async def leave(self) -> None:
        """Release the claim, unless the answer has ended it."""
        self._has_left = True
        if self._stop_renewing is not None:
            self._stop_renewing()
        if not self.is_answered:
            await self._call.mode.run_shielded(self._release())

    async def _release(self) -> None:
        claim, self._claim = self._claim, None
        if claim is not None:
            await release(self._call, self._cache, claim)


def _shorten(call: Call, seconds: float) -> float:
    """Return how long a call may sleep: until its deadline at most, which in sync code nothing else would keep."""
    ends_at = call.limits.ends_at
    return seconds if ends_at is None else max(0.0, min(seconds, ends_at - clock.current().now()))


def _renew_in_task(claim: Claim, interval: float) -> Callable[[], object]:
    async def renew() -> None:
        stands = True
        while stands:
            try:
                await clock.current().sleep(interval)
                stands = await claim.arenew()
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException:  # nobody waits for this task; and a store that was down may be back in time
                continue

    return spawn(renew).cancel


def _renew_in_thread(claim: Claim, interval: float) -> Callable[[], object]:
    is_over = threading.Event()

    def renew() -> None:
        stands = True
        while stands and not is_over.wait(interval):
            with contextlib.suppress(Exception):
                stands = claim.renew()

    start_thread("hocket claim", renew)
    return is_over.set
