"""Connections to Redis."""

import functools
import hashlib
import inspect
import queue
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, cast

from pydantic import SecretStr

from hocket._databases.server import DatabaseServer, NotSent, maybe_await
from hocket._secrets import redact_url
from hocket.errors import HocketError, InvalidInput, MissingDependency

try:
    import redis
    import redis.asyncio
    from redis.backoff import NoBackoff
    from redis.connection import parse_url  # pyright: ignore[reportUnknownVariableType]  # redis has no types there
    from redis.exceptions import AuthenticationError, AuthorizationError, NoScriptError, RedisError
    from redis.retry import Retry
except ImportError as error:
    raise MissingDependency("Redis needs a package; run `pip install 'hocket[redis]'`") from error

__all__ = [
    "RedisClient",
    "RedisError",
    "check_redis_url",
    "close_idle_connections",
    "connect_redis",
    "is_redis_unavailable",
    "redis_server",
    "run_script",
]

RedisClient: TypeAlias = redis.Redis | redis.asyncio.Redis

DEFAULT_SIZE = 16
_SCHEMES = ("redis://", "rediss://", "unix://")


def connect_redis(url: str) -> RedisClient:
    """Return a sync client that sends nothing twice: an append whose answer was lost may have been made.

    The URL's query may say otherwise: 16 connections at most, 20 seconds to wait for one of them, 5 seconds to connect,
    10 seconds to wait for an answer.
    """
    pool = _Pool.from_url(  # pyright: ignore[reportUnknownMemberType]  # nor here
        url,
        max_connections=DEFAULT_SIZE,
        timeout=20,
        socket_connect_timeout=5,
        socket_timeout=10,
        retry=Retry(NoBackoff(), 0),
    )
    return redis.Redis(connection_pool=pool)


class _NotConnected(redis.ConnectionError, NotSent):
    """No connection was to be had."""


class _Pool(redis.BlockingConnectionPool):
    """A pool that tells a failure to connect from one of a command, which may have been done."""

    def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().get_connection(*args, **kwargs)  # type: ignore[no-untyped-call]  # redis-py has no types here
        except RedisError as error:
            if not is_redis_unavailable(error):
                raise
            raise _NotConnected(*error.args) from error


class _BlockingPool(Protocol):
    """What redis-py has no types for: the connections that wait, and None for each that is not open."""

    pool: "queue.Queue[redis.Connection | None]"


def close_idle_connections(server: DatabaseServer[RedisClient]) -> None:
    """Close the connections to a URL that nobody uses; the next operation opens another. A given client stays as it is."""
    if server.url is None:
        return
    waiting = cast(_BlockingPool, cast("redis.Redis", server.sync_client()).connection_pool).pool
    idle: list[redis.Connection | None] = []
    with suppress(queue.Empty):  # redis-py before 7 can only close those that are in use, too
        while True:
            idle.append(waiting.get_nowait())
    for connection in idle:
        if connection is not None:
            connection.disconnect()  # type: ignore[no-untyped-call]  # redis-py has no types here
        waiting.put_nowait(connection)


def is_redis_unavailable(error: Exception) -> bool:
    """Whether Redis could not be reached, broke off, or took too long. redis-py counts a refused password as this, too."""
    is_refusal = isinstance(error, AuthenticationError | AuthorizationError)
    return isinstance(error, redis.ConnectionError | redis.TimeoutError) and not is_refusal


def redis_server(
    owner: str,
    url: str,
    error_type: type[HocketError],
    unavailable_type: type[HocketError],
    client: RedisClient | None = None,
) -> DatabaseServer[RedisClient]:
    """Return the way to a Redis server, for a store.

    Args:
        owner: the store, as errors show it, without secrets.
        url: of the server; not used where there is a client.
        error_type, unavailable_type: what failures become.
        client: a client that the user has opened, sync or asyncio's; None: the process's for ``url``.

    Raises:
        InvalidInput: the URL is none of Redis's.
    """
    is_async = hasattr(client, "aclose")
    return DatabaseServer(
        owner=owner,
        error_type=error_type,
        unavailable_type=unavailable_type,
        failures=(RedisError,),
        is_unavailable=is_redis_unavailable,
        connect=connect_redis,
        url=SecretStr(check_redis_url(url)) if client is None else None,
        max_connections=_read_pool_size(url) if client is None else 0,
        client=None if is_async else client,
        async_client=client if is_async else None,
    )


async def run_script(client: RedisClient, script: str, keys: Sequence[str], arguments: Sequence[object]) -> Any:
    """Run a script by its hash, which is all that is sent if Redis knows it."""
    # redis-py types its arguments too narrowly, and its replies too widely
    try:
        return await maybe_await(client.evalsha(_hash(script), len(keys), *keys, *arguments))  # type: ignore[arg-type]
    except NoScriptError:
        return await maybe_await(client.eval(script, len(keys), *keys, *arguments))  # type: ignore[arg-type]


@functools.cache
def _hash(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


def _read_pool_size(url: str) -> int:
    """Return how many connections to a URL, which has been checked, there may be."""
    return int(parse_url(url).get("max_connections", DEFAULT_SIZE))  # type: ignore[no-untyped-call]  # as below


@functools.cache
def _list_options() -> frozenset[str]:
    """Return the names of the options that a URL may have: those of redis-py's connections, and of their pool."""
    kinds = (redis.BlockingConnectionPool, redis.SSLConnection, redis.UnixDomainSocketConnection)
    classes = {base for kind in kinds for base in kind.__mro__ if base is not object}
    names = {name for cls in classes for name in inspect.signature(cls).parameters}
    return frozenset(names - {"self"} | {"connection_class"})


def check_redis_url(url: str) -> str:
    """Return ``url``.

    Raises:
        InvalidInput: redis-py cannot read it.
    """
    if url.startswith(_SCHEMES):
        try:
            options = parse_url(url)  # type: ignore[no-untyped-call]  # redis-py has no types here
        except ValueError:  # its text may show a part of the password
            options = None
        if options is not None and options.keys() <= _list_options():
            return url
    raise InvalidInput(
        f"{redact_url(url)!r} is no URL of Redis: it begins with {', '.join(_SCHEMES)}, then host:port/number, and options "
        "of a connection of redis-py"
    )
