"""The stage that reserves for an attempt, has it made, and settles what it came to: the same for whatever is metered.

Those that reserve are asked one after another; where one refuses, or the caller is cancelled meanwhile, those before it get
back what they hold. Each end of an attempt is settled, also that of one whose caller has been cancelled: it then takes a
few seconds at most.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import ceil
from typing import Any, TypeVar

from hocket._metering.attempt import Attempt, AttemptEnd, Outcome, ReplyHead, Reservation, Reserver, TokenNeed
from hocket._metering.batch_row import BatchPlace, batch_place
from hocket._metering.listeners import reply_listener
from hocket._runtime import clock
from hocket._runtime.cancellation import is_cancellation
from hocket.errors import HocketError, LLMError
from hocket.messages import UsageMetadata

__all__ = ["NOTHING", "InputCorrection", "MeteredAttempt", "complete_usage", "is_unbilled", "reserve_first"]

T = TypeVar("T")

NOTHING: UsageMetadata = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}

_log = logging.getLogger("hocket.reservations")


class InputCorrection:
    """How far a model's server has counted above the estimates of its prompts, so that the next ones hold.

    It is kept as a ratio and as a number of tokens, and the smaller of both is added: what a server puts before each prompt
    makes a short one many times as long, and a long one hardly longer.
    """

    def __init__(self) -> None:
        self._ratio = self._excess = 0.0

    def correct(self, estimated: int) -> int:
        """Return how many tokens a prompt may have."""
        return estimated + ceil(min(estimated * self._ratio, self._excess))

    def learn(self, estimated: int, counted: int) -> None:
        """Take a server's count. One that is beyond belief is not: it would have every later call refused."""
        excess = counted - estimated
        if excess <= 16 * estimated + 1000:
            self._ratio = max(excess / max(estimated, 1), self._ratio * 15 / 16, 0.0)
            self._excess = max(excess, self._excess * 15 / 16, 0.0)


