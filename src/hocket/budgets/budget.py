"""A budget: its limit, and what is reserved and spent under it."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal, Self

from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.budgets.account import Amounts
from hocket.budgets.bookkeeper import Bookkeeper, Hold
from hocket.budgets.limits import read_lease, read_limit, read_name, show_limit
from hocket.budgets.opening import open_accounts
from hocket.budgets.periods import Per, read_per, read_timezone
from hocket.errors import InvalidInput
from hocket.errors.hints import explain_arguments
from hocket.prices.money import MAX_UNITS, Amount, read_amount, to_units, to_usd

__all__ = ["Budget", "BudgetReservation", "BudgetState", "Unpriced"]

Unpriced = Literal["raise", "ignore"]
"""What becomes of a request that has no bound."""


@dataclass(frozen=True, kw_only=True)
class BudgetState:
    """What has become of a budget in its present period.

    Attributes:
        limit_usd, limit_tokens: what may be spent, as it counts for all who share the budget; None: any amount.
        spent_usd, spent_tokens: what is, what was charged for processes that died included.
        reserved_usd, reserved_tokens: what calls in flight may come to at most.
        orphaned_usd, orphaned_tokens: what was charged for processes that died, at its bound: it may have been less.
        resets_at: when the next period begins; None: never.
    """

    limit_usd: Decimal | None
    limit_tokens: int | None
    spent_usd: Decimal
    spent_tokens: int
    reserved_usd: Decimal
    reserved_tokens: int
    orphaned_usd: Decimal
    orphaned_tokens: int
    resets_at: datetime | None


class Budget:
    """What may be spent in a period.

        model = ChatOpenAI(model="gpt-5.2", budget=Budget(usd="5", per="day", store="redis://localhost"))

    Each attempt of a call reserves the most that it may cost before it is sent, retries included, and settles what it came
    to. What does not fit is refused: `BudgetExceeded`. An answer out of a cache costs nothing. The amounts are those of
    `hocket.prices`; searches and other tools that a provider runs and bills are not in them.

    Several processes that give the same store and name share one budget. Should they give other limits, that of the one
    which was made last counts for all, and a warning says so.

    Args:
        usd: US dollars: a text, an int or a `Decimal`.
        tokens: of input and output together.
        per: "day" or "month", of the calendar, a number of seconds, or None: the budget is for ever.
        by: an entry of metadata, the model's or the call's, such as "tenant": each value of it has a budget of its own. A
            call without it is refused.
        store: where accounts are kept: ``redis://…``, ``postgresql://…``, ``sqlite:///path``; None: in this object.
        name: of the budget in its store.
        unpriced: what becomes of a request that has no bound, since its model's price or the length of its answer is not
            known: "raise" `Unpriceable`, or "ignore": an unknown cost counts as nothing until it is known.
        lease: seconds after which a reservation is charged whole, as that of a process that died; longer than any call. A
            call that still ends later is booked with its real cost.
        timezone: whose days and months, by its name: "Europe/Berlin". What time it is the store says.

    Raises:
        InvalidInput: neither ``usd`` nor ``tokens``; a float for money; a limit, a lease or a period that is not above 0; an
            address of no store; a time zone that is not known here.
        MissingDependency: the store needs a package that is not installed.

    Examples:
        >>> from hocket import Budget, FakeListChatModel
        >>> budget = Budget(tokens=100_000, unpriced="ignore")
        >>> FakeListChatModel(responses=["Hello."], budget=budget).invoke("Hi").text
        'Hello.'
        >>> budget.state().limit_tokens
        100000
    """

    @explain_arguments(amount="usd", limit="usd", max_usd="usd", max_tokens="tokens", period="per", window="per")
    def __init__(
        self,
        usd: Amount | None = None,
        *,
        tokens: int | None = None,
        per: Per = None,
        by: str | None = None,
        store: str | os.PathLike[str] | None = None,
        name: str = "default",
        unpriced: Unpriced = "raise",
        lease: float = 600.0,
        timezone: str = "UTC",
    ) -> None:
        if unpriced not in ("raise", "ignore"):
            raise InvalidInput(f'unpriced is {unpriced!r}; it is "raise" or "ignore"')
        self.unpriced: Unpriced = unpriced
        self.timezone: str = timezone
        self.bookkeeper: Bookkeeper = Bookkeeper(
            limit=read_limit(usd, tokens),
            per=read_per(per),
            by=None if by is None else read_name(by, "by"),
            name=read_name(name, "name"),
            lease=read_lease(lease),
            timezone=read_timezone(timezone),
            store=open_accounts(store),
        )

    @property
    def usd(self) -> Decimal | None:
        """US dollars that may be spent in a period; None: any amount."""
        return None if self.bookkeeper.limit.usd is None else to_usd(self.bookkeeper.limit.usd)

    @property
    def tokens(self) -> int | None:
        """Tokens that may be used in a period; None: any number."""
        return self.bookkeeper.limit.tokens

    @property
    def is_portable(self) -> bool:
        """Whether it means the same in another process; if not, a pickled model leaves it behind."""
        return self.bookkeeper.store.is_portable

    def reserve(self, usd: Amount = 0, tokens: int = 0, *, key: str | None = None) -> "BudgetReservation":
        """Reserve an amount, for a request that no model of hocket's makes. See `areserve`."""
        return drive(self._reserve(BLOCKING, usd, tokens, key))

    async def areserve(self, usd: Amount = 0, tokens: int = 0, *, key: str | None = None) -> "BudgetReservation":
        """Reserve an amount, for a request that no model of hocket's makes.

        Args:
            usd: US dollars that it may cost at most.
            tokens: that it may use at most.
            key: the value of ``by``.

        Returns:
            what is to be settled when the request has ended.

        Raises:
            BudgetExceeded: it does not fit.
            BudgetStoreFailed: the store cannot say.
            InvalidInput: an amount is a float or negative; or the budget is divided ``by`` an entry, and no key is given.
        """
        return await self._reserve(ASYNC, usd, tokens, key)

    async def _reserve(self, mode: Mode, usd: Amount, tokens: int, key: str | None) -> "BudgetReservation":
        hold = await self.bookkeeper.hold(mode, key, _read_amounts(usd, tokens))
        return BudgetReservation(self.bookkeeper, hold)

    def state(self, *, key: str | None = None) -> BudgetState:
        """Return what has become of the budget in its present period. See `astate`."""
        return drive(self._read_state(BLOCKING, key))

    async def astate(self, *, key: str | None = None) -> BudgetState:
        """Return what has become of the budget in its present period.

        Args:
            key: the value of ``by``.

        Raises:
            BudgetStoreFailed: the store cannot say.
        """
        return await self._read_state(ASYNC, key)

    async def _read_state(self, mode: Mode, key: str | None) -> BudgetState:
        answer, period = await self.bookkeeper.read(mode, key)
        (limit_usd, limit_tokens), (spent, reserved, orphaned) = answer.limit, answer.totals
        return BudgetState(
            limit_usd=None if limit_usd is None else to_usd(limit_usd),
            limit_tokens=limit_tokens,
            spent_usd=to_usd(spent.usd),
            spent_tokens=spent.tokens,
            reserved_usd=to_usd(reserved.usd),
            reserved_tokens=reserved.tokens,
            orphaned_usd=to_usd(orphaned.usd),
            orphaned_tokens=orphaned.tokens,
            resets_at=None if period.end is None else datetime.fromtimestamp(period.end, UTC),
        )

    def __repr__(self) -> str:
        book = self.bookkeeper
        per = "" if book.per is None else f", per={book.per!r}"
        place = "" if book.store.is_local else f", store={book.store.owner!r}"
        return f"Budget({show_limit(book.limit)}{per}, name={book.name!r}{place})"

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __copy__(self) -> Self:
        return self


