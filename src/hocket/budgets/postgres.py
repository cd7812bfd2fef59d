"""The accounts of budgets in PostgreSQL, by its clock.

An inquiry is one function in the database, and so one round trip: it locks the account's row, so that nobody comes between
its steps. The functions' names have a number, which goes up with what they do: programs of several versions get along.
"""

from hocket._databases.postgres import PostgresClient, execute_or_create, postgres_server
from hocket._databases.server import DatabaseServer
from hocket._runtime.data_files import read_data_file
from hocket._runtime.mode import Mode
from hocket._secrets import redact_url
from hocket.budgets.account import KEPT, Account, Amounts, Inquiry, InquiryResult, Limit, Totals
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["PostgresAccounts"]

_CREATE = read_data_file("hocket.budgets", "budgets.sql")
_ASK = """
SELECT * FROM hocket_budget_ask_2(
    %s::text, %s::text, %s::text, %s::float8, %s::float8, %s::text, %s::bigint, %s::bigint,
    %s::bigint, %s::bigint, %s::boolean, %s::float8, %s::float8, %s::boolean
)
"""
_SETTLE = "SELECT hocket_budget_settle_2(%s::text, %s::bigint, %s::bigint)"


class PostgresAccounts:
    """Keeps accounts in the tables ``hocket_budget``, ``hocket_budget_limit`` and ``hocket_reservation``.

    The first inquiry makes the tables and two functions, if they are absent.

    Args:
        url: ``postgresql://…``.

    Raises:
        InvalidInput: the URL is none of PostgreSQL's.
    """

    is_local = False
    is_portable = True

    def __init__(self, url: str) -> None:
        self.owner: str = redact_url(url)
        self._server: DatabaseServer[PostgresClient] = postgres_server(self.owner, url, StoreError, StoreUnavailable)

    async def ask(self, mode: Mode, inquiry: Inquiry) -> InquiryResult:
        """Answer an inquiry. See `hocket.budgets.account.AccountStore`."""
        (name, key, (period, start, end)), id, want, limit, is_new, lease, is_forced = inquiry
        account = name, key, period, start, end
        arguments = *account, id, *want, *limit, is_new, lease, KEPT, is_forced
        (row,) = await self._server.run(mode, execute_or_create, _CREATE, _ASK, *arguments)
        granted, now, usd, tokens, is_replaced, old_usd, old_tokens, *sums = row
        if granted is None:
            return InquiryResult(False, now, is_other_period=True)
        spent, reserved, orphaned = (Amounts(*sums[at : at + 2]) for at in (0, 2, 4))
        replaced = Limit(old_usd, old_tokens) if is_replaced else None
        return InquiryResult(granted, now, False, Limit(usd, tokens), replaced, Totals(spent, reserved, orphaned))

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to. See `hocket.budgets.account.AccountStore`."""
        ((is_settled,),) = await self._server.run(mode, execute_or_create, _CREATE, _SETTLE, id, *amounts)
        return bool(is_settled)
