"""A history in Redis.

A conversation is a list, an element a message, so that Redis's own tools can read it. A turn is one ``RPUSH`` of all its
messages, which Redis does at once; a time to live goes with it in one transaction.
"""

import re
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from hocket._databases.redis import RedisClient, close_idle_connections, redis_server
from hocket._databases.redis_lock import RedisLock
from hocket._databases.server import maybe_await
from hocket._secrets import redact_url
from hocket.chat_history.records import check_session_id
from hocket.chat_history.server import ServerHistory
from hocket.errors import HistoryError, HistoryUnavailable, InvalidInput

if TYPE_CHECKING:
    pass

__all__ = ["RedisChatMessageHistory"]

_PAGE = 1000  # keys that Redis looks at in one step of a listing


class RedisChatMessageHistory(ServerHistory[RedisClient]):
    """Keeps a conversation in a Redis list.

    Nothing is sent twice: where the answer to an append is lost, `HistoryError` is raised, and the turn may be stored. A
    client that is given does what its own settings say; redis-py's repeat a command three times.

    Args:
        session_id: the conversation.
        url: ``redis://``, ``rediss://`` or ``unix://``, with redis-py's options as its query. The histories of a process
            share its connections, 16 at most (``?max_connections=16``); `close` closes those that are idle.
        key_prefix: goes before the session in the list's key. LangChain's lists run the other way, so do not use its
            prefix, ``message_store:``, where LangChain has written.
        ttl: seconds after the last turn until Redis forgets the conversation; None: it never does.
        client: a client of redis-py's, instead of a URL; yours to close. One of ``redis.asyncio`` serves the async
            methods, on asyncio and its own loop; a ``redis.Redis`` serves all, everywhere.

    Raises:
        InvalidInput: an argument cannot be used. By `add_messages`: a message cannot be stored; none of the turn is.
        HistoryUnavailable: by every operation: Redis cannot be reached, broke off, or took too long.
        HistoryError: by every operation: it refuses, or a message in it is damaged.
        MissingDependency: redis-py is not installed.
    """

    def __init__(
        self,
        session_id: str,
        url: str = "redis://localhost:6379/0",
        key_prefix: str = "hocket:history:",
        ttl: float | None = None,
        *,
        client: RedisClient | None = None,
    ) -> None:
        if ttl is not None and not ttl >= 0.001:
            raise InvalidInput(f"ttl is {ttl} seconds; it must be above 0, or None for no limit")
        self.session_id: str = check_session_id(session_id)
        self.key_prefix = key_prefix
        self.ttl = ttl
        names = [f"session_id={self.session_id!r}", *([] if client is not None else [f"url={redact_url(url)!r}"])]
        super().__init__(
            redis_server(f"{type(self).__name__}({', '.join(names)})", url, HistoryError, HistoryUnavailable, client)
        )

    @property
    def key(self) -> str:
        """The key of the list."""
        return self.key_prefix + self.session_id

    @property
    def _conversation(self) -> str:
        return self.key

    def _make_lock(self) -> RedisLock:
        return RedisLock(self.key)

    def close(self) -> None:
        """Close the process's idle connections to the URL; the next operation opens another. A given client stays open."""
        close_idle_connections(self._server)

    async def _read(self, client: RedisClient) -> Sequence[str | bytes]:
        records: Awaitable[list[str | bytes]] | list[str | bytes] = client.lrange(self.key, 0, -1)
        return await maybe_await(records)

    async def _append(self, client: RedisClient, records: Sequence[str]) -> None:
        encoded = [record.encode() for record in records]
        if self.ttl is None:
            await maybe_await(client.rpush(self.key, *encoded))
            return
        turn = client.pipeline(transaction=True)  # pyright: ignore[reportUnknownMemberType]  # redis types it so
        turn.rpush(self.key, *encoded)
        turn.pexpire(self.key, round(self.ttl * 1_000))
        await maybe_await(turn.execute())

    async def _clear(self, client: RedisClient) -> None:
        await maybe_await(client.delete(self.key))

    async def _list_sessions(self, client: RedisClient, prefix: str) -> list[str]:
        pattern = re.sub(r"([\\*?\[\]^-])", r"\\\1", self.key_prefix + prefix) + "*"
        cursor, found = 0, set[str]()
        while True:
            scanned: Awaitable[tuple[int, list[str | bytes]]] | tuple[int, list[str | bytes]]
            scanned = client.scan(  # pyright: ignore[reportUnknownMemberType]  # redis types it so
                cursor, match=pattern, count=_PAGE, _type="LIST"
            )
            cursor, keys = await maybe_await(scanned)
            texts = (key.decode(errors="replace") if isinstance(key, bytes) else key for key in keys)
            found.update(text.removeprefix(self.key_prefix) for text in texts)
            if not cursor:
                return [name for name in found if name]