class MeteredAttempt(Attempt, ABC):
    """An attempt on its way through the stage. Subclasses say whose it is, and how tokens are read and estimated.

    Args:
        correction: of the estimates of its model, which learns from the end of the attempt.
        place: the row of a batch that it is for; None: that of the running task, if there is one.
    """

    _reply: ReplyHead | None = None
    _began_at: float | None = None
    _counted: int | None = None

    def __init__(self, correction: InputCorrection, place: BatchPlace | None = None) -> None:
        self._correction = correction
        self._place = place or batch_place.get()

    @property
    def batch_place(self) -> BatchPlace | None:
        return self._place

    async def estimate_need(self) -> TokenNeed:
        need = await self._count_need()
        self._counted = need.input
        return need._replace(input=self._correction.correct(need.input))

    @abstractmethod
    async def _count_need(self) -> TokenNeed:
        """Return what the attempt may use at most, by what is known of its request alone."""

    @abstractmethod
    async def emit_wait(self, since: float) -> None:
        """Tell the handlers that the attempt was held back since then, in seconds by the clock."""

    @abstractmethod
    def _read_usage(self, result: Any) -> UsageMetadata | None:
        """Return the tokens that a result says were used; None: it says nothing."""

    @abstractmethod
    async def _estimate_usage(self) -> UsageMetadata:
        """Return what an attempt without an end must have used."""

    @property
    def _has_answered(self) -> bool:
        """Whether a part of an answer has come, so that it was billed whatever happened then."""
        return False

    @property
    def _is_closed(self) -> bool:
        """Whether the caller that wanted the answer has left."""
        return False

    @property
    def _first_token_at(self) -> float | None:
        """When the first part of a streamed answer came, in seconds by the clock."""
        return None

    def hear_reply(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of a reply."""
        self._reply = ReplyHead(status, headers, clock.current().now())

    def begin(self) -> None:
        """Have the time of the attempt begin."""
        self._began_at = clock.current().now()

    def succeed(self, result: Any) -> AttemptEnd:
        """Return the end of an attempt that gave a result."""
        usage = self._read_usage(result)
        if usage is not None and self._counted is not None:
            self._correction.learn(self._counted, usage["input_tokens"])
        return self._end("ok", usage)

    async def fail(self, error: BaseException) -> AttemptEnd:
        """Return the end of an attempt that ``error`` ended."""
        outcome: Outcome = "failed"
        if self._is_closed:
            outcome = "closed"
        elif self.mode.is_async and is_cancellation(error):
            outcome = "cancelled"
        if not self._has_answered and (self._began_at is None or is_unbilled(error)):
            return self._end(outcome, NOTHING, is_billed=False, error=error)
        return self._end(outcome, await self._estimate_usage(), is_estimate=True, error=error)

    def _end(
        self,
        outcome: Outcome,
        usage: UsageMetadata | None,
        *,
        is_estimate: bool = False,
        is_billed: bool = True,
        error: BaseException | None = None,
    ) -> AttemptEnd:
        now = clock.current().now()
        began, first = self._began_at, self._first_token_at
        return AttemptEnd(outcome, usage, is_estimate, is_billed, error, self._reply, began, first, now)


async def reserve_first(attempt: MeteredAttempt, reservers: Sequence[Reserver], make: Callable[[], Awaitable[T]]) -> T:
    """Have ``reservers`` reserve for an attempt, in this order, make it, and settle.

    Args:
        attempt: the attempt.
        reservers: limits and budgets; each may wait, or refuse.
        make: makes it.

    Raises:
        Exception: what a reserver raised, or ``make``.
    """
    held: list[Reservation] = []
    try:
        asked_at = clock.current().now()
        for reserver in reservers:
            reservation = await reserver.reserve(attempt)
            if reservation is not None:
                held.append(reservation)
        await attempt.emit_wait(asked_at)
        attempt.begin()
        result = await _listen(attempt, make)
    except BaseException as error:
        if held:
            await attempt.mode.run_shielded(_settle_failure(attempt, held, error))
        raise
    if held:
        settling = _settle_all(held, attempt.succeed(result))
        await (settling if all(one.is_local for one in held) else attempt.mode.run_shielded(_limit(attempt, settling)))
    return result


async def _listen(attempt: MeteredAttempt, make: Callable[[], Awaitable[T]]) -> T:
    token = reply_listener.set(attempt.hear_reply)
    try:
        return await make()
    finally:
        reply_listener.reset(token)


async def _settle_failure(attempt: MeteredAttempt, held: Sequence[Reservation], error: BaseException) -> None:
    async def settle() -> None:
        await _settle_all(held, await attempt.fail(error))

    await _limit(attempt, settle())


async def _settle_all(held: Sequence[Reservation], end: AttemptEnd) -> None:
    """Settle what is held, the last first. What cannot be settled is logged: an answer is not lost for it."""
    for reservation in reversed(held):
        try:
            await reservation.settle(end)
        except Exception as error:
            _log.warning("what a call came to could not be settled: %r", error)


async def _limit(attempt: MeteredAttempt, settling: Awaitable[None]) -> None:
    """Await the end of an attempt for a few seconds."""
    if not await attempt.mode.finish_within_grace(settling):
        _log.warning("what was reserved for a call of %s could not be settled in time", attempt.model)


def complete_usage(told: UsageMetadata | None, read: int, written: int) -> UsageMetadata:
    """Return what an answer that broke off must have used.

    Args:
        told: what it had said until then; None: nothing.
        read: the tokens of the request, as they are counted here.
        written: those of the answer as far as it came.
    """
    known = told or NOTHING
    given, made = known["input_tokens"] or read, max(known["output_tokens"], written)
    return {**known, "input_tokens": given, "output_tokens": made, "total_tokens": given + made}


def is_unbilled(error: BaseException) -> bool:
    """Whether an attempt that failed like this was refused before any work, or never sent. A cancellation is not."""
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return True
    return not error.was_sent if isinstance(error, LLMError) else isinstance(error, HocketError)
