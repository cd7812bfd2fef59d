"""The accounts of a budget in this process."""

import math
import threading
from dataclasses import dataclass, field
from typing import NoReturn

from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.budgets.account import KEPT, Account, Amounts, Inquiry, InquiryResult, Totals, fits
from hocket.errors import InvalidInput

__all__ = ["MemoryAccounts"]

_NOTHING = Amounts()


@dataclass(slots=True)
class _Reservation:
    amounts: Amounts
    until: float
    is_charged: bool = False


@dataclass(slots=True)
class _Sums:
    spent: Amounts = field(default=_NOTHING)
    reserved: Amounts = field(default=_NOTHING)
    orphaned: Amounts = field(default=_NOTHING)
    held: dict[str, _Reservation] = field(default_factory=dict[str, _Reservation])
    quiet_until: float = math.inf  # none ends before: a batch has thousands, which are not looked through each time

    def hold(self, id: str, amounts: Amounts, until: float) -> None:
        """Hold an amount. What is held already stays as it is."""
        if id not in self.held:
            self.held[id] = _Reservation(amounts, until)
            self.reserved = _add(self.reserved, amounts)
            self.quiet_until = min(self.quiet_until, until)

    def charge_dead(self, now: float) -> None:
        """Charge what is held for longer than its lease; forget what was charged three days ago."""
        if now < self.quiet_until:
            return
        for id, one in [*self.held.items()]:
            if one.until > now:
                continue
            if one.is_charged:
                del self.held[id]
            else:
                self.reserved = _subtract(self.reserved, one.amounts)
                self.spent, self.orphaned = _add(self.spent, one.amounts), _add(self.orphaned, one.amounts)
                one.until, one.is_charged = now + KEPT, True
        self.quiet_until = min((one.until for one in self.held.values()), default=math.inf)

    def settle(self, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to; whether there was one."""
        held = self.held.pop(id, None)
        if held is None:
            return False
        if held.is_charged:
            self.spent, self.orphaned = _subtract(self.spent, held.amounts), _subtract(self.orphaned, held.amounts)
        else:
            self.reserved = _subtract(self.reserved, held.amounts)
        self.spent = _add(self.spent, amounts)
        return True


class MemoryAccounts:
    """Keeps the accounts of one budget, for all threads and event loops of the process."""

    owner = "a budget in memory"
    is_local = True
    is_portable = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[tuple[str, str], _Sums] = {}
        self._ends: dict[str, float] = {}  # of periods

    async def ask(self, mode: Mode, inquiry: Inquiry) -> InquiryResult:
        """Answer an inquiry. See `hocket.budgets.account.AccountStore`."""
        now = clock.current().time()
        key, period = inquiry.account.key, inquiry.account.period
        if now not in period:
            return InquiryResult(False, now, is_other_period=True)
        with self._lock:
            if period.end is not None and period.key not in self._ends:
                self._forget_old(now)
                self._ends[period.key] = period.end
            sums = self._sums.setdefault((key, period.key), _Sums())
            sums.charge_dead(now)
            totals = Totals(sums.spent, sums.reserved, sums.orphaned)
            granted = inquiry.id in sums.held or inquiry.is_forced or fits(inquiry.limit, totals, inquiry.want)
            if granted and inquiry.id:
                sums.hold(inquiry.id, inquiry.want, now + inquiry.lease)
        return InquiryResult(granted, now, limit=inquiry.limit, totals=totals)

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to. See `hocket.budgets.account.AccountStore`."""
        with self._lock:
            sums = self._sums.get((account.key, account.period.key))
            return sums is not None and sums.settle(id, amounts)

    def _forget_old(self, now: float) -> None:
        old = {key for key, end in self._ends.items() if end + KEPT < now}
        for key in old:
            del self._ends[key]
        self._sums = {place: sums for place, sums in self._sums.items() if place[1] not in old}

    def __getstate__(self) -> NoReturn:
        raise InvalidInput("a budget in memory cannot be pickled: it holds in one process. Give it store=...")


def _add(left: Amounts, right: Amounts) -> Amounts:
    return Amounts(left.usd + right.usd, left.tokens + right.tokens)


def _subtract(left: Amounts, right: Amounts) -> Amounts:
    return Amounts(left.usd - right.usd, left.tokens - right.tokens)
