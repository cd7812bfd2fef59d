"""What is reserved for an attempt before it is made, and settled after it: limits, budgets, the entry in a ledger.

The stage stands inside `retry`, since a provider bills each attempt. Those that reserve are asked one after another; where
one refuses, or the caller is cancelled meanwhile, those before it get back what they hold. Each end of an attempt is
settled, also that of one whose caller has been cancelled: it then takes a few seconds at most.
"""

import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from hocket._metering.ambient import find_reservers, sources
from hocket._metering.attempt import AttemptEnd, Outcome, ReplyHead, Reservation, Reserver, TokenNeed
from hocket._metering.reply_listener import reply_listener
from hocket._pipeline.call import Call, Next
from hocket._pipeline.rate_limit import emit_wait
from hocket._pipeline.runs import is_cancellation
from hocket._runtime import clock
from hocket._runtime.runtime import Runtime
from hocket.errors import HocketError, LLMError
from hocket.messages import UsageMetadata

__all__ = ["CallAttempt", "MeteredModel", "with_reservations"]

_log = logging.getLogger("hocket.reservations")

_NAMES = ("model_name", "model")

NOTHING: UsageMetadata = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


class MeteredModel(Protocol):
    """What a model knows of the tokens of a call."""

    async def _estimate_need(self, request: Any, runtime: Runtime) -> TokenNeed:
        """Return what an attempt may use at most."""
        ...

    async def _estimate_answer(self, answer: Any, runtime: Runtime) -> int:
        """Return about how many tokens a part of an answer has, a message or a text."""
        ...


class CallAttempt:
    """An attempt of a call (`hocket._metering.attempt.Attempt`), and the listener of its replies.

    Attributes:
        call: the call.
        number: 1 for the first attempt of the call.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self.number: int = call.delivery.attempt
        self._reply: ReplyHead | None = None
        self._began_at: float | None = None

    @property
    def runtime(self) -> Runtime:
        """Where the call runs."""
        return self.call.runtime

    @property
    def provider(self) -> str | None:
        """The provider's name; of a model that has none, its kind."""
        request = self.call.request
        return request.provider or request.model._llm_type

    @property
    def model(self) -> str | None:
        """The model's name at its provider; of a model that has none, its kind."""
        request = self.call.request
        named = (
            request.params.get("model"),
            request.served_model,
            *(getattr(request.model, name, None) for name in _NAMES),
        )
        return next((one for one in named if one and isinstance(one, str)), request.model._llm_type)

    @property
    def run_id(self) -> UUID:
        """The run of the call's first prompt."""
        return self.call.request.run_ids[0]

    @property
    def parent_run_id(self) -> UUID | None:
        """The run that the call is inside of, where handlers listen."""
        run = self.call.runs.first
        return None if run is None else run.parent_run_id

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The model's metadata, and the call's over them."""
        own, given = self.call.request.model.metadata, self.call.request.metadata
        return {**(own or {}), **(given or {})}

    @property
    def has_own_ledger(self) -> bool:
        """Whether the model says itself where its attempts are booked, if anywhere."""
        return self.call.request.model.ledger not in (None, True)

    @property
    def ends_at(self) -> float | None:
        """The deadline of the whole call, in seconds by the clock."""
        return self.call.limits.ends_at

    async def estimate_need(self) -> TokenNeed:
        """Return what the attempt may use at most."""
        return await self.call.estimate_need()

    # -- for the stage

    def hear_reply(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of a reply."""
        self._reply = ReplyHead(status, headers, clock.current().now())

    def begin(self) -> None:
        """Have the time of the attempt begin."""
        self._began_at = clock.current().now()

    def succeed(self, result: Any) -> AttemptEnd:
        """Return the end of an attempt that gave a result."""
        return self._end("ok", self.call.answer.read_usage(result))

    async def fail(self, error: BaseException) -> AttemptEnd:
        """Return the end of an attempt that ``error`` ended."""
        delivery = self.call.delivery
        outcome: Outcome = "failed"
        if delivery.closed:
            outcome = "closed"
        elif self.runtime.is_async and is_cancellation(error):
            outcome = "cancelled"
        if not delivery.has_begun and (self._began_at is None or is_unbilled(error)):
            return self._end(outcome, NOTHING, is_billed=False, error=error)
        return self._end(outcome, await self._estimate_usage(), is_estimate=True, error=error)

    async def _estimate_usage(self) -> UsageMetadata:
        """Return what an attempt without an end must have used: what it said, or what can be counted, if that is more."""
        delivery = self.call.delivery
        told: UsageMetadata = NOTHING
        counted = 0
        if delivery.has_begun:
            told = self.call.answer.read_usage(delivery.fold.partial_response()) or NOTHING
            counted = await self.call.request.model._estimate_answer(delivery.fold.partial_message(), self.runtime)
        read = told["input_tokens"] or (await self.estimate_need()).input
        written = max(told["output_tokens"], counted)
        return {**told, "input_tokens": read, "output_tokens": written, "total_tokens": read + written}

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
        return AttemptEnd(
            outcome,
            usage,
            is_estimate,
            is_billed,
            error,
            self._reply,
            self._began_at,
            self.call.delivery.first_chunk_at,
            now,
        )


