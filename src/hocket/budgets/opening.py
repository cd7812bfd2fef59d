"""The store of a budget, by its address."""

import os
from collections.abc import Callable
from typing import TypeVar

from hocket._databases.drivers import may_open_here
from hocket._databases.urls import parse_shared_address
from hocket._runtime.mode import Mode
from hocket._secrets import redact_url
from hocket.budgets.account import Account, AccountStore, Amounts, Inquiry, InquiryResult
from hocket.budgets.memory import MemoryAccounts

__all__ = ["LaterAccounts", "open_accounts"]

T = TypeVar("T")


def open_accounts(address: str | os.PathLike[str] | None) -> AccountStore:
    """Return the store at an address; None: this process. Nothing is opened before it is used.

    Raises:
        InvalidInput: there is no store of budgets at such an address.
        MissingDependency: a package is missing.
    """
    if address is None:
        return MemoryAccounts()
    kind, place = parse_shared_address(address, "a store of budgets")

    def open_place() -> AccountStore:
        return _open(kind, place)

    return open_place() if may_open_here(kind) else LaterAccounts(redact_url(place), open_place)


def _open(kind: str, place: str) -> AccountStore:
    if kind == "redis":
        from hocket.budgets.redis import RedisAccounts

        return RedisAccounts(place)
    if kind == "postgres":
        from hocket.budgets.postgres import PostgresAccounts

        return PostgresAccounts(place)
    from hocket.budgets.sqlite import SQLiteAccounts

    return SQLiteAccounts(place)


class LaterAccounts:
    """A store that is opened at its first use, in a thread that may wait for an import. Opened twice, it is still one.

    Args:
        owner: which it is, for errors, without secrets.
        open_place: returns the store.
    """

    is_local = False
    is_portable = True

    def __init__(self, owner: str, open_place: Callable[[], AccountStore]) -> None:
        self.owner: str = owner
        self._open = open_place
        self._opened: AccountStore | None = None

    async def ask(self, mode: Mode, inquiry: Inquiry) -> InquiryResult:
        return await (await self.open(mode)).ask(mode, inquiry)

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        return await (await self.open(mode)).settle(mode, account, id, amounts)

    async def open(self, mode: Mode) -> AccountStore:
        """Return the store, with what it needs imported: two seconds, on a busy machine."""
        if self._opened is None:
            self._opened = await mode.call_sync(self._open)
        return self._opened

    def __reduce__(self) -> tuple[Callable[[AccountStore], AccountStore], tuple[AccountStore]]:
        return _get_itself, (self._opened or self._open(),)


def _get_itself(store: T) -> T:
    return store
