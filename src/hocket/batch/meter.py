"""What one row uses and costs, over all the models that are asked for it, in all their attempts."""

from collections.abc import Sequence
from contextvars import ContextVar
from decimal import Decimal, localcontext

from hocket._metering.ambient import add_source
from hocket._metering.attempt import Attempt, AttemptEnd, Reserver
from hocket.messages import UsageMetadata, add_usage
from hocket.prices import Price
from hocket.prices.batch import price_attempt
from hocket.prices.money import EXACT, trim_amount

__all__ = ["RowMeter", "row_meter"]


class RowMeter:
    """Counts (`hocket._metering.attempt.Reserver`); holds nothing back.

    Attributes:
        attempts: requests.
        usage: tokens; None: nothing was asked.
        cost: in US dollars; None: a model has no price, or an answer said nothing of its tokens.
        waited: seconds that requests were held back by limits; of waits at once, the time that one of them was.
    """

    is_local = True

    def __init__(self) -> None:
        self.attempts: int = 0
        self.usage: UsageMetadata | None = None
        self.cost: Decimal | None = Decimal(0)
        self.waited: float = 0.0
        self._waited_until = 0.0

    async def reserve(self, attempt: Attempt) -> "_Metering":
        """Count an attempt."""
        return _Metering(self, attempt)

    def hear_wait(self, since: float, until: float) -> None:
        """Take a wait that ends now (`hocket._metering.listeners`)."""
        self.waited += max(until - max(since, self._waited_until), 0.0)
        self._waited_until = until

    def add(self, price: Price | None, end: AttemptEnd) -> None:
        """Add what an attempt came to."""
        if end.began_at is None:
            return
        self.attempts += 1
        if end.usage is None:
            self.cost = None
            return
        self.usage = add_usage(self.usage, end.usage)
        if price is None:
            self.cost = None
        elif self.cost is not None:
            with localcontext(EXACT):
                self.cost = trim_amount(self.cost + price.cost(end.usage))


class _Metering:
    is_local = True

    def __init__(self, meter: RowMeter, attempt: Attempt) -> None:
        self._meter = meter
        self._attempt = attempt

    async def settle(self, end: AttemptEnd) -> None:
        """Add the attempt with its price. Tables may have to be loaded for that, which is for a thread."""
        self._meter.add(None if end.usage is None else await price_attempt(self._attempt), end)


row_meter: ContextVar[RowMeter | None] = ContextVar("hocket_row_meter", default=None)
"""Of the row that the running task asks for."""


def _find_meter() -> Sequence[Reserver]:
    meter = row_meter.get()
    return () if meter is None else (meter,)


add_source(_find_meter)
