"""One attempt to have a model answer: what is known before it is made, and after."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from hocket._metering.batch_row import BatchPlace
from hocket._runtime.mode import Mode
from hocket.messages import UsageMetadata

__all__ = [
    "AheadReserver",
    "Attempt",
    "AttemptEnd",
    "LedgerLike",
    "Outcome",
    "ReplyHead",
    "Reservation",
    "Reserver",
    "TokenNeed",
]

Outcome: TypeAlias = Literal["ok", "failed", "cancelled", "closed"]
"""How an attempt ended: "closed" where the consumer of a stream left, "cancelled" where its task was cancelled."""


class TokenNeed(NamedTuple):
    """What an attempt may use at most.

    Attributes:
        input: tokens of the prompt, at the upper end of what was counted.
        output: tokens of the answer, over all candidates; None: nobody knows.
    """

    input: int
    output: int | None


class ReplyHead(NamedTuple):
    """The head of a server's reply.

    Attributes:
        status: its code.
        headers: names in lower case.
        at: when it came, in seconds by the clock (`hocket._runtime.clock`).
    """

    status: int
    headers: Mapping[str, str]
    at: float


class AttemptEnd(NamedTuple):
    """What became of an attempt.

    Attributes:
        outcome: how it ended.
        usage: the tokens that it used; None: an answer came, and said nothing of them.
        is_estimate: whether ``usage`` was counted here, since the answer did not come to its end.
        is_billed: whether the model may have worked; if not, it was refused, or never sent, and used nothing.
        error: what ended it; None: it succeeded.
        reply: the head of the last reply; None: there was none, or the model does not use hocket's HTTP.
        began_at: in seconds by the clock; None: the attempt was never made, since another reserver refused it.
        first_token_at: None: nothing was streamed.
        ended_at: in seconds by the clock.
    """

    outcome: Outcome
    usage: UsageMetadata | None
    is_estimate: bool
    is_billed: bool
    error: BaseException | None
    reply: ReplyHead | None
    began_at: float | None
    first_token_at: float | None
    ended_at: float


class Attempt(Protocol):
    """What is known of an attempt before it is made."""

    @property
    def mode(self) -> Mode:
        """Where the call runs."""
        ...

    @property
    def provider(self) -> str | None:
        """The provider's name."""
        ...

    @property
    def model(self) -> str | None:
        """The model's name at its provider."""
        ...

    @property
    def number(self) -> int:
        """1 for the first attempt of a call."""
        ...

    @property
    def run_id(self) -> UUID:
        """The run of the call's first prompt."""
        ...

    @property
    def parent_run_id(self) -> UUID | None:
        """The run that the call is inside of, where handlers listen."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The model's metadata, and the call's over them. Not to be changed."""
        ...

    @property
    def has_own_ledger(self) -> bool:
        """Whether the model says itself where its attempts are booked, if anywhere."""
        ...

    @property
    def ends_at(self) -> float | None:
        """The deadline of the whole call, in seconds by the clock; None: there is none."""
        ...

    @property
    def batch_place(self) -> BatchPlace | None:
        """The row of a provider's batch that it is for; None: it is live."""
        ...

    async def estimate_need(self) -> TokenNeed:
        """Return what the attempt may use at most; counted once for all reservers and attempts of a call."""
        ...


class Reservation(Protocol):
    """What a reserver holds for an attempt."""

    @property
    def is_local(self) -> bool:
        """Whether `settle` never waits: it then needs no shield, which costs a task."""
        ...

    async def settle(self, end: AttemptEnd) -> None:
        """Take what the attempt came to. Called once, shielded, with a few seconds of time; an error is only logged."""
        ...


class Reserver(Protocol):
    """Asked before each attempt."""

    async def reserve(self, attempt: Attempt) -> Reservation | None:
        """Hold what the attempt may use, waiting for it if need be; None: there is nothing to settle.

        A reserver that is cancelled, or raises, holds nothing.
        """
        ...


@runtime_checkable
class AheadReserver(Reserver, Protocol):
    """Holds what a row of a batch may use from before the batch is submitted until its reply is there: a budget."""

    async def reserve_ahead(self, attempt: Attempt) -> int:
        """Hold what an attempt with a `batch_place` may use, for `reserve` to take over. Held twice, it is held once.

        Returns:
            what it may cost, in units (`hocket.prices.money.UNIT`).
        """
        ...

    async def release_ahead(self, attempt: Attempt, *, is_paid: bool = False) -> None:
        """Give back what is held for it, if anything is; ``is_paid``: book it as spent, since the reply is lost."""
        ...


@runtime_checkable
class LedgerLike(Reserver, Protocol):
    """Books attempts, and answers that nobody was asked for again: `hocket.ledger.Ledger`, which lies above."""

    def record_hit(self, attempt: Attempt, usage: UsageMetadata | None, is_shared: bool) -> None:
        """Book a hit (`hocket._metering.ambient.HitListener`)."""
        ...
