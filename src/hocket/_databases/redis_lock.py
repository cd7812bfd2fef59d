"""A lock in Redis: a key that holds the token of its owner, and that Redis forgets unless it is renewed.

Each step is one script, which Redis runs alone. An owner that takes the lock many times in a row must not shut out the
others, so a second key holds the token of the next owner, and no other gets the lock before it. Redis forgets this key, too,
when the next owner no longer asks.
"""

from collections.abc import Awaitable
from uuid import uuid4

from hocket._databases.redis import RedisClient
from hocket._databases.server import maybe_await

__all__ = ["RedisLock"]

LEASE = 15.0
INTERVAL = 3.0
NEXT = 2.0
"""Seconds for which the next one is waited for."""

_ATTEMPT = """
local holder, next = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if holder == ARGV[1] then return 1 end
if next and next ~= ARGV[1] then return 0 end
if holder then
    redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
    return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('DEL', KEYS[2])
return 1
"""
_RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_RELEASE = """
for _, key in ipairs(KEYS) do
    if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
return 1
"""


class RedisLock:
    """One hold of a lock.

    Args:
        name: of what it is on.
    """

    def __init__(self, name: str) -> None:
        self.lease: float | None = LEASE
        self.interval = INTERVAL
        self._keys = (f"hocket:exclusive:{{{name}}}", f"hocket:exclusive:{{{name}}}:next")  # one slot of a cluster
        self._token = uuid4().hex

    async def attempt(self, client: RedisClient) -> bool:
        """Take it, unless somebody else has it or is next; whether it was taken. May be sent twice."""
        return await self._run(client, _ATTEMPT, round(LEASE * 1_000), round(NEXT * 1_000))

    async def renew(self, client: RedisClient) -> bool:
        """Keep it for the seconds of a lease; whether it still is ours."""
        return await self._run(client, _RENEW, round(LEASE * 1_000))

    async def release(self, client: RedisClient) -> None:
        """Give it back, if it is ours."""
        await self._run(client, _RELEASE)

    async def _run(self, client: RedisClient, script: str, *milliseconds: int) -> bool:
        running: Awaitable[object] | object = client.eval(
            script, len(self._keys), *self._keys, self._token, *milliseconds
        )
        return await maybe_await(running) == 1