class BudgetReservation:
    """An amount that is held. It is settled once: a second time, or three days after its lease, nothing happens.

    Attributes:
        usd, tokens: what is held.
    """

    def __init__(self, bookkeeper: Bookkeeper, hold: Hold) -> None:
        self._bookkeeper = bookkeeper
        self._hold = hold

    @property
    def usd(self) -> Decimal:
        """US dollars that are held."""
        return to_usd(self._hold.amounts.usd)

    @property
    def tokens(self) -> int:
        """Tokens that are held."""
        return self._hold.amounts.tokens

    def settle(self, usd: Amount = 0, tokens: int = 0) -> bool:
        """Book the real cost of the request. See `asettle`."""
        return drive(self._book(BLOCKING, _read_amounts(usd, tokens)))

    async def asettle(self, usd: Amount = 0, tokens: int = 0) -> bool:
        """Book the real cost of the request, in the period in which it was reserved; more than was held is booked, too.

        A caller that is cancelled meanwhile waits for the end of it.

        Returns:
            whether it was booked: a settled one does not change.

        Raises:
            BudgetStoreFailed: the store cannot be reached. It charges the whole reservation after the lease.
        """
        amounts = _read_amounts(usd, tokens)
        return await finish_write(lambda: self._book(ASYNC, amounts))

    def refund(self) -> bool:
        """Give all of it back: nothing was sent. See `arefund`."""
        return self.settle()

    async def arefund(self) -> bool:
        """Give all of it back: nothing was sent. See `asettle`."""
        return await self.asettle()

    async def _book(self, mode: Mode, amounts: Amounts) -> bool:
        return await self._bookkeeper.book(mode, self._hold, amounts)


def _read_amounts(usd: Amount, tokens: int) -> Amounts:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens <= MAX_UNITS:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"tokens is {tokens!r}; it is a whole number, 0 or more")
    return Amounts(to_units(read_amount(usd, "usd")), tokens)
