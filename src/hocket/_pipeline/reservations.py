"""What is reserved for an attempt of a model before it is made, and settled after it: limits, budgets, ledgers.

The stage (`hocket._metering.stage`) stands inside `retry`, since a provider bills each attempt. What a row of a provider's
batch may use is reserved before the batch is submitted, and the attempt that reads its reply takes that over.
"""

import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from hocket._metering.ambient import find_reservers, sources
from hocket._metering.attempt import AheadReserver, Reserver, TokenNeed
from hocket._metering.batch_row import BatchPlace
from hocket._metering.stage import InputCorrection, MeteredAttempt, complete_usage, reserve_first
from hocket._pipeline.accounts import make_reservers
from hocket._pipeline.call import Call, Next
from hocket._pipeline.rate_limit import emit_wait
from hocket._runtime.mode import Mode
from hocket.messages import UsageMetadata

__all__ = ["CORRECTION", "CallAttempt", "MeteredModel", "release_ahead", "reserve_ahead", "with_reservations"]

CORRECTION = "_correction_of_estimates"
"""Where a model keeps how far its server counts above the estimates of its prompts."""

_log = logging.getLogger("hocket.reservations")

_NAMES = ("model_name", "model")


class MeteredModel(Protocol):
    """What a model knows of the tokens of a call."""

    async def _estimate_need(self, request: Any, mode: Mode) -> TokenNeed:
        """Return what an attempt may use at most."""
        ...

    async def _estimate_answer(self, answer: Any, mode: Mode) -> int:
        """Return about how many tokens a part of an answer has, a message or a text."""
        ...


class CallAttempt(MeteredAttempt):
    """An attempt of a call.

    Args:
        call: the call.
        place: see `MeteredAttempt`.
    """

    def __init__(self, call: Call, place: BatchPlace | None = None) -> None:
        kept: dict[str, InputCorrection] = call.request.model.__dict__
        super().__init__(kept.get(CORRECTION) or kept.setdefault(CORRECTION, InputCorrection()), place)
        self.call = call
        self._number = call.delivery.attempt

    @property
    def mode(self) -> Mode:
        return self.call.mode

    @property
    def number(self) -> int:
        return self._number

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
        return self.call.request.run_ids[0]

    @property
    def parent_run_id(self) -> UUID | None:
        run = self.call.runs.first
        return None if run is None else run.parent_run_id

    @property
    def metadata(self) -> Mapping[str, Any]:
        own, given = self.call.request.model.metadata, self.call.request.metadata
        return {**(own or {}), **(given or {})}

    @property
    def has_own_ledger(self) -> bool:
        return self.call.request.model.ledger not in (None, True)

    @property
    def ends_at(self) -> float | None:
        return self.call.limits.ends_at

    # -- for the stage

    async def _count_need(self) -> TokenNeed:
        return await self.call.estimate_need()

    async def emit_wait(self, since: float) -> None:
        await emit_wait(self.call, since)

    def _read_usage(self, result: Any) -> UsageMetadata | None:
        return self.call.answer.read_usage(result)

    async def _estimate_usage(self) -> UsageMetadata:
        """Return what the answer said as far as it came, or what can be counted, if that is more."""
        told: UsageMetadata | None = None
        written = 0
        if (came := self.call.delivery.came) is not None:
            told = self.call.answer.read_usage(came.partial_response())
            written = await self.call.request.model._estimate_answer(came.partial_message(), self.mode)
        read = 0 if told and told["input_tokens"] else (await self.estimate_need()).input
        return complete_usage(told, read, written)

    @property
    def _has_answered(self) -> bool:
        return self.call.delivery.has_begun

    @property
    def _is_closed(self) -> bool:
        return self.call.delivery.closed

    @property
    def _first_token_at(self) -> float | None:
        return self.call.delivery.first_chunk_at


def with_reservations(reservers: Sequence[Reserver], call_next: Next) -> Next:
    """Return ``call_next``, for which ``reservers``, and those of the running task, reserve first, in this order."""

    def start(call: Call) -> Awaitable[Any]:
        asked = [*find_reservers(), *reservers] if sources else reservers
        return reserve_first(CallAttempt(call), asked, partial(call_next, call)) if asked else call_next(call)

    return start


async def reserve_ahead(call: Call, place: BatchPlace) -> int:
    """Have the budgets of a call's model, and those of the running task, hold what a row of a batch may come to at most.

    They hold it until the row's call is made, with its reply in the place of the server (`batch_place`), or until
    `release_ahead`; and once, also where another process has reserved for the row.

    Args:
        call: the row's, whose request is to be submitted. It is not made.
        place: of the row.

    Returns:
        what they hold, in units of US dollars; 0: none of them counts dollars.

    Raises:
        BudgetExceeded, Unpriceable, BudgetStoreFailed: nothing is held, and the row is not to be submitted.
        InvalidInput: the call's metadata does not say whose budget it is.
    """
    reservers = _find_ahead(call)
    if not reservers:
        return 0
    attempt, held, most = CallAttempt(call, place), list[AheadReserver](), 0
    try:
        for reserver in reservers:
            most = max(most, await reserver.reserve_ahead(attempt))
            held.append(reserver)
    except BaseException:
        await call.mode.run_shielded(_release(attempt, held))
        raise
    return most


async def release_ahead(call: Call, place: BatchPlace, *, is_paid: bool = False) -> bool:
    """Give back what `reserve_ahead` has held for a row; ``is_paid``: or book it, since its reply is lost.

    What cannot be given back is logged: it is charged after two days.

    It is not wanted where the call is made in this place: whatever its end, it settles.

    Returns:
        whether there are budgets that hold.
    """
    reservers = _find_ahead(call)
    await call.mode.run_shielded(_release(CallAttempt(call, place), reservers, is_paid=is_paid))
    return bool(reservers)


def _find_ahead(call: Call) -> list[AheadReserver]:
    reservers = [*find_reservers(), *make_reservers(call.request.model.budget, None)]
    return [reserver for reserver in reservers if isinstance(reserver, AheadReserver)]


async def _release(attempt: CallAttempt, held: Sequence[AheadReserver], *, is_paid: bool = False) -> None:
    async def release() -> None:
        for reserver in reversed(held):
            try:
                await reserver.release_ahead(attempt, is_paid=is_paid)
            except Exception as error:
                _log.warning("what was reserved for the row of %s could not be given back: %r", attempt.model, error)

    await attempt.mode.finish_within_grace(release())
