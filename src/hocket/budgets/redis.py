"""The accounts of budgets in Redis, by Redis's clock.

Each step is one script, which Redis runs alone. The keys of a budget share a hash tag, so that a cluster keeps them in one
place. A failover of Redis may lose its last writes: for money that must not be exceeded in that case, use PostgreSQL.
"""

import hashlib
from collections.abc import Awaitable, Sequence
from typing import Any
from urllib.parse import quote

from hocket._databases.redis import NoScriptError, RedisClient, redis_server
from hocket._databases.server import DatabaseServer, maybe_await
from hocket._runtime.mode import Mode
from hocket._secrets import redact_url
from hocket.budgets.account import KEPT, Account, Amounts, Inquiry, Limit, Totals, Verdict
from hocket.errors import StoreError, StoreUnavailable

__all__ = ["RedisAccounts"]

_NONE = -1  # stands for None

_ASK = """
-- KEYS: limit (hash usd, tokens), totals (hash), leases (zset id -> until), amounts (hash id -> usd:tokens:charged)
-- ARGV: 1 start, 2 end (-1: for ever), 3 id, 4 usd, 5 tokens, 6 limit usd, 7 limit tokens (-1: none), 8 is new,
--       9 lease, 10 kept; times in milliseconds
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[2] ~= '-1' and (now < tonumber(ARGV[1]) or now >= tonumber(ARGV[2])) then return {2, now} end

local kept = redis.call('HMGET', KEYS[1], 'usd', 'tokens')
local limit, old = {ARGV[6], ARGV[7]}, {'', ''}
if kept[1] and (kept[1] ~= ARGV[6] or kept[2] ~= ARGV[7]) then
  if ARGV[8] == '1' then old = {kept[1], kept[2]} else limit = {kept[1], kept[2]} end
end
if ARGV[3] ~= '' and (not kept[1] or old[1] ~= '') then redis.call('HSET', KEYS[1], 'usd', limit[1], 'tokens', limit[2]) end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 1000)) do
  local usd, tokens, charged = string.match(redis.call('HGET', KEYS[4], id) or '0:0:1', '^(%d+):(%d+):(%d)$')
  if charged == '1' then
    redis.call('ZREM', KEYS[3], id); redis.call('HDEL', KEYS[4], id)
  else
    for name, amount in pairs({usd = usd, tokens = tokens}) do
      redis.call('HINCRBY', KEYS[2], 'held_' .. name, 0 - amount)
      redis.call('HINCRBY', KEYS[2], 'spent_' .. name, amount)
      redis.call('HINCRBY', KEYS[2], 'orphaned_' .. name, amount)
    end
    redis.call('HSET', KEYS[4], id, usd .. ':' .. tokens .. ':1')
    redis.call('ZADD', KEYS[3], now + ARGV[10], id)
  end
end

local sums = redis.call(
  'HMGET', KEYS[2], 'spent_usd', 'spent_tokens', 'held_usd', 'held_tokens', 'orphaned_usd', 'orphaned_tokens'
)
for i = 1, 6 do sums[i] = sums[i] or '0' end
local granted = 1
for i = 1, 2 do
  if limit[i] ~= '-1' and sums[i] + sums[i + 2] + ARGV[i + 3] > tonumber(limit[i]) then granted = 0 end
end
if granted == 1 and ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[3], now + ARGV[9], ARGV[3])
  redis.call('HSET', KEYS[4], ARGV[3], ARGV[4] .. ':' .. ARGV[5] .. ':0')
  redis.call('HINCRBY', KEYS[2], 'held_usd', ARGV[4]); redis.call('HINCRBY', KEYS[2], 'held_tokens', ARGV[5])
  if ARGV[2] ~= '-1' then
    local goes = ARGV[2] + ARGV[9] + ARGV[10]
    for i = 2, 4 do redis.call('PEXPIREAT', KEYS[i], goes) end
  end
end
return {granted, now, limit[1], limit[2], old[1], old[2], unpack(sums)}
"""

_SETTLE = """
-- KEYS: totals, leases, amounts.  ARGV: id, usd, tokens.  What is not there any more was settled, or is long over.
local usd, tokens, charged = string.match(redis.call('HGET', KEYS[3], ARGV[1]) or '', '^(%d+):(%d+):(%d)$')
if not usd then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1]); redis.call('HDEL', KEYS[3], ARGV[1])
for name, pair in pairs({usd = {usd, ARGV[2]}, tokens = {tokens, ARGV[3]}}) do
  if charged == '1' then
    redis.call('HINCRBY', KEYS[1], 'spent_' .. name, 0 - pair[1])
    redis.call('HINCRBY', KEYS[1], 'orphaned_' .. name, 0 - pair[1])
  else
    redis.call('HINCRBY', KEYS[1], 'held_' .. name, 0 - pair[1])
  end
  redis.call('HINCRBY', KEYS[1], 'spent_' .. name, pair[2])
end
return 1
"""


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

    async def ask(self, mode: Mode, inquiry: Inquiry) -> Verdict:
        """Answer an inquiry. See `hocket.budgets.account.AccountStore`."""
        account, id, want, limit, is_new, lease = inquiry
        period = account.period
        limit_key, *keys = _name_keys(account)
        arguments = (
            *(_NONE if period.end is None else _milliseconds(moment) for moment in (period.start, period.end)),
            *(id, *want, *(_NONE if most is None else most for most in limit)),
            *(int(is_new), _milliseconds(lease), _milliseconds(KEPT)),
        )
        granted, now, *more = await self._run(mode, _ASK, (limit_key, *keys), arguments)
        if not more:
            return Verdict(False, int(now) / 1000, is_other_period=True)
        usd, tokens, old_usd, old_tokens, *sums = map(_read, more)
        spent, reserved, orphaned = (Amounts(*(sums[at : at + 2])) for at in (0, 2, 4))  # type: ignore[arg-type]
        replaced = None if more[2] in (b"", "") else Limit(old_usd, old_tokens)
        return Verdict(
            granted == 1, int(now) / 1000, False, Limit(usd, tokens), replaced, Totals(spent, reserved, orphaned)
        )

    async def settle(self, mode: Mode, account: Account, id: str, amounts: Amounts) -> bool:
        """Book what a reservation came to. See `hocket.budgets.account.AccountStore`."""
        _, *keys = _name_keys(account)
        return bool(await self._run(mode, _SETTLE, keys, (id, *amounts)))

    async def _run(self, mode: Mode, script: str, keys: Sequence[str], arguments: Sequence[object]) -> Any:
        if mode.is_async:
            return await self._server.acall(_run_script, script, keys, arguments)
        return self._server.call(_run_script, script, keys, arguments)


async def _run_script(client: RedisClient, script: str, keys: Sequence[str], arguments: Sequence[object]) -> Any:
    """Run a script by its hash, which is all that is sent if Redis knows it."""
    digest = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
    running: Awaitable[object] | object
    try:
        running = client.evalsha(digest, len(keys), *keys, *arguments)  # type: ignore[arg-type]
        return await maybe_await(running)
    except NoScriptError:
        running = client.eval(script, len(keys), *keys, *arguments)  # type: ignore[arg-type]
        return await maybe_await(running)


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
