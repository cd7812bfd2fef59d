"""The accounts of budgets in an SQLite database, for the processes of one machine, by the machine's clock."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from hocket._databases.sqlite import LazyDatabase, transaction
from hocket._databases.urls import check_path
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.budgets.account import KEPT, Account, Amounts, Inquiry, InquiryResult, Limit, Totals, fits
from hocket.errors import InvalidInput, StoreError

__all__ = ["SQLiteAccounts"]

T = TypeVar("T")

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS hocket_budget_limit (
        name TEXT PRIMARY KEY, usd INTEGER, tokens INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS hocket_budget (
        name TEXT NOT NULL, key TEXT NOT NULL, period TEXT NOT NULL, ends REAL,
        usd INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
        orphaned_usd INTEGER NOT NULL DEFAULT 0, orphaned_tokens INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (name, key, period)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS hocket_reservation (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL, period TEXT NOT NULL,
        usd INTEGER NOT NULL, tokens INTEGER NOT NULL, until REAL NOT NULL, charged INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS hocket_reservation_sum ON hocket_reservation (name, key, period, charged, until, usd, tokens);
"""
_ACCOUNT = "name = ? AND key = ? AND period = ?"
_HELD = (
    f"SELECT coalesce(sum(usd), 0), coalesce(sum(tokens), 0) FROM hocket_reservation WHERE {_ACCOUNT} AND charged = 0"
)
_HOLD = """
    INSERT OR IGNORE INTO hocket_reservation (id, name, key, period, usd, tokens, until) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_IS_HELD = "SELECT 1 FROM hocket_reservation WHERE id = ?"
_TOTALS = f"SELECT usd, tokens, orphaned_usd, orphaned_tokens FROM hocket_budget WHERE {_ACCOUNT}"
_CHARGE = f"""
    UPDATE hocket_budget SET usd = usd + ?, tokens = tokens + ?,
        orphaned_usd = orphaned_usd + ?, orphaned_tokens = orphaned_tokens + ?
    WHERE {_ACCOUNT}
"""
_OLD = """
    DELETE FROM hocket_reservation WHERE name = ? AND key = ? AND period IN (
        SELECT period FROM hocket_budget WHERE name = ? AND key = ? AND ends < ?
    )
"""


class SQLiteAccounts:
    """Keeps accounts in the tables ``hocket_budget``, ``hocket_budget_limit`` and ``hocket_reservation``.

    Args:
        path: of the database's file.

    Raises:
        InvalidInput: no file can be called so.
    """

    is_local = False
    is_portable = True

    def __init__(self, path: str) -> None:
        self.path: str = check_path(path, "the path of the store")
        if self.path == ":memory:":
            raise InvalidInput("an SQLite database in memory is no store that is shared: leave store=... out")
        self.owner: str = f"sqlite:///{self.path}"
        self._database = LazyDatabase(self.path, "budgets")

    async def ask(self, mode: Mode, inquiry: Inquiry) -> InquiryResult:
        """Answer an inquiry. See `hocket.budgets.account.AccountStore`."""
        return await mode.call_sync(self._run, lambda connection: _ask(connection, inquiry))

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to. See `hocket.budgets.account.AccountStore`."""
        return await mode.call_sync(self._run, lambda connection: _settle(connection, id, amounts))

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._database.open(_SCHEMA, StoreError) as connection, transaction(connection):
            return work(connection)


def _ask(connection: sqlite3.Connection, inquiry: Inquiry) -> InquiryResult:
    account, now = inquiry.account, clock.current().time()
    if now not in account.period:
        return InquiryResult(False, now, is_other_period=True)
    limit, replaced = _agree_on_limit(connection, inquiry)
    if inquiry.id:
        _open_account(connection, account, now)
    _charge_dead(connection, account, now)
    place = (account.name, account.key, account.period.key)
    spent = connection.execute(_TOTALS, place).fetchone() or (0, 0, 0, 0)
    totals = Totals(Amounts(*spent[:2]), Amounts(*connection.execute(_HELD, place).fetchone()), Amounts(*spent[2:]))
    granted = inquiry.is_forced or fits(limit, totals, inquiry.want)
    if granted and inquiry.id:
        connection.execute(_HOLD, (inquiry.id, *place, *inquiry.want, now + inquiry.lease))
    elif inquiry.id:
        granted = connection.execute(_IS_HELD, (inquiry.id,)).fetchone() is not None
    return InquiryResult(granted, now, limit=limit, replaced=replaced, totals=totals)


def _agree_on_limit(connection: sqlite3.Connection, inquiry: Inquiry) -> tuple[Limit, Limit | None]:
    """Return the limit that counts for all, and the one that it replaces, if it is another."""
    name, limit = inquiry.account.name, inquiry.limit
    row = connection.execute("SELECT usd, tokens FROM hocket_budget_limit WHERE name = ?", (name,)).fetchone()
    known = None if row is None else Limit(*row)
    if known is not None and (known == limit or not inquiry.is_new):
        return known, None
    if inquiry.id:
        connection.execute("REPLACE INTO hocket_budget_limit (name, usd, tokens) VALUES (?, ?, ?)", (name, *limit))
    return limit, known


def _open_account(connection: sqlite3.Connection, account: Account, now: float) -> None:
    """Make the account's row, if it is absent; then those of its periods that are long over go."""
    name, key, period = account
    made = connection.execute(
        "INSERT OR IGNORE INTO hocket_budget (name, key, period, ends) VALUES (?, ?, ?, ?)",
        (name, key, period.key, period.end),
    )
    if made.rowcount:
        old = (name, key, now - KEPT)
        connection.execute(_OLD, (name, key, *old))
        connection.execute("DELETE FROM hocket_budget WHERE name = ? AND key = ? AND ends < ?", old)


def _charge_dead(connection: sqlite3.Connection, account: Account, now: float) -> None:
    """Charge what is held for longer than its lease; forget what was charged three days ago."""
    place = (account.name, account.key, account.period.key)
    dead = connection.execute(
        f"UPDATE hocket_reservation SET charged = 1, until = ? WHERE {_ACCOUNT} AND charged = 0 AND until <= ? "
        "RETURNING usd, tokens",
        (now + KEPT, *place, now),
    ).fetchall()
    if dead:
        usd, tokens = (sum(column) for column in zip(*dead, strict=True))
        connection.execute(_CHARGE, (usd, tokens, usd, tokens, *place))
        connection.execute(
            f"DELETE FROM hocket_reservation WHERE {_ACCOUNT} AND charged = 1 AND until <= ?", (*place, now)
        )


def _settle(connection: sqlite3.Connection, id: str, amounts: Amounts) -> bool:
    """Book what a reservation came to, in its own account: that of a row may be in another period than was thought."""
    row = connection.execute(
        "DELETE FROM hocket_reservation WHERE id = ? RETURNING usd, tokens, charged, name, key, period", (id,)
    ).fetchone()
    if row is None:
        return False
    usd, tokens, charged, *place = row
    back = (usd, tokens) if charged else (0, 0)
    connection.execute(
        _CHARGE,
        (amounts.usd - back[0], amounts.tokens - back[1], -back[0], -back[1], *place),
    )
    return True
