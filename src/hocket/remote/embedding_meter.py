"""Requests of embedding models under limits, budgets and a ledger: the stage that models go through, too.

A provider bills each attempt of each request, so each reserves, and is settled with the usage that the reply reports.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from hocket._metering.ambient import find_reservers
from hocket._metering.attempt import LedgerLike, Reserver, TokenNeed
from hocket._metering.stage import InputCorrection, MeteredAttempt, reserve_first
from hocket._pipeline.accounts import BudgetLike, make_reservers
from hocket._pipeline.rate_limit import RateLimitReserver, UsualDuration
from hocket._runtime.mode import ASYNC, Mode
from hocket.embeddings.base import EmbeddingRun
from hocket.messages import UsageMetadata
from hocket.rate_limiters import BaseRateLimiter

__all__ = ["EmbeddingMeter", "EmbeddingResult", "Experience"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """Vectors, and what they cost.

    Attributes:
        embeddings: one vector for each text, in order.
        usage: the tokens of all requests; None: the server did not say.
    """

    embeddings: list[list[float]]
    usage: UsageMetadata | None = None


@dataclass
class Experience:
    """What a model's requests have taught. Models that differ in nothing else are equal."""

    correction: InputCorrection = field(default_factory=InputCorrection, compare=False)
    duration: UsualDuration = field(default_factory=UsualDuration, compare=False)


@dataclass(slots=True)
class EmbeddingMeter:
    """Meters the attempts of one request.

    Args:
        provider: the name of the provider that is asked.
        model: the name of the model there.
        rate_limiter, budget, ledger: the model's fields.
        run: of the call.
        texts: what is embedded.
        ends_at: the deadline of the call, in seconds by the clock; None: there is none.
        experience: of the model.
    """

    provider: str
    model: str | None
    rate_limiter: BaseRateLimiter | None
    budget: BudgetLike | None
    ledger: LedgerLike | bool | None
    run: EmbeddingRun
    texts: Sequence[str]
    ends_at: float | None
    experience: Experience
    _need: TokenNeed | None = None

    async def make(self, number: int, send: Callable[[], Awaitable[T]]) -> T:
        """Make an attempt, its number counted from 1: have everybody reserve, await ``send()``, and settle."""
        reservers: list[Reserver] = [*find_reservers(), *make_reservers(self.budget, self.ledger)]
        if self.rate_limiter is not None:
            reservers.append(
                RateLimitReserver(self.rate_limiter, self.experience.duration)
            )  # the last: what it grants is for now
        return await (reserve_first(_Attempt(self, number), reservers, send) if reservers else send())

    async def count_need(self) -> TokenNeed:
        """Return what an attempt may use at most, counted once. There is no answer in tokens."""
        if self._need is None:
            self._need = TokenNeed(await ASYNC.call_sync(self._count), 0)
        return self._need

    def _count(self) -> int:
        from hocket.tokens.counting import count_text, tokenizer_of  # few programs count

        tokenizer = tokenizer_of(self.model)
        return sum(count_text(tokenizer, text).high for text in self.texts)


class _Attempt(MeteredAttempt):
    """An attempt of a request."""

    def __init__(self, meter: EmbeddingMeter, number: int) -> None:
        super().__init__(meter.experience.correction)
        self._meter = meter
        self._number = number

    @property
    def mode(self) -> Mode:
        return ASYNC

    @property
    def number(self) -> int:
        return self._number

    @property
    def provider(self) -> str | None:
        return self._meter.provider

    @property
    def model(self) -> str | None:
        return self._meter.model

    @property
    def run_id(self) -> UUID:
        return self._meter.run.run_id

    @property
    def parent_run_id(self) -> UUID | None:
        return self._meter.run.parent_run_id

    @property
    def metadata(self) -> Mapping[str, object]:
        return self._meter.run.metadata

    @property
    def has_own_ledger(self) -> bool:
        return self._meter.ledger not in (None, True)

    @property
    def ends_at(self) -> float | None:
        return self._meter.ends_at

    async def _count_need(self) -> TokenNeed:
        return await self._meter.count_need()

    async def emit_wait(self, since: float) -> None:
        await self._meter.run.emit_wait(since)

    def _read_usage(self, result: EmbeddingResult) -> UsageMetadata | None:
        return result.usage

    async def _estimate_usage(self) -> UsageMetadata:
        tokens = (await self.estimate_need()).input
        return {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}
