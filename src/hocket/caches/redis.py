"""A cache in Redis, for the processes of a fleet.

An answer is a key, which Redis itself forgets in time; a claim is another, ``…:claim``, set where there is none, and gone
with its lease. Only the holder renews or releases it, or may ask for it twice, which takes a script, since the look and the
deed must be one.
"""

import re
from collections.abc import Awaitable
from typing import TYPE_CHECKING, cast

from hocket._databases.redis import RedisClient, close_idle_connections, redis_server
from hocket._databases.server import DatabaseServer, maybe_await
from hocket._secrets import redact_url
from hocket.caches import fleet
from hocket.caches.fleet import SharedCache
from hocket.caches.server import ServerStore
from hocket.errors import InvalidInput, StoreError, StoreUnavailable

if TYPE_CHECKING:
    pass

__all__ = ["RedisCache"]

_CLAIM = """
    local is_free = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
    return (is_free or redis.call('GET', KEYS[1]) == ARGV[1]) and 1 or 0
"""
_RENEW = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"
_RELEASE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"
_PAGE = 1_000
_WAITS = ("socket_connect_timeout", "socket_timeout", "timeout")


class RedisCache(SharedCache):
    """Keeps answers in Redis, for all threads, event loops, processes and machines that reach it.

    A server that is down, or slower than 250 ms three times in a row, counts as empty: models are asked, and a line of the
    log says so, once a minute. Values are JSON: what somebody else has written there builds messages at most, and runs
    nothing.

    Args:
        url: ``redis://host:port/number`` (or ``rediss://``, ``unix://``), with redis-py's options as its query. The process
            has one client for it, of 16 connections at most (``?max_connections=50``). A pickle leaves the password out.
        ttl: seconds for which an answer counts; None: for ever.
        prefix: what the keys begin with, and what `clear` deletes.
        lease: seconds for which the others wait for a process that asks and has died; a living one renews its claim as
            long as the model takes. None: each process asks for itself.
        client: a ``redis.Redis`` or ``redis.asyncio.Redis`` instead of a URL; yours to close. asyncio's serves the async
            methods, on its own loop. One that decodes responses is no use: answers are bytes.

    Raises:
        InvalidInput: an argument cannot be used.
        MissingDependency: redis is not installed.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        *,
        ttl: float | None = None,
        prefix: str = "hocket:cache:",
        lease: float | None = 30.0,
        client: RedisClient | None = None,
    ) -> None:
        if not prefix:
            raise InvalidInput("prefix is empty, and clear() would delete whatever is in the database; name one")
        owner = f"RedisCache({redact_url(url)!r})" if client is None else f"RedisCache(prefix={prefix!r}, client=...)"
        self.prefix: str = prefix
        if client is not None and _decodes(client):
            raise InvalidInput("client decodes what it reads, and answers are bytes; make it without decode_responses")
        server = redis_server(owner, _with_waits(url), StoreError, StoreUnavailable, client)
        patience = None if client is None else fleet.PATIENCE  # the user's waits as long as he likes
        super().__init__(_RedisStore(server, prefix), owner, ttl, lease, patience)


class _RedisStore(ServerStore[RedisClient]):
    """The keys of a cache."""

    def __init__(self, server: DatabaseServer[RedisClient], prefix: str) -> None:
        super().__init__(server)
        self._prefix = prefix

    def close(self) -> None:
        close_idle_connections(self._server)

    def _name(self, key: bytes) -> str:
        return f"{self._prefix}{{{key.hex()}}}"  # in a cluster, braces keep an answer and its claim on one node

    def _claim_name(self, key: bytes) -> str:
        return f"{self._name(key)}:claim"

    async def _read(self, client: RedisClient, key: bytes) -> bytes | None:
        value = await _finish(client.get(self._name(key)))
        return value if isinstance(value, bytes) else None

    async def _write(self, client: RedisClient, key: bytes, value: bytes, ttl: float | None) -> None:
        both = client.pipeline(transaction=True)  # pyright: ignore[reportUnknownMemberType]  # redis types it so
        both.set(self._name(key), value, px=None if ttl is None else _milliseconds(ttl))
        both.delete(self._claim_name(key))
        await _finish(both.execute())

    async def _clear(self, client: RedisClient) -> None:
        pattern = re.sub(r"([\\*?\[\]^-])", r"\\\1", self._prefix) + "*"
        cursor = 0
        while True:
            page = client.scan(cursor, match=pattern, count=_PAGE)  # pyright: ignore[reportUnknownMemberType]  # here, too
            cursor, names = cast("tuple[int, list[bytes]]", await _finish(page))
            if names:
                await _finish(client.unlink(*names))
            if not cursor:
                return

    async def _claim(self, client: RedisClient, key: bytes, owner: str, lease: float) -> bool:
        return bool(await _finish(client.eval(_CLAIM, 1, self._claim_name(key), owner, str(_milliseconds(lease)))))

    async def _renew(self, client: RedisClient, key: bytes, owner: str, lease: float) -> bool:
        return bool(await _finish(client.eval(_RENEW, 1, self._claim_name(key), owner, str(_milliseconds(lease)))))

    async def _release(self, client: RedisClient, key: bytes, owner: str) -> None:
        await _finish(client.eval(_RELEASE, 1, self._claim_name(key), owner))


async def _finish(reply: Awaitable[object] | object) -> object:
    """Return what a method of a client came to. redis-py types its replies for every protocol and setting there is."""
    return await maybe_await(reply)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1_000))


def _decodes(client: RedisClient) -> bool:
    pool = getattr(client, "connection_pool", None)  # a cluster has none
    return bool(getattr(pool, "connection_kwargs", {}).get("decode_responses"))


def _with_waits(url: str) -> str:
    """Return ``url`` with limits on each wait, for sync callers, unless it has limits of its own."""
    named = [pair.partition("=")[0] for pair in url.partition("?")[2].split("&")]
    waits = "&".join(f"{name}={fleet.PATIENCE}" for name in _WAITS if name not in named)
    return f"{url}{'&' if '?' in url else '?'}{waits}" if waits else url
