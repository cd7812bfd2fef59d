"""What keeps the accounts of one budget: in its store, whatever happens on the way there."""

import logging
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, TypeVar
from uuid import uuid4

import anyio

from hocket._databases.circuit import Circuit
from hocket._databases.writes import finish_write
from hocket._metering.batch_row import BatchPlace
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.budgets.account import BATCH_LEASE, Account, AccountStore, Amounts, Inquiry, InquiryResult, Limit
from hocket.budgets.limits import explain_excess, read_name, show_limit
from hocket.budgets.opening import LaterAccounts
from hocket.budgets.periods import Per, Period, find_period
from hocket.errors import BudgetStoreFailed, HocketWarning, InvalidInput, StoreError, StoreUnavailable

__all__ = ["Bookkeeper", "Hold"]

T = TypeVar("T")

NOTHING = Amounts()

PATIENCE = 30.0
"""Seconds for which an async caller waits for a store; a call's own deadline may be sooner."""

_log = logging.getLogger("hocket.budgets")


@dataclass(frozen=True)
class Hold:
    """An amount that is held in an account, under an id."""

    account: Account
    id: str
    amounts: Amounts = NOTHING


@dataclass
class _Asking:
    """An amount that is being asked for.

    Attributes:
        id: under which it is to be held; "": nothing is.
        ended: set when nobody asks any more; None: in sync code, where that is seen.
        lease, is_forced: of the inquiry.
        accounts: that were asked about, the last of which may hold it.
        is_given_up: whether its owner has left.
    """

    id: str
    ended: anyio.Event | None
    lease: float
    is_forced: bool = False
    accounts: list[Account] = field(default_factory=list[Account])
    is_given_up: bool = False

    def end(self) -> None:
        """Ask no more."""
        if self.ended is not None:
            self.ended.set()


