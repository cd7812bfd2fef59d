"""What the histories on servers have in common: three operations over a client, see `hocket._databases.server`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from hocket._databases.server import DatabaseServer
from hocket._databases.writes import finish_write
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.records import dumps_messages, loads_messages
from hocket.messages import BaseMessage

__all__ = ["ServerHistory"]

Client = TypeVar("Client")


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
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return self._server.call(self._load)

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first."""
        return await self._server.acall(self._load)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn."""
        self._server.call(self._store, messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn. A caller that is cancelled meanwhile waits for the end of it, 5 seconds at most."""
        await finish_write(lambda: self._server.acall(self._store, messages))

    def clear(self) -> None:
        """Forget all messages of the session."""
        self._server.call(self._clear)

    async def aclear(self) -> None:
        """Forget all messages of the session."""
        await finish_write(lambda: self._server.acall(self._clear))

    def list_sessions(self, prefix: str = "") -> list[str]:
        """Return the sessions of this store that have messages, sorted. See `hocket.chat_history.list_sessions`."""
        return sorted(self._server.call(self._list_sessions, prefix))

    def __repr__(self) -> str:
        return self._server.owner

    async def _load(self, client: Client) -> list[BaseMessage]:
        return loads_messages(await self._read(client), self._server.owner)

    async def _store(self, client: Client, messages: Sequence[BaseMessage]) -> None:
        if records := dumps_messages(messages):
            await self._append(client, records)
