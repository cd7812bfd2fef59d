"""The accounts of a budget in this process."""

import threading
from dataclasses import dataclass, field
from typing import NoReturn

from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.budgets.account import KEPT, Account, Amounts, Inquiry, Totals, Verdict, fits
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
    orphaned: Amounts = field(default=_NOTHING)
    held: dict[str, _Reservation] = field(default_factory=dict[str, _Reservation])

    def charge_dead(self, now: float) -> None:
        """Charge what is held for longer than its lease; forget what was charged a day ago."""
        for id, one in [*self.held.items()]:
            if one.until > now:
                continue
            if one.is_charged:
                del self.held[id]
            else:
                self.spent, self.orphaned = _add(self.spent, one.amounts), _add(self.orphaned, one.amounts)
                one.until, one.is_charged = now + KEPT, True

    @property
    def totals(self) -> Totals:
        reserved = Amounts()
        for one in self.held.values():
            if not one.is_charged:
                reserved = _add(reserved, one.amounts)
        return Totals(self.spent, reserved, self.orphaned)


class MemoryAccounts:
    """Keeps the accounts of one budget, for all threads and event loops of the process."""

    owner = "a budget in memory"
    is_local = True
    is_portable = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[tuple[str, str], _Sums] = {}
        self._ends: dict[str, float] = {}  # of periods

    async def ask(self, mode: Mode, inquiry: Inquiry) -> Verdict:
        """Answer an inquiry. See `hocket.budgets.account.AccountStore`."""
        now = clock.current().time()
        key, period = inquiry.account.key, inquiry.account.period
        if now not in period:
            return Verdict(False, now, is_other_period=True)
        with self._lock:
            if period.end is not None and period.key not in self._ends:
                self._forget_old(now)
                self._ends[period.key] = period.end
            sums = self._sums.setdefault((key, period.key), _Sums())
            sums.charge_dead(now)
            totals = sums.totals
            granted = fits(inquiry.limit, totals, inquiry.want)
            if granted and inquiry.id:
                sums.held[inquiry.id] = _Reservation(inquiry.want, now + inquiry.lease)
        return Verdict(granted, now, limit=inquiry.limit, totals=totals)

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to. See `hocket.budgets.account.AccountStore`."""
        with self._lock:
            sums = self._sums.get((account.key, account.period.key))
            held = None if sums is None else sums.held.pop(id, None)
            if sums is None or held is None:
                return False
            if held.is_charged:
                sums.spent, sums.orphaned = _subtract(sums.spent, held.amounts), _subtract(sums.orphaned, held.amounts)
            sums.spent = _add(sums.spent, amounts)
            return True

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
