"""The accounts of budgets in Redis, by Redis's clock.

Each step is one script, which Redis runs alone. The keys of a budget share a hash tag, so that a cluster keeps them in one
place. A failover of Redis may lose its last writes: for money that must not be exceeded in that case, use PostgreSQL.
"""

from urllib.parse import quote

from hocket._databases.redis import RedisClient, redis_server, run_script
from hocket._databases.server import DatabaseServer
from hocket._runtime.data_files import read_data_file
from hocket._runtime.mode import Mode
from hocket._secrets import redact_url
from hocket.budgets.account import KEPT, Account, Amounts, Inquiry, InquiryResult, Limit, Totals
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["RedisAccounts"]

_NONE = -1  # stands for None

_ASK = read_data_file("hocket.budgets", "ask.lua")
_SETTLE = read_data_file("hocket.budgets", "settle.lua")


class RedisAccounts:
    """Keeps accounts under ``hocket:budget:{name}``. Those of a period go some time after it; those without one stay.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``.

    Raises:
        InvalidInput: the URL is none of Redis's.
    """

    is_local = False
    is_portable = True

    def __init__(self, url: str) -> None:
        self.owner: str = redact_url(url)
        self._server: DatabaseServer[RedisClient] = redis_server(self.owner, url, StoreError, StoreUnavailable)

    async def ask(self, mode: Mode, inquiry: Inquiry) -> InquiryResult:
        """Answer an inquiry. See `hocket.budgets.account.AccountStore`."""
        account, id, want, limit, is_new, lease, is_forced = inquiry
        period = account.period
        limit_key, *keys = _name_keys(account)
        arguments = (
            *(_NONE if period.end is None else _milliseconds(moment) for moment in (period.start, period.end)),
            *(id, *want, *(_NONE if most is None else most for most in limit)),
            *(int(is_new), _milliseconds(lease), _milliseconds(KEPT), int(is_forced)),
        )
        granted, now, *more = await self._server.run(mode, run_script, _ASK, (limit_key, *keys), arguments)
        if not more:
            return InquiryResult(False, int(now) / 1000, is_other_period=True)
        usd, tokens, old_usd, old_tokens, *sums = map(_read, more)
        spent, reserved, orphaned = (Amounts(*(sums[at : at + 2])) for at in (0, 2, 4))  # type: ignore[arg-type]
        replaced = None if more[2] in (b"", "") else Limit(old_usd, old_tokens)
        return InquiryResult(
            granted == 1, int(now) / 1000, False, Limit(usd, tokens), replaced, Totals(spent, reserved, orphaned)
        )

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to. See `hocket.budgets.account.AccountStore`."""
        _, *keys = _name_keys(account)
        return bool(await self._server.run(mode, run_script, _SETTLE, keys, (id, *amounts)))


def _name_keys(account: Account) -> list[str]:
    """Return the keys of the limit, and of the account's totals, leases and amounts."""
    budget = f"hocket:budget:{{{quote(account.name)}}}"
    place = f"{budget}:{account.period.key}:{quote(account.key, safe='')}"
    return [f"{budget}:limit", *(f"{place}:{part}" for part in ("totals", "leases", "amounts"))]


def _milliseconds(seconds: float | None) -> int:
    return 0 if seconds is None else round(seconds * 1000)


def _read(value: bytes | str | int) -> int | None:
    number = int(value or _NONE)
    return None if number == _NONE else number
