"""What a budget asks of the store that keeps its account, and what the store answers.

One inquiry does it all: what dead owners held is charged, the sum is compared with the limit, and the amount is held, in
one step that nobody comes between. Each store does that in its own words, with its own clock.
"""

from typing import NamedTuple, Protocol

from hocket._runtime.mode import Mode
from hocket.budgets.periods import Period

__all__ = [
    "BATCH_LEASE",
    "KEPT",
    "Account",
    "AccountStore",
    "Amounts",
    "Inquiry",
    "InquiryResult",
    "Limit",
    "Totals",
    "fits",
]

BATCH_LEASE = 172_800.0
"""Seconds for which at least what is reserved for a row of a provider's batch is held: batches take a day at most."""

KEPT = BATCH_LEASE + 86_400
"""Seconds for which a store keeps what was charged for a dead owner, and a period that is over: a call may yet end."""


class Amounts(NamedTuple):
    """What is held, spent or wanted.

    Attributes:
        usd: in units (`hocket.prices.UNIT`).
        tokens: of input and output together.
    """

    usd: int = 0
    tokens: int = 0


class Limit(NamedTuple):
    """What may be spent in a period, in the units of `Amounts`; None: any amount."""

    usd: int | None
    tokens: int | None


class Account(NamedTuple):
    """One account of a budget.

    Attributes:
        name: of the budget.
        key: whose account it is, where the budget is divided by an entry of metadata; else "".
        period: for which it counts.
    """

    name: str
    key: str
    period: Period


class Inquiry(NamedTuple):
    """May so much be held?

    Attributes:
        account: which is asked about.
        id: of the reservation to make; "": none, the totals alone are wanted. One that is there stays as it is: granted.
        want: how much.
        limit: what this process has for the limit.
        is_new: whether this limit is to count from now on, for all who share the budget; if not, the store's does.
        lease: seconds after which the reservation is charged, unless it was settled.
        is_forced: whether it is granted beyond the limit, too, since it has been paid.
    """

    account: Account
    id: str
    want: Amounts
    limit: Limit
    is_new: bool
    lease: float
    is_forced: bool = False


class Totals(NamedTuple):
    """What has become of an account: spent (orphaned included), held by calls in flight, charged for dead owners."""

    spent: Amounts = Amounts()
    reserved: Amounts = Amounts()
    orphaned: Amounts = Amounts()


class InquiryResult(NamedTuple):
    """What a store says.

    Attributes:
        is_granted: whether the amount is held now.
        now: the time by the store's clock, in seconds since 1970.
        is_other_period: whether that is in another period than the inquiry's; then nothing was done.
        limit: what counts for all.
        replaced: what counted until now, if that was something else.
        totals: before the amount was held.
    """

    is_granted: bool
    now: float
    is_other_period: bool = False
    limit: Limit = Limit(None, None)
    replaced: Limit | None = None
    totals: Totals = Totals()


class AccountStore(Protocol):
    """Where the accounts of a budget are kept.

    Attributes:
        owner: which it is, for errors, without secrets.
        is_local: whether it never waits.
        is_portable: whether it means the same in another process.
    """

    owner: str
    is_local: bool
    is_portable: bool

    async def ask(self, mode: Mode, inquiry: Inquiry) -> InquiryResult:
        """Answer an inquiry, and hold the amount if it is granted.

        Raises:
            StoreError: it cannot be known.
        """
        ...

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to, in the period in which it was made, and hold it no longer.

        One that was charged to a dead owner is corrected. Returns whether there was such a reservation: another time, or
        three days after its lease, there is not, and nothing happens.

        Raises:
            StoreError: it cannot be known.
        """
        ...


def fits(limit: Limit, totals: Totals, want: Amounts) -> bool:
    """Whether so much more stays within a limit."""
    most = zip(limit, totals.spent, totals.reserved, want, strict=True)
    return all(one is None or spent + reserved + wanted <= one for one, spent, reserved, wanted in most)
