"""A budget before an attempt of a model: how much it may come to at most, and after it, what it came to."""

from hocket._metering.attempt import Attempt, AttemptEnd, TokenNeed
from hocket._runtime.mode import Mode
from hocket.budgets.account import Amounts
from hocket.budgets.bookkeeper import Bookkeeper, Hold
from hocket.budgets.budget import Budget
from hocket.errors import Unpriceable
from hocket.prices import Price, aprice_of, price_of
from hocket.prices.money import to_units

__all__ = ["BudgetReserver"]


class BudgetReserver:
    """Reserves under a budget (`hocket._metering.attempt.Reserver`).

    Args:
        budget: the budget.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    async def reserve(self, attempt: Attempt) -> "_HeldAttempt":
        """Hold what the attempt may come to at most.

        Raises:
            BudgetExceeded, Unpriceable, BudgetStoreFailed: nothing is held, and the attempt is not to be made.
            InvalidInput: the call's metadata does not say whose budget it is.
        """
        bookkeeper = self.budget.bookkeeper
        key = None if bookkeeper.by is None else attempt.metadata.get(bookkeeper.by)
        price = None if bookkeeper.limit.usd is None else await self._find_price(attempt)
        want = self._bound(attempt, await attempt.estimate_need(), price)
        hold = await bookkeeper.hold(attempt.mode, key, want)
        return _HeldAttempt(bookkeeper, hold, attempt.mode, price)

    async def _find_price(self, attempt: Attempt) -> Price | None:
        if attempt.mode.is_async:
            price = await aprice_of(attempt.model, attempt.provider)
        else:
            price = price_of(attempt.model, attempt.provider)
        if price is None and self.budget.unpriced == "raise":
            name = f"{attempt.provider}:{attempt.model}"
            raise Unpriceable(
                f"the price of {name!r} is not known, so no budget in US dollars can hold: say it, "
                f"set_prices({{{name!r}: Price('1.25', 10)}}), have it looked up, `pip install 'hocket[prices]'`, or let "
                "such models pass, Budget(..., unpriced='ignore')",
                model=attempt.model,
            )
        return price

    def _bound(self, attempt: Attempt, need: TokenNeed, price: Price | None) -> Amounts:
        """Return the most that an attempt may come to."""
        budget = self.budget
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

    def __init__(self, bookkeeper: Bookkeeper, hold: Hold, mode: Mode, price: Price | None) -> None:
        self.is_local = bookkeeper.store.is_local
        self._bookkeeper = bookkeeper
        self._hold = hold
        self._mode = mode
        self._price = price

    async def settle(self, end: AttemptEnd) -> None:
        """Book what the attempt came to; its bound, if an answer came and said nothing of what it used."""
        await self._bookkeeper.book(self._mode, self._hold, self._find_amounts(end))

    def _find_amounts(self, end: AttemptEnd) -> Amounts:
        if not end.is_billed:
            return Amounts()
        if end.usage is None:
            return self._hold.amounts
        usage = end.usage
        usd = 0 if self._price is None else to_units(self._price.cost(usage))
        return Amounts(usd, max(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"], 0))