def is_unbilled(error: BaseException) -> bool:
    """Whether an attempt that failed like this was refused before any work, or never sent. A cancellation is not."""
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return True
    return not error.was_sent if isinstance(error, LLMError) else isinstance(error, HocketError)


def with_reservations(reservers: Sequence[Reserver], call_next: Next) -> Next:
    """Return ``call_next``, for which ``reservers``, and those of the running task, reserve first, in this order."""

    def start(call: Call) -> Awaitable[Any]:
        if not sources:
            return _reserve_first(call, reservers, call_next) if reservers else call_next(call)
        ambient = find_reservers()
        return _reserve_first(call, [*ambient, *reservers], call_next) if ambient or reservers else call_next(call)

    return start


async def _reserve_first(call: Call, reservers: Sequence[Reserver], call_next: Next) -> Any:
    attempt = CallAttempt(call)
    held: list[Reservation] = []
    try:
        asked_at = clock.current().now()
        for reserver in reservers:
            reservation = await reserver.reserve(attempt)
            if reservation is not None:
                held.append(reservation)
        await emit_wait(call, asked_at)
        attempt.begin()
        result = await _listen(attempt, call_next)
    except BaseException as error:
        if held:
            await call.runtime.run_shielded(_settle_failure(attempt, held, error))
        raise
    if held:
        settling = _settle_all(held, attempt.succeed(result))
        await (settling if all(one.is_local for one in held) else call.runtime.run_shielded(_limit(call, settling)))
    return result


async def _listen(attempt: CallAttempt, call_next: Next) -> Any:
    token = reply_listener.set(attempt.hear_reply)
    try:
        return await call_next(attempt.call)
    finally:
        reply_listener.reset(token)


async def _settle_failure(attempt: CallAttempt, held: Sequence[Reservation], error: BaseException) -> None:
    async def settle() -> None:
        await _settle_all(held, await attempt.fail(error))

    await _limit(attempt.call, settle())


async def _settle_all(held: Sequence[Reservation], end: AttemptEnd) -> None:
    """Settle what is held, the last first. What cannot be settled is logged: an answer is not lost for it."""
    for reservation in reversed(held):
        try:
            await reservation.settle(end)
        except Exception as error:
            _log.warning("%s could not be settled: %r", type(reservation).__name__, error)


async def _limit(call: Call, settling: Awaitable[None]) -> None:
    """Await the end of an attempt for a few seconds."""
    if not await call.runtime.finish_within_grace(settling):
        _log.warning("what was reserved for a call of %s could not be settled in time", call.request.class_name)
