"""A cache on a database server, Redis or PostgreSQL: each operation once, over a sync client or one of asyncio's.

A client for a URL says itself when the server is late: it looks at the connection before it gives up, so that a machine with
too much to do is not taken for a slow server, as it would be by a timer of the event loop. Who waits for a connection
while the server fails another does not try it after that.
"""

import math
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Concatenate, Generic, ParamSpec, TypeVar

from hocket._databases.server import DatabaseServer
from hocket._runtime import clock
from hocket._runtime.mode import Mode
from hocket.caches.fleet import AnswerStore
from hocket.errors import StoreUnavailable

__all__ = ["ServerStore"]

T = TypeVar("T")
P = ParamSpec("P")
Client = TypeVar("Client")


class ServerStore(AnswerStore, Generic[Client]):
    """A store on a server. Subclasses say what to send."""

    def __init__(self, server: DatabaseServer[Client]) -> None:
        self._server = server
        self._failed_at = -math.inf

    @property
    def is_portable(self) -> bool:
        return self._server.url is not None

    async def read(self, mode: Mode, key: bytes) -> bytes | None:
        return await self._do(mode, self._read, key)

    async def write(self, mode: Mode, key: bytes, value: bytes, ttl: float | None) -> None:
        await self._do(mode, self._write, key, value, ttl)

    async def clear(self, mode: Mode) -> None:
        await self._do(mode, self._clear)

    async def claim(self, mode: Mode, key: bytes, owner: str, lease: float) -> bool:
        return await self._do(mode, self._claim, key, owner, lease)

    async def renew(self, mode: Mode, key: bytes, owner: str, lease: float) -> bool:
        return await self._do(mode, self._renew, key, owner, lease)

    async def release(self, mode: Mode, key: bytes, owner: str) -> None:
        await self._do(mode, self._release, key, owner)

    async def _do(
        self,
        mode: Mode,
        operation: Callable[Concatenate[Client, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        began = clock.current().now()

        async def ask(client: Client) -> T:
            if self._failed_at > began:
                raise StoreUnavailable(f"{self._server.owner}: it failed while others waited for a connection")
            return await operation(client, *args, **kwargs)

        try:
            return await self._server.run(mode, ask)
        except StoreUnavailable:
            self._failed_at = clock.current().now()
            raise

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_failed_at": -math.inf}

    @abstractmethod
    async def _read(self, client: Client, key: bytes) -> bytes | None: ...

    @abstractmethod
    async def _write(self, client: Client, key: bytes, value: bytes, ttl: float | None) -> None: ...

    @abstractmethod
    async def _clear(self, client: Client) -> None: ...

    @abstractmethod
    async def _claim(self, client: Client, key: bytes, owner: str, lease: float) -> bool: ...

    @abstractmethod
    async def _renew(self, client: Client, key: bytes, owner: str, lease: float) -> bool: ...

    @abstractmethod
    async def _release(self, client: Client, key: bytes, owner: str) -> None: ...