@dataclass(kw_only=True)
class Bookkeeper:
    """Holds and books amounts.

    Args:
        store: where the accounts are.
        name: of the budget there.
        limit: of each account.
        per: how long one counts.
        timezone: whose days and months.
        by: the entry of metadata that accounts are for; None: there is one for all.
        lease: seconds after which what is held is charged.
    """

    store: AccountStore
    name: str
    limit: Limit
    per: Per
    timezone: tzinfo
    by: str | None
    lease: float
    _circuit: Circuit = field(init=False)
    _is_new: bool = field(default=True, init=False)  # until the store knows the limit
    _is_told: bool = field(default=False, init=False)  # that another limit counts
    _is_lost: bool = field(default=False, init=False)  # what was held for some row; that was told
    _skew: float = field(default=0.0, init=False)  # seconds by which the store's clock is ahead of this one

    def __post_init__(self) -> None:
        self._circuit = Circuit(self.store.owner, PATIENCE, _log, "nothing is sent under its budgets")

    async def hold(
        self, mode: Mode, key: object, want: Amounts, *, id: str = "", lease: float = 0, is_forced: bool = False
    ) -> Hold:
        """Hold an amount. One that is cancelled meanwhile holds nothing.

        Args:
            mode: the caller's.
            key: whose account; None: everybody's.
            want: the amount.
            id: under which it is held; "": a new one. What is held under it already stays as it is.
            lease: seconds that it is held for, if that is more than the budget says.
            is_forced: whether it is held beyond the limit, too.

        Raises:
            BudgetExceeded: it does not fit.
            BudgetStoreFailed: the store cannot say.
            InvalidInput: the key is missing, or none is wanted.
        """
        owner, ended = self._check_key(key), anyio.Event() if mode.is_async else None
        asking = _Asking(id or uuid4().hex, ended, max(lease, self.lease), is_forced)

        async def ask() -> InquiryResult:
            try:
                if asking.is_given_up:
                    raise BudgetStoreFailed("no call waits for this answer any more")
                return await self._ask(mode, owner, want, asking)
            finally:
                asking.end()

        if self.store.is_local:
            answer = await ask()
        else:
            try:
                answer = await (finish_write(ask) if mode.is_async else ask())
                self._note_limit(answer)
            except BaseException:
                asking.is_given_up = True
                if asking.accounts:  # it may be held
                    await mode.run_shielded(self._drop(mode, asking))
                raise
        if not answer.is_granted:
            budget = f"{self.name!r}" if self.by is None else f"{self.name!r} ({self.by} {owner!r})"
            raise explain_excess(budget, answer, want, asking.accounts[-1].period)
        return Hold(asking.accounts[-1], asking.id, want)

    async def book(self, mode: Mode, hold: Hold, amounts: Amounts) -> bool:
        """Book what a hold came to; whether it was one still. More than once, or a day after its lease, it is none.

        Raises:
            BudgetStoreFailed: the store did not take it, twice. It charges the whole of it after the lease.
        """

        async def settle() -> bool:
            return await self.store.settle(mode, hold.account, hold.id, amounts)

        try:
            return await self._reach(mode, settle)
        except BudgetStoreFailed as error:
            if self._circuit.is_open or not isinstance(error.__cause__, StoreUnavailable):
                raise
        await self._reach(mode, settle)  # settled twice is settled once
        return True

    def find_row(self, key: object, place: BatchPlace) -> Hold:
        """Return what is held for a row of a batch, as far as is known without the store: where, and under which id.

        Raises:
            InvalidInput: the key is missing, or none is wanted.
        """
        owner = self._check_key(key)
        period = find_period(place.at + self._skew, self.per, self.timezone)
        return Hold(Account(self.name, owner, period), f"{place.row_id} {self.name} {owner}")

    async def hold_row(self, mode: Mode, key: object, want: Amounts, place: BatchPlace) -> None:
        """Hold an amount for a row of a batch; one that is held already stays as it is. See `hold`."""
        await self.hold(mode, key, want, id=self.find_row(key, place).id, lease=BATCH_LEASE)

    async def book_row(self, mode: Mode, hold: Hold, amounts: Amounts) -> None:
        """Book what a row of a batch came to.

        Where nothing is held for it any more, since its lease is over or it was held by a process that has ended, it is
        booked in the present period, even beyond the limit: it has been paid. (So a row that was booked, and is read again
        since the process died before its answer was on the disk, counts twice.)

        Raises:
            BudgetStoreFailed: see `book`.
        """
        start = hold.account.period.start
        earlier = hold.account.period if start is None else find_period(start - 0.001, self.per, self.timezone)
        for period in dict.fromkeys((hold.account.period, earlier)):  # it is held before its batch is submitted
            if await self.book(mode, replace(hold, account=hold.account._replace(period=period)), amounts):
                return
        if not any(amounts):
            return
        now = await self.hold(mode, hold.account.key, amounts, id=hold.id, is_forced=True)
        await self.book(mode, now, amounts)
        _log.log(
            logging.DEBUG if self._is_lost else logging.WARNING,
            "the budget %r held nothing any more for the row %r of a batch: its cost is booked now, even beyond the "
            "limit; further such rows are told at the level DEBUG",
            self.name,
            hold.id,
        )
        self._is_lost = True

    async def read(self, mode: Mode, key: object) -> tuple[InquiryResult, Period]:
        """Return what has become of an account in the present period.

        Raises:
            BudgetStoreFailed, InvalidInput: see `hold`.
        """
        asking = _Asking("", None, self.lease)
        answer = await self._ask(mode, self._check_key(key), Amounts(), asking)
        return answer, asking.accounts[-1].period

    async def _ask(self, mode: Mode, key: str, want: Amounts, asking: "_Asking") -> InquiryResult:
        """Put an inquiry about the present period."""
        for _ in range(3):
            period = find_period(clock.current().time() + self._skew, self.per, self.timezone)
            account = Account(self.name, key, period)
            inquiry = Inquiry(account, asking.id, want, self.limit, self._is_new, asking.lease, asking.is_forced)
            asking.accounts.append(inquiry.account)
            answer = await self._reach(mode, lambda: self.store.ask(mode, inquiry))  # noqa: B023  # awaited here
            if not answer.is_other_period:
                return answer
            self._skew = answer.now - clock.current().time()
        raise BudgetStoreFailed(f"{self.store.owner}: its clock jumps, so that there is no telling which period it is")

    async def _reach(self, mode: Mode, job: Callable[[], Awaitable[T]]) -> T:
        if self.store.is_local:
            return await job()
        if isinstance(self.store, LaterAccounts):  # the import of a client says nothing of a server: it is no silence
            await self.store.open(mode)
        try:
            return await self._circuit.run(mode, job)
        except StoreError as error:
            raise BudgetStoreFailed(f"the budget {self.name!r} cannot be asked, so nothing is sent: {error}") from error

    async def _drop(self, mode: Mode, asking: "_Asking") -> None:
        """Give back what may be held, if the store can be reached; else it is charged after the lease."""

        async def drop() -> None:
            if asking.ended is not None:
                await asking.ended.wait()
            try:
                await self.store.settle(mode, asking.accounts[-1], asking.id, Amounts())
            except StoreError as error:
                _log.warning("a call that failed may hold a part of the budget %r for its lease: %s", self.name, error)

        if not self._circuit.is_open:
            await mode.finish_within_grace(drop())

    def _note_limit(self, answer: InquiryResult) -> None:
        """Warn where two programs, or two budgets of one program, give one budget different limits."""
        if not answer.is_granted:  # it was not told the store, either
            return
        self._is_new = False
        if answer.replaced is not None:
            text = f"was {show_limit(answer.replaced)}; {show_limit(self.limit)}, which is newer, counts for all from now on"
        elif answer.limit != self.limit and not self._is_told:
            self._is_told = True
            text = f"is {show_limit(answer.limit)}, as was said elsewhere since, and no longer {show_limit(self.limit)}"
        else:
            return
        warnings.warn(
            f"the limit of the budget {self.name!r} in {self.store.owner} {text}", HocketWarning, stacklevel=2
        )

    def _check_key(self, key: object) -> str:
        if self.by is None:
            return ""
        if key is None:
            raise InvalidInput(
                f"the budget {self.name!r} is divided by {self.by!r}, and there is no {self.by!r}: a call has it in its "
                f"config={{'metadata': {{{self.by!r}: ...}}}}, and state() is asked with key=..."
            )
        return read_name(key, self.by)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_is_told": False, "_is_lost": False}
