"""A budget before an attempt of a model: how much it may come to at most, and after it, what it came to.

For a row of a provider's batch that is held before the batch is submitted. Its attempt is made when the reply is there, a
day later and maybe in another process: it takes over what is held, by the row's id, without asking the store.
"""

import hocket.prices.packaged as packaged
from hocket._metering.attempt import Attempt, AttemptEnd
from hocket._metering.batch_row import BatchPlace
from hocket.budgets.account import Amounts
from hocket.budgets.bookkeeper import Hold
from hocket.budgets.budget import Budget
from hocket.errors import Unpriceable
from hocket.messages import UsageMetadata
from hocket.prices import Price
from hocket.prices.batch import price_attempt
from hocket.prices.lookup import identify_model, price_of
from hocket.prices.money import to_units

__all__ = ["BudgetReserver"]


class BudgetReserver:
    """Reserves under a budget (`hocket._metering.attempt.AheadReserver`).

    Args:
        budget: the budget.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    async def reserve(self, attempt: Attempt) -> "_HeldAttempt":
        """Hold what the attempt may come to at most; for a row of a batch that is held already.

        Raises:
            BudgetExceeded, Unpriceable, BudgetStoreFailed: nothing is held, and the attempt is not to be made.
            InvalidInput: the call's metadata does not say whose budget it is.
        """
        bookkeeper, key, price = self.budget.bookkeeper, self._find_key(attempt), await self._find_price(attempt)
        if attempt.batch_place is not None:
            return _HeldRow(self, attempt, price, bookkeeper.find_row(key, attempt.batch_place))
        want = await self.bound(attempt, price)
        return _HeldAttempt(self, attempt, price, await bookkeeper.hold(attempt.mode, key, want))

    async def reserve_ahead(self, attempt: Attempt) -> int:
        """Hold what a row of a batch may come to at most, for two days at least, and return the dollars. See `reserve`."""
        want = await self.bound(attempt, await self._find_price(attempt))
        await self.budget.bookkeeper.hold_row(attempt.mode, self._find_key(attempt), want, _find_place(attempt))
        return want.usd

    async def release_ahead(self, attempt: Attempt, *, is_paid: bool = False) -> None:
        """Give back what is held for a row of a batch; ``is_paid``: or book the most that it may have come to.

        Raises:
            BudgetStoreFailed: the store charges it after the lease.
        """
        bookkeeper = self.budget.bookkeeper
        hold = bookkeeper.find_row(self._find_key(attempt), _find_place(attempt))
        most = await self.bound(attempt, await self._find_price(attempt)) if is_paid else Amounts()
        await bookkeeper.book_row(attempt.mode, hold, most)

    def _find_key(self, attempt: Attempt) -> object:
        by = self.budget.bookkeeper.by
        return None if by is None else attempt.metadata.get(by)

    async def _find_price(self, attempt: Attempt) -> Price | None:
        return None if self.budget.bookkeeper.limit.usd is None else await price_attempt(attempt)

    def check_model(self, model: object) -> None:
        """Check that a model may be asked under the budget at all: that its price is known, if it has to be.

        Raises:
            Unpriceable: it is not.
        """
        if self._needs_prices and price_of(model) is None:
            named = identify_model(model)
            full = f"{named.provider}:{named.name}"
            raise Unpriceable(
                f"the budget {self.budget.bookkeeper.name!r} is in US dollars, and the price of {full!r} is not known, so "
                f"each request would be held back: {_offer_tables()}say it before, "
                f"set_prices({{{full!r}: Price('1.25', 10)}}), or let such models pass, Budget(..., unpriced='ignore')",
                model=named.name,
            )

    @property
    def _needs_prices(self) -> bool:
        return self.budget.bookkeeper.limit.usd is not None and self.budget.unpriced == "raise"

    def check_price(self, attempt: Attempt, price: Price | None) -> None:
        """Check that what an attempt costs is known, if it has to be.

        Raises:
            Unpriceable: it is not.
        """
        if price is not None or not self._needs_prices:
            return
        name = f"{attempt.provider}:{attempt.model}"
        what, said = f"the price of {name!r}", "Price('1.25', 10)"
        if attempt.batch_place is not None:
            what, said = f"what {name!r} costs in a batch", "Price('1.25', 10, batch=Price('0.625', 5))"
        raise Unpriceable(
            f"{what} is not known, so no budget in US dollars can hold: {_offer_tables()}say it, "
            f"set_prices({{{name!r}: {said}}}), or let such models pass, Budget(..., unpriced='ignore')",
            model=attempt.model,
        )

    async def bound(self, attempt: Attempt, price: Price | None) -> Amounts:
        """Return the most that an attempt may come to.

        Raises:
            Unpriceable: nobody knows.
        """
        self.check_price(attempt, price)
        budget, need = self.budget, await attempt.estimate_need()
        usd = 0 if price is None else to_units(price.max_cost(need.input, need.output or 0))
        if need.output is None and budget.unpriced == "raise":
            has_cost = price is not None and price.max_cost(0, 1) > 0
            if has_cost or budget.tokens is not None:
                raise Unpriceable(
                    f"nobody knows how long an answer of {attempt.model!r} may be, so no budget can hold: give the model "
                    'max_tokens=..., or let such calls pass, Budget(..., unpriced="ignore")',
                    model=attempt.model,
                )
        return Amounts(usd, need.input + (need.output or 0))


class _HeldAttempt:
    """What is held for an attempt (`hocket._metering.attempt.Reservation`)."""

    def __init__(self, reserver: BudgetReserver, attempt: Attempt, price: Price | None, hold: Hold) -> None:
        self.is_local = reserver.budget.bookkeeper.store.is_local
        self._reserver = reserver
        self._attempt = attempt
        self._price = price
        self._hold = hold

    async def settle(self, end: AttemptEnd) -> None:
        """Book what the attempt came to; its bound, if an answer came and said nothing of what it used."""
        amounts = self._hold.amounts if end.usage is None else self._count(end.usage)
        book = self._reserver.budget.bookkeeper.book_soon
        await book(self._attempt.mode, self._hold, amounts if end.is_billed else Amounts())

    def _count(self, usage: UsageMetadata) -> Amounts:
        usd = 0 if self._price is None else to_units(self._price.cost(usage))
        return Amounts(usd, max(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"], 0))


class _HeldRow(_HeldAttempt):
    """What is held for a row of a batch."""

    async def settle(self, end: AttemptEnd) -> None:
        """Book what the row came to. If that is not known any more, it is charged its bound after the lease.

        Raises:
            Unpriceable, BudgetStoreFailed: see there.
        """
        reserver, attempt, amounts = self._reserver, self._attempt, Amounts()
        if end.is_billed:
            reserver.check_price(attempt, self._price)
            amounts = await reserver.bound(attempt, self._price) if end.usage is None else self._count(end.usage)
        await reserver.budget.bookkeeper.book_row(attempt.mode, self._hold, amounts)


def _offer_tables() -> str:
    """Return the advice to install the tables of prices; "": they are installed, or were not asked."""
    return "have it looked up, `pip install 'hocket[prices]'`, " if packaged.is_missing() else ""


def _find_place(attempt: Attempt) -> BatchPlace:
    assert attempt.batch_place is not None
    return attempt.batch_place
