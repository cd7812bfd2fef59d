"""The store of a budget, by its address."""

import os

from hocket._databases.urls import parse_address
from hocket._secrets import redact_url
from hocket.budgets.account import AccountStore
from hocket.budgets.memory import MemoryAccounts
from hocket.errors import InvalidInput

__all__ = ["open_accounts"]


def open_accounts(address: str | os.PathLike[str] | None) -> AccountStore:
    """Return the store at an address; None: this process. Nothing is opened before it is used.

    Raises:
        InvalidInput: there is no store of budgets at such an address.
        MissingDependency: a package is missing.
    """
    if address is None:
        return MemoryAccounts()
    kind, place = parse_address(address, "a store of budgets")
    if kind == "redis":
        from hocket.budgets.redis import RedisAccounts

        return RedisAccounts(place)
    if kind == "postgres":
        from hocket.budgets.postgres import PostgresAccounts

        return PostgresAccounts(place)
    if kind == "sqlite":
        from hocket.budgets.sqlite import SQLiteAccounts

        return SQLiteAccounts(place)
    raise InvalidInput(
        f"{redact_url(place)!r} is no address of a store of budgets: it is redis://…, postgresql://… or sqlite:///path"
    )
