"""What the histories on servers have in common: three operations over a client, see `hocket._databases.server`."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

from hocket._databases.server import DatabaseServer
from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.exclusive import Exclusive
from hocket.chat_history.records import dumps_messages, loads_messages
from hocket.errors import HistoryUnavailable
from hocket.messages import BaseMessage

__all__ = ["ServerHistory", "ServerLock"]

Client = TypeVar("Client")
ClientT = TypeVar("ClientT", contravariant=True)

_PATIENCE = 1.5
"""Seconds for which a turn that cannot be sent is tried again: a server that restarts, or is replaced, is back by then."""


class ServerLock(Protocol[ClientT]):
    """One hold of a lock on a server: `hocket.chat_history.exclusive.ProcessLock`, over a client."""

    lease: float | None
    interval: float

    async def attempt(self, client: ClientT) -> bool:
        """Take it, unless somebody else has it."""
        ...

    async def renew(self, client: ClientT) -> bool:
        """Keep it."""
        ...

    async def release(self, client: ClientT) -> None:
        """Give it back."""
        ...


class ServerHistory(BaseChatMessageHistory, ABC, Generic[Client]):
    """A history on a server.

    Args:
        server: where it is, and the way to it.
    """

    def __init__(self, server: DatabaseServer[Client]) -> None:
        self._server = server

    @abstractmethod
    async def _read(self, client: Client) -> Sequence[str | bytes]:
        """Return the records, oldest first."""

    @abstractmethod
    async def _append(self, client: Client, records: Sequence[str]) -> None:
        """Store the records of a turn: at once, and together."""

    @abstractmethod
    async def _clear(self, client: Client) -> None:
        """Forget the session."""

    @abstractmethod
    async def _list_sessions(self, client: Client, prefix: str) -> list[str]:
        """Return the sessions of the store."""

    @property
    @abstractmethod
    def _conversation(self) -> str:
        """The conversation's name on the server."""

    @abstractmethod
    def _make_lock(self) -> ServerLock[Client]:
        """Return a lock on the session, for one hold."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return self._server.call(self._load)

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first."""
        return await self._server.acall(self._load)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn; once more, for a second and a half, while there is no connection to send it by."""
        drive(self._append_turn(BLOCKING, messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn. A caller that is cancelled meanwhile waits for the end of it, 5 seconds at most."""
        await finish_write(lambda: self._append_turn(ASYNC, messages))

    def clear(self) -> None:
        """Forget all messages of the session."""
        self._server.call(self._clear)

    async def aclear(self) -> None:
        """Forget all messages of the session."""
        await finish_write(lambda: self._server.acall(self._clear))

    @property
    def exclusive_key(self) -> tuple[object, ...]:
        """The store, by its URL or the clients that were given, and the session."""
        url = self._server.url
        clients = (id(self._server.client), id(self._server.async_client)) if url is None else ()
        return type(self), url, *clients, self._conversation

    def exclusive(self, timeout: float | None = None) -> AbstractAsyncContextManager[None, None]:
        """Have the conversation alone, among all who use the server: see `BaseChatMessageHistory.exclusive`.

        The lock is the server's, and renewed in the background. If that fails, the block is cancelled and
        `HistoryLockLost` raised, so no block may stand around a ``yield``.
        """
        lock = _LockOfServer(self._server, self._make_lock())
        return Exclusive(self, self.exclusive_key, timeout, lock)

    def list_sessions(self, prefix: str = "") -> list[str]:
        """Return the sessions of this store that have messages, sorted. See `hocket.chat_history.list_sessions`."""
        return sorted(self._server.call(self._list_sessions, prefix))

    def __repr__(self) -> str:
        return self._server.owner

    async def _load(self, client: Client) -> list[BaseMessage]:
        return loads_messages(await self._read(client), self._server.owner)

    async def _append_turn(self, mode: Mode, messages: Sequence[BaseMessage]) -> None:
        """Append a turn. What may have been sent is not sent again: it would be stored twice."""
        ends_at = time.monotonic() + _PATIENCE
        for pause in (0.1, 0.2, 0.4, 0.8, 0.0):
            try:
                if mode.is_async:
                    return await self._server.acall(self._store, messages)
                return self._server.call(self._store, messages)
            except HistoryUnavailable as error:
                if error.was_sent or not pause or time.monotonic() > ends_at:
                    raise
            await mode.sleep(pause)

    async def _store(self, client: Client, messages: Sequence[BaseMessage]) -> None:
        if records := dumps_messages(messages):
            await self._append(client, records)


class _LockOfServer(Generic[Client]):
    """A lock, over the client that serves where it is used."""

    def __init__(self, server: DatabaseServer[Client], lock: ServerLock[Client]) -> None:
        self._server = server
        self._lock = lock
        self.lease: float | None = lock.lease
        self.interval = lock.interval

    async def attempt(self) -> bool:
        """Take it."""
        return await self._server.acall(self._lock.attempt)

    async def renew(self) -> bool:
        """Keep it."""
        return await self._server.acall(self._lock.renew)

    async def release(self) -> None:
        """Give it back."""
        await finish_write(lambda: self._server.acall(self._lock.release))
