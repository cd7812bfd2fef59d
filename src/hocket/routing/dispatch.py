"""The stage of a router's pipeline, between the retries and what an attempt reserves: which deployment makes the attempt.

An attempt is made by the pipeline of the deployment's own model, so that its budget, ledger, limits and adaptation of
messages hold. One that fails at a deployment is followed at once by one at another. Only where none is left, the policy's
pause comes, or the end of the shortest rest.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from hocket._pipeline.call import Call
from hocket._runtime import clock
from hocket.errors import (
    AuthenticationError,
    ContextLengthExceeded,
    LLMError,
    PermissionDenied,
    QuotaExceeded,
    RateLimitError,
    ResourceNotFound,
    TotalTimeout,
)
from hocket.messages import AIMessage
from hocket.retries import BudgetScope, Failure, retry_budget
from hocket.routing.attempt import open_attempt, sign
from hocket.routing.choice import Rule, choose
from hocket.routing.deployment import DeploymentPlace
from hocket.routing.gate import NoRoomError, patience
from hocket.routing.hedging import HedgeTimer, Race

__all__ = ["Dispatcher"]

MOST_DOUBLED = 8
"""The most by which rests in a row lengthen the next one."""

OWN_FAULTS = (AuthenticationError, PermissionDenied, QuotaExceeded, ResourceNotFound)
"""Errors that are the deployment's own, and not the request's."""


@dataclass
class _Progress:
    """How far a round over the deployments is.

    Attributes:
        tried: deployments that have failed.
        full: those that had no room.
        failure: the last error.
    """

    tried: frozenset[str] = frozenset()
    full: frozenset[str] = frozenset()
    failure: Exception | None = None


@dataclass(eq=False)
class Dispatcher:
    """Has deployments answer the calls of a router, whose fields these are, but for ``places``: its deployments.

    Args:
        hedge: the share of calls that may be hedged; None: none is.
    """

    name: str
    places: tuple[DeploymentPlace, ...]
    by: Rule
    affinity: bool
    cooldown: float
    allowed_fails: int
    hedge: float | None
    longest_wait: float

    def __post_init__(self) -> None:
        self._timers = None if self.hedge is None else {kind: HedgeTimer(self.hedge) for kind in (True, False)}

    async def ask(self, call: Call) -> Any:
        """Ask deployments, one after another, until one answers, or none is left that may do better."""
        policy, progress = call.limits.retry, _Progress()
        with retry_budget(1 if policy is None else policy.max_attempts) as budget:
            place = self._choose(call, progress)
            while True:
                is_waited_for = place is None
                if place is None:
                    if progress.failure is not None and not self._find_able(progress, progress.full):
                        raise self._set_pause(progress.failure)
                    place = await self._wait_for_one(call, progress)
                try:
                    return await self._have_answer(call, place, progress, budget, is_waited_for)
                except NoRoomError:
                    if is_waited_for:
                        progress.full -= {place.name}
                        if not progress.full:
                            raise
                        place = None
                    else:
                        progress.full |= {place.name}
                        place = self._choose(call, progress)
                except Exception as error:
                    budget.count()
                    if isinstance(error, TotalTimeout):
                        error.retryable = not call.limits.is_over
                    if budget.is_spent or call.delivery.has_handed_out or not _goes_elsewhere(error):
                        raise
                    progress.failure = error
                    progress.tried |= {place.name}
                    if is_waited_for:
                        progress.full = frozenset()
                    place = self._choose(call, progress)
                    if place is not None:
                        await _emit_retry(call, error, len(progress.tried))
                    call.delivery.restart()

    # -- which one

    def _find_able(self, progress: _Progress, among: frozenset[str] | None = None) -> list[DeploymentPlace]:
        """Return those that may be asked, of some names, or of those that have neither failed nor been full."""
        time = clock.current().now()
        able = [
            place
            for place in self.places
            if place.rests_until <= time
            and (place.name in among if among is not None else place.name not in progress.tried | progress.full)
        ]
        if isinstance(progress.failure, ContextLengthExceeded):
            largest = max((place.window for place in self.places if place.name in progress.tried), default=0)
            able = [place for place in able if place.window > largest]
        return able

    def _choose(self, call: Call, progress: _Progress) -> DeploymentPlace | None:
        able = self._find_able(progress)
        if not able:
            return None
        if not self.affinity:
            return choose(able, self.by)
        last = next((one for one in reversed(call.request.prompts[0]) if isinstance(one, AIMessage)), None)
        name = last and last.response_metadata.get("deployment")
        for place in able:
            if place.name == name:
                return place
        session = (call.request.metadata or {}).get("session_id")
        return choose(able, self.by, None if session is None else str(session))

    async def _wait_for_one(self, call: Call, progress: _Progress) -> DeploymentPlace:
        """Return one that is busy; where all rest, wait for the first.

        Raises:
            RateLimitError: it would be back after the deadline, or after the longest wait.
        """
        while not (busy := self._find_able(progress, progress.full or frozenset(place.name for place in self.places))):
            time = clock.current().now()
            rest = min(place.rests_until for place in self.places) - time
            if rest > self.longest_wait or (call.limits.ends_at is not None and time + rest >= call.limits.ends_at):
                error = RateLimitError(
                    f"all deployments of {self.name} rest", retry_after=rest, retryable=rest <= self.longest_wait
                )
                error.was_sent = False
                raise error
            await call.mode.sleep(rest)
            progress.full = frozenset()
        return choose(busy, self.by)

    # -- asking it

    async def _have_answer(
        self, call: Call, place: DeploymentPlace, progress: _Progress, budget: BudgetScope, is_waited_for: bool
    ) -> Any:
        """Have a deployment answer, or another one that is quicker, and say in the answer who did."""
        timer = None if self._timers is None or is_waited_for else self._timers[call.request.streaming]
        if timer is not None:
            timer.note_call()
            if timer.delay is not None and budget.has_spare:
                return await self._have_race(call, place, progress, budget, timer)
        token = patience.set(self.longest_wait if is_waited_for else None)
        try:
            return await sign(call, await self._send(place, open_attempt(call, place)), {"deployment": place.name})
        finally:
            patience.reset(token)

    async def _have_race(
        self, call: Call, place: DeploymentPlace, progress: _Progress, budget: BudgetScope, timer: HedgeTimer
    ) -> Any:
        """Have a deployment answer, and after the time of a timer another one, too."""
        race, second = Race(call, self._send), None
        try:
            race.enter(place, open_attempt(call, place))
            if not await race.wait(timer.delay):
                second = self._choose(call, replace(progress, tried=progress.tried | {place.name}, failure=None))
                if second is not None and timer.take():
                    budget.count()
                    progress.tried |= {second.name}
                    race.enter(second, open_attempt(call, second, is_hedge=True))
            result, winner = await race.finish()
        finally:
            await race.leave()
            if second is not None and race.is_refused(second):
                timer.give_back()
        return await sign(call, result, {"deployment": winner.name})

    async def _send(self, place: DeploymentPlace, attempt: Call) -> Any:
        """Make an attempt at a deployment, and note what came of it."""
        began = clock.current().now()
        with place.lock:
            place.in_flight += 1
        try:
            result = await place.ask(attempt)
        except LLMError as error:
            error.retryable |= isinstance(error, TotalTimeout)  # the deployment's own
            await self._note_failure(place, error)
            raise
        finally:
            with place.lock:
                place.in_flight -= 1
            if attempt.delivery.first_chunk_at is not None:  # it counts, whatever the end: many readers leave early
                self._note_first_token(place, attempt, attempt.delivery.first_chunk_at - began)
        if attempt.delivery.first_chunk_at is None:
            self._note_first_token(place, attempt, clock.current().now() - began)
        place.note_answer()
        return result

    def _note_first_token(self, place: DeploymentPlace, attempt: Call, seconds: float) -> None:
        place.note_first_token(seconds)
        if self._timers is not None:
            self._timers[attempt.request.streaming].note_first_token(seconds)

    async def _note_failure(self, place: DeploymentPlace, error: LLMError) -> None:
        """Have a deployment rest, if its failure says so."""
        if isinstance(error, NoRoomError):
            return
        reason = f"{type(error).__name__}: {error.message}"
        if error.retryable and error.retry_after is not None:
            if not isinstance(error, RateLimitError):  # of that one its limiter has been told
                await place.limiter.apause(error.retry_after, probe=True)
            place.rest(error.retry_after, reason)
            return
        is_own = isinstance(error, OWN_FAULTS)
        with place.lock:
            place.fails += error.retryable or is_own
            if not (is_own or (error.retryable and place.fails >= (1 if place.rests else self.allowed_fails))):
                return
            now = clock.current().now()
            is_last = all(one is place or one.rests_until > now for one in self.places)
            if is_last and self.longest_wait == math.inf:
                return  # nobody is asked in its place
            seconds = self.cooldown * min(2**place.rests, MOST_DOUBLED)
            place.rests += 1
            place.fails = 0
            place.rest(seconds, reason)
        await place.limiter.apause(seconds, probe=True)

    def _set_pause(self, error: Exception) -> Exception:
        """Return the error of the last deployment, with the time after which the first one is back."""
        now = clock.current().now()
        rest = min((place.rests_until - now for place in self.places), default=-math.inf)
        if isinstance(error, LLMError) and rest > 0:
            error.retry_after, error.retryable = rest, rest <= self.longest_wait
        return error


def _goes_elsewhere(error: Exception) -> bool:
    """Whether another deployment may do better."""
    return isinstance(error, LLMError) and (error.retryable or isinstance(error, (*OWN_FAULTS, ContextLengthExceeded)))


async def _emit_retry(call: Call, error: Exception, attempt: int) -> None:
    state, facts = Failure(attempt, error, 0.0).retry_event_args
    await call.runs.emit_shared("on_retry", state, **facts, response=call.failure_response(error))
