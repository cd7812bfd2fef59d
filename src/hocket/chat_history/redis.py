"""A history in Redis.

A conversation is a list, an element a message, so that Redis's own tools can read it. A turn is one ``RPUSH`` of all its
messages, which Redis does at once; a time to live goes with it in one transaction.
"""

from collections.abc import Sequence
from typing import Any

from hocket.chat_history.clients import client_of
from hocket.chat_history.records import session_of
from hocket.chat_history.remote import RemoteHistory, settled
from hocket.errors import InvalidInput, MissingDependency
from hocket.http.secrets import redact_url

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.connection import parse_url
    from redis.exceptions import RedisError
    from redis.retry import Retry
except ImportError as error:
    raise MissingDependency("the history in Redis needs a package; run `pip install 'hocket[redis]'`") from error

__all__ = ["RedisChatMessageHistory"]

_SCHEMES = ("redis://", "rediss://", "unix://")
_SETTINGS: dict[str, Any] = {
    "max_connections": 16,
    "timeout": 20,  # seconds to wait for one of them
    "socket_connect_timeout": 5,
    "socket_timeout": 10,
}
"""For the connections to a URL, unless its query says otherwise."""


class RedisChatMessageHistory(RemoteHistory):
    """Keeps a conversation in a Redis list.

    Nothing is sent twice: where the answer to an append is lost, `HistoryError` is raised, and the turn may be stored. A
    client that is given does what its own settings say; redis-py's repeat a command three times.

    Args:
        session_id: the conversation.
        url: ``redis://``, ``rediss://`` or ``unix://``, with redis-py's options as its query. The histories of a process
            share its connections; `close` closes those that are idle.
        key_prefix: goes before the session in the list's key. LangChain's lists run the other way, so do not use its
            prefix, ``message_store:``, where LangChain has written.
        ttl: seconds after the last turn until Redis forgets the conversation; None: it never does.
        client: a client of redis-py's, instead of a URL; yours to close. One of ``redis.asyncio`` serves the async
            methods, on asyncio and its own loop; a ``redis.Redis`` serves all, everywhere.

    Raises:
        InvalidInput: an argument cannot be used. By `add_messages`: a message cannot be stored; none of the turn is.
        HistoryError: by every operation: Redis cannot be reached or refuses, or a message in it is damaged.
        MissingDependency: redis-py is not installed.
    """

    def __init__(
        self,
        session_id: str,
        url: str = "redis://localhost:6379/0",
        key_prefix: str = "hocket:history:",
        ttl: float | None = None,
        *,
        client: Any = None,
    ) -> None:
        if ttl is not None and not ttl >= 0.001:
            raise InvalidInput(f"ttl is {ttl} seconds; it must be above 0, or None for no limit")
        self.session_id = session_of(session_id)
        self.key_prefix = key_prefix
        self.ttl = ttl
        is_async = hasattr(client, "aclose")
        super().__init__(
            _checked(url) if client is None else None, None if is_async else client, client if is_async else None
        )

    @property
    def key(self) -> str:
        """The key of the list."""
        return self.key_prefix + self.session_id

    def close(self) -> None:
        """Close the process's idle connections to the URL; the next operation opens another. A given client stays open."""
        if self._url is not None:
            self._sync().connection_pool.disconnect(inuse_connections=False)

    async def _read(self, client: Any) -> Sequence[str | bytes]:
        records: list[str | bytes] = await settled(client.lrange(self.key, 0, -1))
        return records

    async def _append(self, client: Any, records: Sequence[str]) -> None:
        encoded = [record.encode() for record in records]
        if self.ttl is None:
            await settled(client.rpush(self.key, *encoded))
            return
        turn = client.pipeline(transaction=True)
        turn.rpush(self.key, *encoded)
        turn.pexpire(self.key, round(self.ttl * 1_000))
        await settled(turn.execute())

    async def _clear(self, client: Any) -> None:
        await settled(client.delete(self.key))

    def _opened(self, url: str) -> Any:
        return client_of(_connected, url)

    def _failures(self) -> tuple[type[Exception], ...]:
        return (RedisError,)

    def _name(self) -> str:
        return ", ".join(filter(None, (f"session_id={self.session_id!r}", super()._name())))


def _connected(url: str) -> Any:
    return redis.Redis(
        connection_pool=redis.BlockingConnectionPool.from_url(url, **_SETTINGS, retry=Retry(NoBackoff(), 0))
    )


def _checked(url: str) -> str:
    """Return ``url`` if redis-py can read it."""
    if url.startswith(_SCHEMES):
        try:
            parse_url(url)  # type: ignore[no-untyped-call]
            return url
        except ValueError:  # its text may show a part of the password
            pass
    raise InvalidInput(
        f"{redact_url(url)!r} is no URL of Redis: it begins with {', '.join(_SCHEMES)}, then host:port/number"
    )
